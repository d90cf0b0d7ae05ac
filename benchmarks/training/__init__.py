"""What training of torch modules takes: with differential privacy, and of many references."""
