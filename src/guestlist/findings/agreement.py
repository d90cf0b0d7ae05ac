"""Do the attacks call the same people?"""

from __future__ import annotations

from dataclasses import dataclass

from guestlist.arrays.digits import six_digits
from guestlist.case import Case
from guestlist.evaluate import agreement, flags_at_fpr, flags_at_level
from guestlist.findings import hypothesis_tests

ALPHA = 0.1


@dataclass(frozen=True)
class AgreementResult:
    """On which share of members, and of non-members, two attacks say the same; the first of ``names`` is the truth.

    ``by_p_value``: whether the calls are the attack's own, of records with a p-value of at most ``alpha``; where it has
    none that small, they are those at the threshold that a share ``alpha`` of the non-members exceeds.
    """

    alpha: float
    names: tuple[str, ...]
    by_p_value: tuple[bool, ...]
    members: tuple[tuple[float, ...], ...]
    nonmembers: tuple[tuple[float, ...], ...]


def find(case: Case) -> AgreementResult | None:
    """How far the attacks agree at one rate; None where there is only one."""
    if len(case.scores) < 2:
        return None
    asked, member = case.truth.evaluated, case.truth.member_evaluated
    own = _reaching(case)
    calls = {
        name: flags_at_level(case.p_values[name][asked], ALPHA) if name in own else flags_at_fpr(values, member, ALPHA)
        for name, values in case.asked_scores.items()
    }
    found = agreement(calls, member)
    shares = (tuple(map(six_digits, matrix)) for matrix in (found.members, found.nonmembers))
    return AgreementResult(ALPHA, found.names, (False, *(name in own for name in case.scores)), *shares)


def _reaching(case: Case) -> set[str]:
    """The tests that can call anyone at the level at which calls are compared."""
    return {test.name for test in case.of(hypothesis_tests.find) if any(level.alpha == ALPHA for level in test.levels)}
