"""Agreement of attacks: do they flag the same records?"""

from __future__ import annotations

from dataclasses import dataclass

from guestlist.arrays.digits import six_digits
from guestlist.case import Case
from guestlist.evaluate import agreement, flags_at_fpr, flags_at_level
from guestlist.findings import hypothesis_tests

ALPHA = 0.1


@dataclass(frozen=True)
class AgreementResult:
    """Share of members, and of non-members, on which two attacks agree; the first of ``names`` is the truth.

    ``by_p_value``: whether an attack flags records with its own p-values of at most ``alpha``. An attack without such small
    p-values flags records above the threshold that a share ``alpha`` of the non-members exceeds.
    """

    alpha: float
    names: tuple[str, ...]
    by_p_value: tuple[bool, ...]
    members: tuple[tuple[float, ...], ...]
    nonmembers: tuple[tuple[float, ...], ...]


def find(case: Case) -> AgreementResult | None:
    """Measure the agreement of attacks at one rate; return None with a single attack."""
    if len(case.scores) < 2:
        return None
    member = case.truth.member_evaluated
    tests = _tests_at_alpha(case)
    flags = {}
    for name, scores in case.asked_scores.items():
        if name in tests:
            flags[name] = flags_at_level(case.p_values[name][case.truth.evaluated], ALPHA)
        else:
            flags[name] = flags_at_fpr(scores, member, ALPHA)
    shares = agreement(flags, member)
    return AgreementResult(
        alpha=ALPHA,
        names=shares.names,
        by_p_value=(False, *(name in tests for name in case.scores)),
        members=tuple(map(six_digits, shares.members)),
        nonmembers=tuple(map(six_digits, shares.nonmembers)),
    )


def _tests_at_alpha(case: Case) -> set[str]:
    """Return the tests whose p-values can be as small as ``ALPHA``."""
    return {test.name for test in case.of(hypothesis_tests.find) if any(level.alpha == ALPHA for level in test.levels)}
