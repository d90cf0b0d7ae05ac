"""An attack that learns from known non-members what the target says about records like this one."""

from __future__ import annotations

import numpy as np

from guestlist.views.signals import Signals


def quantile(signals: Signals) -> np.ndarray:
    """The target's hinge beyond what non-members like this one rarely exceed (Bertran et al. 2023, algorithm 1).

    A quantile of the hinge is regressed on features and label over known non-members. Where the regressor has
    learnt nothing, the quantile is one for all records, and the results say so. A score of 0 is not a threshold for a given
    false-positive rate, since regressors tend to predict too little beyond the records that they fit; p-values are.

    Returns:
        (records,) scores; NaN for the known non-members themselves, and where the target was not asked.
    """
    view = signals.evidence.need("quantiles")
    asked = ~np.isnan(signals.target("margin"))
    return np.where(asked, view.hinge - view.ceiling, np.nan)


def quantile_p_value(signals: Signals) -> np.ndarray:
    """Share of known non-members, kept out of the regression, with as large a score, the record's own counting as one.

    (A split-conformal p-value: it holds for non-members on the whole, however good the regressor is.)
    """
    scores, beyond = quantile(signals), signals.evidence.need("quantiles").beyond
    as_large = len(beyond) - np.searchsorted(beyond, scores, side="left")
    return np.where(np.isnan(scores), np.nan, (1 + as_large) / (1 + len(beyond)))
