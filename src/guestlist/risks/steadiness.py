"""Stability of each record's mu over reference models: estimate, standard error, and difference between two halves.

Comparing audits asks whether a record's mu differs between two of them. The standard error assumes normal margins, so it is not
sufficient for that. The difference between two halves of the references shows how much the same quantity varies by chance with
the actual margins; differences between audits are compared with it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from guestlist.arrays.moments import in_out_moments
from guestlist.case import Case
from guestlist.risks.mu import effects


@dataclass(frozen=True)
class Stability:
    """(records,) arrays; NaN where no reference trained, or none did not train, on the record.

    Attributes:
        estimate: Unbiased mu of the record, without shrinkage towards other records.
        error: Its standard error for normal margins.
        halves: Difference of the estimates of two halves of the references, in standard errors.
    """

    estimate: np.ndarray
    error: np.ndarray
    halves: np.ndarray


def stability(case: Case) -> Stability:
    """Estimate the stability of mu over the references of a case."""
    overall = effects(case.view.inside("margin"), case.view.outside("margin"))
    margin = case.view.reference("margin")
    member = case.view.reference_member
    first, second = (effects(*in_out_moments(margin, member, slice(k, None, 2))) for k in (0, 1))
    return Stability(
        estimate=overall.unbiased,
        error=overall.error,
        halves=standardised_difference(first.unbiased, first.error, second.unbiased, second.error),
    )


def standardised_difference(
    first: np.ndarray, first_error: np.ndarray, second: np.ndarray, second_error: np.ndarray
) -> np.ndarray:
    """(records,) second minus first estimate in standard errors; NaN where one is missing."""
    with np.errstate(invalid="ignore"):
        return (second - first) / np.hypot(first_error, second_error)
