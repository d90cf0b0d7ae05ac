"""Self-tests: attacks and intervals on simulations with known ground truth."""
