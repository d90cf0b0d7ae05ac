"""Five tests of one hypothesis, "this record was not a member" (Ye et al. 2022): S, P, R, D and L.

All five read the target's loss, and flag a record if it is too small for a non-member. They differ in how they estimate the
losses of non-members: from other records (P: of the target itself, S: of references, class by class), or from the same record
under other models (R: references, D: models distilled from the target, L: models trained without that record). R, D and L
are one computation on three sets of models.

A p-value is the probability that a non-member has a loss as small; at every level alpha the test flags the records with a
p-value of at most alpha.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import expit

from guestlist.attacks.reference import reference
from guestlist.views.signals import Signals
from guestlist.views.view import View


def shadow(signals: View) -> np.ndarray:
    """Attack S: minus the share of smaller losses that references have on non-members of the class, equals half.

    A class of which the references have no non-members takes those of all classes. NaN where there are none.
    """
    ecdf = signals.class_ecdf("loss")
    with np.errstate(invalid="ignore"):  # 0 / 0 is NaN: no reference has a non-member
        return -(ecdf.below + ecdf.up_to) / (2 * ecdf.count)


def shadow_p_value(signals: Signals) -> np.ndarray:
    """Share of losses of references on non-members of the class that are as small, the record's own counting as one."""
    ecdf = signals.class_ecdf("loss")
    return np.where(ecdf.count > 0, (1 + ecdf.up_to) / (1 + ecdf.count), np.nan)


def population_p_value(signals: Signals) -> np.ndarray:
    """Attack P: share of population records on which the target's loss is as small, the record's own counting as one.

    NaN without a population: records the target did not train on, and that are not asked about.
    """
    loss = signals.target("loss")
    population = signals.population
    if population is None or not (population & ~np.isnan(loss)).any():
        return np.full(loss.shape, np.nan)
    population_losses = loss[population & ~np.isnan(loss)]
    up_to = np.searchsorted(np.sort(population_losses), loss, side="right")
    already_counted = population.astype(float)
    p_value = (1 + up_to - already_counted) / (1 + population_losses.size - already_counted)
    return np.where(np.isnan(loss), np.nan, p_value)


def reference_p_value(signals: Signals) -> np.ndarray:
    """Attack R: chance that a model which did not train on the record has as large a margin, from Student's t."""
    return expit(-reference(signals))


def reference_empirical_p_value(signals: Signals) -> np.ndarray:
    """Attack R: share of OUT references with as small a loss, the target counting as one of them."""
    loss = signals.target("loss")
    others = signals.reference("loss")
    out = ~signals.reference_member & ~np.isnan(others)
    count = out.sum(axis=0)
    p_value = (1 + (out & (others <= loss)).sum(axis=0)) / (1 + count)
    return np.where(np.isnan(loss) | (count == 0), np.nan, p_value)


def with_other_models(signals: Signals, *, test: Callable[[Signals], np.ndarray], evidence: str) -> np.ndarray:
    """Apply a test that compares the target with its references to other models.

    Attack D is attack R among models distilled from the target (``distilled``), attack L among models trained on its
    members without the record (``left_out``); for a non-member those are models trained as the target was, with other
    seeds. NaN for records that no such model was queried on.
    """
    return test(signals.with_references(signals.evidence.need(evidence)))
