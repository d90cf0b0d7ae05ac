"""Array computations that attacks and evaluation share."""
