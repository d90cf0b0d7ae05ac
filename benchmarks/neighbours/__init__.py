"""Speed and memory of the K-NN values, compared with other libraries and with plain distances, in one run."""
