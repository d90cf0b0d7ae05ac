"""Five tests of one hypothesis, "this record was not a member" (Ye et al. 2022): S, P, R, D and L.

All five look at the target's loss, and call a record a member where it is too small for a non-member. They differ in
where they learn what losses non-members have: on other records (P: of the target itself, S: of references, class by
class), or on the same record from other models (R: references, D: models distilled from the target, L: models trained
without just that record). R, D and L are one computation on three sets of models.

A p-value is the chance that a non-member has a loss as small; at every level alpha the test calls the records
whose p-value is at most alpha.
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
    among = signals.class_ecdf("loss")
    with np.errstate(invalid="ignore"):  # 0 / 0 is NaN: no reference has a non-member
        return -(among.below + among.up_to) / (2 * among.count)


def shadow_p_value(signals: Signals) -> np.ndarray:
    """Share of losses of references on non-members of the class that are as small, the record's own counting as one."""
    among = signals.class_ecdf("loss")
    return np.where(among.count > 0, (1 + among.up_to) / (1 + among.count), np.nan)


def population_p_value(signals: Signals) -> np.ndarray:
    """Attack P: share of population records on which the target's loss is as small, the record's own counting as one.

    NaN without a population: records the target did not train on, and that are not asked about.
    """
    loss, population = signals.target("loss"), signals.population
    known = np.array([]) if population is None else loss[population & ~np.isnan(loss)]
    if population is None or not known.size:
        return np.full(loss.shape, np.nan)
    up_to = np.searchsorted(np.sort(known), loss, side="right")
    own = population.astype(float)  # a record of the population stands among the others already
    return np.where(np.isnan(loss), np.nan, (1 + up_to - own) / (1 + known.size - own))


def reference_p_value(signals: Signals) -> np.ndarray:
    """Attack R: chance that a model which did not train on the record has as large a margin, from Student's t."""
    return expit(-reference(signals))


def reference_empirical_p_value(signals: Signals) -> np.ndarray:
    """Attack R: share of OUT references with as small a loss, the target counting as one of them."""
    loss, others = signals.target("loss"), signals.reference("loss")
    out = ~signals.reference_member & ~np.isnan(others)
    count = out.sum(axis=0)
    p_value = (1 + (out & (others <= loss)).sum(axis=0)) / (1 + count)
    return np.where(np.isnan(loss) | (count == 0), np.nan, p_value)


def among(signals: Signals, *, test: Callable[[Signals], np.ndarray], evidence: str) -> np.ndarray:
    """What a test of the target among its references says among other models.

    Attack D is attack R among models distilled from the target (``distilled``), attack L among models trained on its
    members without the record (``left_out``); for a non-member those are models trained as the target was, with other
    seeds. NaN for records that no such model was asked about.
    """
    return test(signals.with_references(signals.evidence.need(evidence)))
