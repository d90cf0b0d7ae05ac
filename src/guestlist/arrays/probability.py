"""Lower limit of probabilities before a logarithm is taken."""

SMALLEST_PROBABILITY = 1e-30
