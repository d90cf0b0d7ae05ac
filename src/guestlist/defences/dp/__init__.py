"""Training with differential privacy: batches, clipped gradients, noise, and what they add up to."""

from guestlist.defences.dp.accounting import Privacy, epsilon_of, noise_for
from guestlist.defences.dp.training import DpSgd, dp_sgd_for

__all__ = ["DpSgd", "Privacy", "dp_sgd_for", "epsilon_of", "noise_for"]
