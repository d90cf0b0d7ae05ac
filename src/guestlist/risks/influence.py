"""Influence: the effect of one record's membership on models' outputs for other records.

Every reference trained on a random set, so the membership of one record is independent of all others, and a difference of two
means over the same references is the effect of that membership. All pairs come from a few matrix products.

With 64 references a difference has a standard error of 0.25 standard deviations, and most records hardly affect each other: the
largest of many differences are mostly sampling variation. So each has a p-value.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import stdtr


class Influence(NamedTuple):
    """(records, chosen) effects of a chosen record's membership on the values of a record, and p-values.

    The p-value is Student's, two-sided, for a single pair. Both are NaN without IN or without OUT models; the p-value also
    where models do not differ, or are fewer than three.
    """

    raised: np.ndarray
    p_value: np.ndarray


def influence(values: np.ndarray, member: np.ndarray, chosen: np.ndarray) -> Influence:
    """Return the mean over models that trained on a chosen record minus that over the others (Feldman & Zhang 2020).

    A record's influence on itself is memorisation; for margins, the numerator of mu.

    Args:
        values: (models, records), such as the references' ``correct`` or ``margin``. NaN: not queried.
        member: (models, records) true where a model trained on a record.
        chosen: Indices of the records whose effect is estimated.
    """
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):  # 0 / 0: no model was queried on a record
        centre = np.where(known, values, 0.0).sum(axis=0) / known.sum(axis=0)
    x = np.where(known, values - centre, 0.0)  # large means would cost the squares their digits
    inside = member[:, chosen].astype(np.float64)
    queried = known.astype(np.float64)
    n_in = queried.T @ inside
    n_out = queried.sum(axis=0)[:, None] - n_in
    sum_in = x.T @ inside
    sum_out = x.sum(axis=0)[:, None] - sum_in
    with np.errstate(invalid="ignore", divide="ignore"):  # no model on one side; models that do not differ
        mean_in = sum_in / n_in
        mean_out = sum_out / n_out
        within = np.square(x).sum(axis=0)[:, None] - n_in * mean_in**2 - n_out * mean_out**2
        freedom = n_in + n_out - 2
        # Rounding leaves a trace of a variance where there is none.
        within = np.where(within > 1e-12 * np.square(x).sum(axis=0)[:, None], within, np.nan)
        t = (mean_in - mean_out) / np.sqrt(within / freedom * (1 / n_in + 1 / n_out))
        p_value = np.where(freedom > 0, 2 * stdtr(freedom, -np.abs(t)), np.nan)
    return Influence(mean_in - mean_out, p_value)


def privacy_influence(flagged: np.ndarray, member: np.ndarray, chosen: np.ndarray) -> Influence:
    """Return the effect of a chosen record's membership on an attack's accuracy for a record (Carlini et al. 2022b).

    Negative where a record becomes more exposed when the chosen one leaves: the onion effect.

    Args:
        flagged: (models, records) 1 where the attack flags a record as a member of the model, 0 where not, NaN: no score.
        member: (models, records) true where a model trained on a record.
        chosen: Indices of the records whose effect is estimated.
    """
    return influence(np.where(np.isnan(flagged), np.nan, flagged == member), member, chosen)
