"""Attacks on the target's outputs only, with thresholds that are fitted on reference models.

Without references a score is the signal itself. With references, a threshold is fitted on their outputs for their own members
and non-members: one for all records, or one per class (Song & Mittal 2021, section 3). A score is then the distance of a
record from its threshold, positive on the members' side, so that a record is flagged if ``score >= 0``.
"""

from __future__ import annotations

import numpy as np

from guestlist.views.signals import Signals
from guestlist.views.view import View

# Which way a signal points: members have larger margins and smaller losses.
SIGN = {"correct": 1, "p_y": 1, "margin": 1, "loss": -1, "entropy": -1, "mentr": -1}


def loss(signals: View) -> np.ndarray:
    """Minus the target's loss: members are fitted better (Yeom et al. 2018; attack P of Ye et al. 2022)."""
    return -signals.target("loss")


def correctness(signals: View) -> np.ndarray:
    """1 where the target is right, 0 where it is wrong (Yeom et al. 2018)."""
    return signals.target("correct")


def confidence(signals: View) -> np.ndarray:
    """Probability of the true class (Song & Mittal 2021)."""
    return signals.target("p_y")


def entropy(signals: View) -> np.ndarray:
    """Minus the entropy of the output, which does not depend on the label (Salem et al. 2019)."""
    return -signals.target("entropy")


def mentr(signals: View) -> np.ndarray:
    """Minus the modified entropy, which does (Song & Mittal 2021, eq. 8)."""
    return -signals.target("mentr")


def beyond_threshold(view: View, name: str, *, per_class: bool = True) -> np.ndarray:
    """Return the distance of signal ``name`` from the threshold fitted on the references, positive for members.

    A class in which the references have no members or no non-members takes the threshold of all classes.

    Returns:
        (records,) scores, or (models, records); NaN where the references have but one kind in all classes.
    """
    sign = SIGN[name]
    thresholds = np.full(view.target(name).shape, np.nan)
    if per_class:
        thresholds = view.class_thresholds(name, sign)
    missing = np.isnan(thresholds)
    if missing.any():
        overall = view.best_threshold(name, sign)
        thresholds = np.where(missing, overall, thresholds)
    return sign * view.target(name) - thresholds


def average_threshold(signals: Signals) -> float:
    """Minus the mean loss of references on their own members (Yeom et al. 2018); NaN without any.

    It replaces the training loss of the target, which its owner may publish and its signals do not hold.
    """
    losses = signals.reference("loss")
    known = losses[signals.reference_member & ~np.isnan(losses)]
    if not known.size:
        return float("nan")
    return -float(known.mean())


def single_threshold(signals: Signals, name: str) -> float:
    """Return the one threshold on the score of signal ``name``, fitted on the references; NaN without any."""
    if not signals.references:
        return float("nan")
    return float(signals.best_threshold(name, SIGN[name])[0])
