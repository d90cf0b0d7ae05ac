"""Attacks on the target's answers alone, and the thresholds that reference models teach them.

Without references a score is the bare signal. With references, a threshold is learnt from what they say about
their own members and non-members: one for all records, or one per class (Song & Mittal 2021, section 3). A
score is then how far a record lies on the members' side of its threshold, so that a call is ``score >= 0``.
"""

from __future__ import annotations

import numpy as np

from guestlist.arrays.thresholds import best_threshold
from guestlist.views.signals import Rotation, Signals

# Which way a signal points: members have larger margins and smaller losses.
SIGN = {"correct": 1, "p_y": 1, "margin": 1, "loss": -1, "entropy": -1, "mentr": -1}


def loss(signals: Signals | Rotation) -> np.ndarray:
    """Minus the target's loss: members are fitted better (Yeom et al. 2018; attack P of Ye et al. 2022)."""
    return -signals.target("loss")


def correctness(signals: Signals | Rotation) -> np.ndarray:
    """1 where the target is right, 0 where it is wrong (Yeom et al. 2018)."""
    return signals.target("correct")


def confidence(signals: Signals | Rotation) -> np.ndarray:
    """Probability of the true class (Song & Mittal 2021)."""
    return signals.target("p_y")


def entropy(signals: Signals | Rotation) -> np.ndarray:
    """Minus the entropy of the answer, which does not look at the label (Salem et al. 2019)."""
    return -signals.target("entropy")


def mentr(signals: Signals | Rotation) -> np.ndarray:
    """Minus the modified entropy, which does (Song & Mittal 2021, eq. 8)."""
    return -signals.target("mentr")


def beyond_threshold(signals: Signals | Rotation, name: str, *, per_class: bool = True) -> np.ndarray:
    """How far signal ``name`` lies on the members' side of the threshold learnt from the references.

    A class in which the references have no members or no non-members takes the threshold of all classes.

    Returns:
        (records,) scores, or (models, records); NaN where the references have but one kind in all classes.
    """
    learn = _thresholds if isinstance(signals, Signals) else _thresholds_of_others
    thresholds = np.full(signals.target(name).shape, np.nan)
    for label in np.unique(signals.labels) if per_class else ():
        of_class = signals.labels == label
        thresholds[..., of_class] = learn(signals, name, of_class)
    missing = np.isnan(thresholds)
    if missing.any():
        overall = learn(signals, name, np.ones(len(signals.labels), dtype=bool))
        thresholds = np.where(missing, overall, thresholds)
    return SIGN[name] * signals.target(name) - thresholds


def _thresholds(signals: Signals, name: str, of_class: np.ndarray) -> np.ndarray:
    """(1,) best threshold for these records among the references; NaN where they are of one kind."""
    values, member = signals.reference(name)[:, of_class], signals.reference_member[:, of_class]
    asked = ~np.isnan(values)
    values, member = values[asked], member[asked]
    both = member.any() and not member.all()
    return np.array([best_threshold(SIGN[name] * values, member) if both else np.nan])


def _thresholds_of_others(rotation: Rotation, name: str, of_class: np.ndarray) -> np.ndarray:
    """(models, 1) the same for every model in turn as the target."""
    from guestlist.arrays.thresholds_of_others import thresholds_of_others

    labels, block = np.unique(rotation.blocks, return_inverse=True)
    values = rotation.target(name)[:, of_class]
    asked = ~np.isnan(values)
    blocks = np.broadcast_to(block[:, None], values.shape)
    found = thresholds_of_others(
        SIGN[name] * values[asked], rotation.member[:, of_class][asked], blocks[asked], len(labels)
    )
    return found[block][:, None]


def average_threshold(signals: Signals) -> float:
    """Minus the mean loss of references on their own members (Yeom et al. 2018); NaN without any.

    It stands in for the training loss of the target, which its owner may publish and its signals do not tell.
    """
    losses = signals.reference("loss")
    known = losses[signals.reference_member & ~np.isnan(losses)]
    return -float(known.mean()) if known.size else float("nan")


def single_threshold(signals: Signals, name: str) -> float:
    """The one threshold on the rising score of signal ``name``, learnt from the references; NaN without any."""
    if not signals.references:
        return float("nan")
    return float(_thresholds(signals, name, np.ones(len(signals.labels), dtype=bool))[0])
