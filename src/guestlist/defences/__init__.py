"""Ways to train. A recipe here trains the target and, unchanged, its references: the attacker knows the defence."""

from guestlist.defences.networks import cnn, mlp
from guestlist.defences.plain import Fit

__all__ = ["Fit", "cnn", "mlp"]
