"""What stands in for a probability of 0 where its logarithm is taken."""

SMALLEST_PROBABILITY = 1e-30
