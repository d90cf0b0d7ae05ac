"""Speed and memory of the K-NN values, against peers and against the bare distances, in one run."""
