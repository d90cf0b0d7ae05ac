"""How sure the references are of each record's mu: its estimate, its standard error, and how far two halves of them are apart.

Two audits can then be asked whether a record's mu differs. Its standard error alone is not to be believed for that: it takes
margins to be normal. Every second reference against the others shows what chance alone does to the same figure, with margins
as they are: that is what a difference between audits is measured by.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from guestlist.arrays.moments import in_out_moments
from guestlist.case import Case
from guestlist.risks.mu import effects


@dataclass(frozen=True)
class Steadiness:
    """(records,) each; NaN where there is no reference on one of the sides.

    Args:
        estimate: mu without a bias, and without what other records say.
        error: its standard error, were margins normal.
        halves: difference of the estimates of two halves of the references, over its standard error.
    """

    estimate: np.ndarray
    error: np.ndarray
    halves: np.ndarray


def steadiness(case: Case) -> Steadiness:
    """How sure the references of a case are of mu."""
    whole = effects(case.view.inside("margin"), case.view.outside("margin"))
    margin, member = case.view.reference("margin"), case.view.reference_member
    first, second = (effects(*in_out_moments(margin, member, slice(k, None, 2))) for k in (0, 1))
    return Steadiness(whole.unbiased, whole.error, apart(first.unbiased, first.error, second.unbiased, second.error))


def apart(first: np.ndarray, first_error: np.ndarray, second: np.ndarray, second_error: np.ndarray) -> np.ndarray:
    """(records,) by how many standard errors the second estimate exceeds the first; NaN where one is missing."""
    with np.errstate(invalid="ignore"):
        return (second - first) / np.hypot(first_error, second_error)
