"""Attacks on the target's answers alone, and the thresholds that reference models teach them.

Without references a score is the bare signal. With references, a threshold is learnt from what they say about
their own members and non-members: one for all records, or one per class (Song & Mittal 2021, section 3). A score
is then how far a record lies on the members' side of its threshold, so that a call is ``score >= 0``.
"""

from __future__ import annotations

import numpy as np

from guestlist.evaluate import best_threshold
from guestlist.signals import Signals

# Which way a signal points: members have larger margins and smaller losses.
SIGN = {"correct": 1, "p_y": 1, "margin": 1, "loss": -1, "entropy": -1, "mentr": -1}


def loss(signals: Signals) -> np.ndarray:
    """Minus the target's loss: members are fitted better (Yeom et al. 2018; attack P of Ye et al. 2022)."""
    return -signals.target("loss")


def correctness(signals: Signals) -> np.ndarray:
    """1 where the target is right, 0 where it is wrong (Yeom et al. 2018)."""
    return signals.target("correct")


def confidence(signals: Signals) -> np.ndarray:
    """Probability of the true class (Song & Mittal 2021)."""
    return signals.target("p_y")


def entropy(signals: Signals) -> np.ndarray:
    """Minus the entropy of the answer, which does not look at the label (Salem et al. 2019)."""
    return -signals.target("entropy")


def mentr(signals: Signals) -> np.ndarray:
    """Minus the modified entropy, which does (Song & Mittal 2021, eq. 8)."""
    return -signals.target("mentr")


def beyond_threshold(signals: Signals, name: str, *, per_class: bool = True) -> np.ndarray:
    """How far signal ``name`` lies on the members' side of the threshold learnt from the references.

    A class in which the references have no members or no non-members takes the threshold of all classes.
    """
    sign = SIGN[name]
    values, member, labels = _answered(signals, name)
    overall = best_threshold(sign * values, member)
    thresholds = np.full(len(signals.labels), overall)
    for label in np.unique(signals.labels) if per_class else ():
        of_class = labels == label
        if 0 < member[of_class].sum() < of_class.sum():
            thresholds[signals.labels == label] = best_threshold(sign * values[of_class], member[of_class])
    return sign * signals.target(name) - thresholds


def single_threshold(signals: Signals, name: str) -> float:
    """The one threshold on the rising score of signal ``name``, learnt from the references; NaN without any."""
    if not signals.references:
        return float("nan")
    values, member, _ = _answered(signals, name)
    return best_threshold(SIGN[name] * values, member)


def _answered(signals: Signals, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values, membership and labels of all (reference, record) pairs that were asked, flat."""
    values = signals.reference(name)
    asked = ~np.isnan(values)
    labels = np.broadcast_to(signals.labels, values.shape)
    return values[asked], signals.reference_member[asked], labels[asked]
