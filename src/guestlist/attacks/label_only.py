"""Attack on targets that output only a label."""

from __future__ import annotations

import numpy as np

from guestlist.views.signals import Signals


def label_only(signals: Signals) -> np.ndarray:
    """Robustness of the target's correct label, a distance from its decision boundary (Choquette-Choo et al. 2021).

    Where the label of the record is right, the share of perturbed copies whose label is right as well; where it is
    wrong, minus the share of copies whose label is wrong: a record on the wrong side of the boundary scores below those
    on the right one. Only labels are read. Records whose copies all have the same label have equal scores, so
    few copies resolve no low false positive rates.

    Returns:
        (records,) scores in [-1, 1]; NaN where the target was not asked about copies of the record.
    """
    return signals.evidence.need("perturbed").share - (1 - signals.target("correct"))
