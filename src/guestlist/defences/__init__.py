"""Ways to train. A recipe here trains the target and, unchanged, its references: the attacker knows the defence."""

from guestlist.defences.networks import cnn, mlp
from guestlist.defences.plain import Fit
from guestlist.defences.recipe import Recipe, as_recipe
from guestlist.defences.refit import Refit
from guestlist.defences.table import DEFENCES, Defence

__all__ = ["DEFENCES", "Defence", "Fit", "Recipe", "Refit", "as_recipe", "cnn", "mlp"]
