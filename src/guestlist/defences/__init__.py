"""Ways to train. A recipe here trains the target and, unchanged, its references: the attacker knows the defence."""

from guestlist.defences.adv_reg import AdvReg
from guestlist.defences.answers import Answering, LabelOnly, Rounded, Temperature, TopK
from guestlist.defences.distillation import Distillation, Selena
from guestlist.defences.dp import DpSgd, Privacy, dp_sgd_for, epsilon_of, noise_for
from guestlist.defences.dropout import Dropout
from guestlist.defences.early_stopping import EarlyStopping
from guestlist.defences.hamp import Hamp
from guestlist.defences.l2 import L2
from guestlist.defences.matching import Matched, dp_at, stopped_at
from guestlist.defences.memguard import MemGuard
from guestlist.defences.networks import cnn, mlp
from guestlist.defences.noise import FgsmNoise
from guestlist.defences.objective import Objective
from guestlist.defences.plain import Fit
from guestlist.defences.recipe import Recipe, as_recipe
from guestlist.defences.refit import Refit
from guestlist.defences.regularised import Regularised
from guestlist.defences.relax_loss import RelaxLoss
from guestlist.defences.removal import Removal
from guestlist.defences.searched import Searched
from guestlist.defences.smoothing import ConfidencePenalty, LabelSmoothing
from guestlist.defences.table import DEFENCES, Defence

__all__ = [
    "DEFENCES",
    "L2",
    "AdvReg",
    "Answering",
    "ConfidencePenalty",
    "Defence",
    "Distillation",
    "DpSgd",
    "Dropout",
    "EarlyStopping",
    "FgsmNoise",
    "Fit",
    "Hamp",
    "LabelOnly",
    "LabelSmoothing",
    "Matched",
    "MemGuard",
    "Objective",
    "Privacy",
    "Recipe",
    "Refit",
    "Regularised",
    "RelaxLoss",
    "Removal",
    "Rounded",
    "Searched",
    "Selena",
    "Temperature",
    "TopK",
    "as_recipe",
    "cnn",
    "dp_at",
    "dp_sgd_for",
    "epsilon_of",
    "mlp",
    "noise_for",
    "stopped_at",
]
