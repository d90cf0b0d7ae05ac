"""CPU time of training torch modules: with differential privacy, and of many references."""
