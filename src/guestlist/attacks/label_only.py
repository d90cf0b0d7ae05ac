"""An attack on targets that tell no more than a label."""

from __future__ import annotations

import numpy as np

from guestlist.signals import Signals


def label_only(signals: Signals) -> np.ndarray:
    """Share of right labels over a record and its perturbed copies (Choquette-Choo et al. 2021, section 4).

    The record counts as one more copy, so that among equally robust ones those that the target labels rightly score
    higher. Only labels are looked at. Records whose labels are all right have equal scores, so few copies resolve no
    low false-positive rates.

    Returns:
        (records,) shares; NaN where the target was not asked about copies of the record.
    """
    view = signals.evidence.need("perturbed")
    return (signals.target("correct") + view.copies * view.share) / (1 + view.copies)
