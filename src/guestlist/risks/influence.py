"""Who moves whom: how what models say about a record depends on who else was in their training set.

Every reference trained on a random set, so the membership of one record is a coin tossed independently of all others, and a
difference of two means over the same references is the effect of that coin. All pairs come from a few matrix products.

With 64 references a difference has a standard error of a quarter of a standard deviation, and most records hardly move each
other: of many pairs, the largest differences are mostly luck. So each has a p-value.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import stdtr


class Influence(NamedTuple):
    """(records, chosen) each: by how much a chosen record's membership raises the values of a record, and a p-value.

    The p-value is Student's, two-sided, for one pair alone. Both are NaN where one side has no model; the p-value also
    where models do not differ, or are fewer than three.
    """

    raised: np.ndarray
    p_value: np.ndarray


def influence(values: np.ndarray, member: np.ndarray, chosen: np.ndarray) -> Influence:
    """Mean over models that trained on a chosen record minus that over the others (Feldman & Zhang 2020, for ``correct``).

    A record's influence on itself is memorisation; for margins, the numerator of mu.

    Args:
        values: (models, records), such as the references' ``correct`` or ``margin``. NaN: not asked.
        member: (models, records) who trained on what.
        chosen: indices of the records whose membership is looked at.
    """
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):  # nobody was asked about a record: 0 / 0
        centre = np.where(known, values, 0.0).sum(axis=0) / known.sum(axis=0)
    x = np.where(known, values - centre, 0.0)  # large means would cost the squares their digits
    inside, asked = member[:, chosen].astype(np.float64), known.astype(np.float64)
    n_in = asked.T @ inside
    n_out = asked.sum(axis=0)[:, None] - n_in
    sum_in = x.T @ inside
    sum_out = x.sum(axis=0)[:, None] - sum_in
    with np.errstate(invalid="ignore", divide="ignore"):  # no model on one side; models that do not differ
        mean_in, mean_out = sum_in / n_in, sum_out / n_out
        within = np.square(x).sum(axis=0)[:, None] - n_in * mean_in**2 - n_out * mean_out**2
        freedom = n_in + n_out - 2
        # Rounding leaves a trace of a variance where there is none.
        within = np.where(within > 1e-12 * np.square(x).sum(axis=0)[:, None], within, np.nan)
        t = (mean_in - mean_out) / np.sqrt(within / freedom * (1 / n_in + 1 / n_out))
        p_value = np.where(freedom > 0, 2 * stdtr(freedom, -np.abs(t)), np.nan)
    return Influence(mean_in - mean_out, p_value)


def privacy_influence(called: np.ndarray, member: np.ndarray, chosen: np.ndarray) -> Influence:
    """How much likelier an attack is right about a record when a chosen one was in the training set (Carlini et al. 2022b).

    Negative where a record becomes more exposed when the chosen one leaves: the onion effect.

    Args:
        called: (models, records) 1 where the attack calls a record a member of the model, 0 where not, NaN: no answer.
        member: (models, records) who trained on what.
        chosen: indices of the records whose membership is looked at.
    """
    return influence(np.where(np.isnan(called), np.nan, called == member), member, chosen)
