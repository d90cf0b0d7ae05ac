"""Which test comes near to attack L: by calls at one level, and without any level, by what its models say.

Raw agreement follows the call rates: two tests that call nearly everybody agree nearly everywhere, whatever they go by.
Beside it stands Cohen's kappa, which takes off what the rates alone would give. Neither is needed to compare
two sets of models: what they say of the same record on average can be set side by side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest

import guestlist as gl
from guestlist.metrics import auc
from papers.hypothesis_tests.thresholds import MODELS_OF, calls, said

TESTS = "LSPRD"
SCORES = {"R": "reference", "D": "distillation", "L": "leave_one_out"}

Matrix = tuple[tuple[float, ...], ...]
Sides = tuple[float, float]


@dataclass(frozen=True)
class Agreed:
    """Shares of records on which two tests say the same, and Cohen's kappa; the truth comes first.

    Args:
        names: "truth", then the tests.
        records: members and non-members.
        models: of R, D and L, for each record.
        members, nonmembers: shares of the records of one side.
        kappa_members, kappa_nonmembers: NaN beside the truth, which is one and the same for a whole side.
    """

    level: float
    names: tuple[str, ...]
    records: tuple[int, int]
    models: int
    members: Matrix
    nonmembers: Matrix
    kappa_members: Matrix
    kappa_nonmembers: Matrix


@dataclass(frozen=True)
class Closeness:
    """What the models of one test say beside those trained without the record, as margins; members, then non-members.

    Args:
        auc: of the smoothed test on these records, with its 95 % interval.
        correlation: of the models' mean margin with that of L's models, over records.
        rms: root of the mean squared difference of the two means, over records.
        noise: what ``rms`` would be from the number of models alone, if the two laws had one mean; NaN for L itself.
        spread: medians of the standard deviation of the models' margins.
    """

    test: str
    auc: tuple[float, float, float]
    correlation: Sides
    rms: Sides
    noise: Sides
    spread: Sides


@dataclass(frozen=True)
class Nearer:
    """On how many records D's mean margin is nearer to L's than R's mean is; and the two-sided sign test of one half."""

    side: str
    records: int
    d_nearer: int
    p_value: float


def kappa(agreement: float, rate: float, other: float) -> float:
    """Cohen's kappa of two tests that agree on a share of the records, from their call rates; NaN: both are constant."""
    by_chance = rate * other + (1 - rate) * (1 - other)
    return (agreement - by_chance) / (1 - by_chance) if by_chance < 1 else float("nan")


def reach(rate: float, other: float) -> float:
    """The largest agreement of two tests with these call rates: one calls whomever the other calls."""
    return 1 - abs(rate - other)


def agreement(case: gl.Case, *, level: float, models: int) -> Agreed:
    """Table 2, on the records for which models without them were trained."""
    chosen = left_out(case, models)
    called = {name: call[chosen] for name, call in calls(case, TESTS, level, models).items()}
    member = case.truth.member[chosen]
    found = gl.metrics.agreement(called, member)
    return Agreed(
        level,
        ("truth", *called),
        (int(member.sum()), int((~member).sum())),
        models,
        _rows(found.members),
        _rows(found.nonmembers),
        _rows(_kappas(found.members, found.members[0])),
        _rows(_kappas(found.nonmembers, 1 - found.nonmembers[0])),
    )


def closeness(case: gl.Case, models: int) -> list[Closeness]:
    """R, D and L side by side: one computation on three sets of models."""
    chosen = left_out(case, models)
    sides = chosen & case.truth.member, chosen & ~case.truth.member
    margins = {test: said(case, test, "margin", models) for test in SCORES}
    left = margins["L"]
    rows = []
    for test, attack in SCORES.items():
        scores, own = gl.attacks.ATTACKS[attack].score(case.view), margins[test]
        rows.append(
            Closeness(
                test,
                tuple(map(float, auc(scores[chosen], case.truth.member[chosen]))),
                tuple(_correlation(own[:, side].mean(axis=0), left[:, side].mean(axis=0)) for side in sides),
                tuple(_rms(own[:, side].mean(axis=0) - left[:, side].mean(axis=0)) for side in sides),
                tuple(_noise(own[:, side], left[:, side]) for side in sides) if test != "L" else (np.nan, np.nan),
                tuple(float(np.median(own[:, side].std(axis=0, ddof=1))) for side in sides),
            )
        )
    return rows


def nearer(case: gl.Case, models: int) -> list[Nearer]:
    """Whether D or R comes nearer to L, record by record."""
    chosen = left_out(case, models)
    mean = {test: said(case, test, "margin", models).mean(axis=0) for test in SCORES}
    closer = np.abs(mean["D"] - mean["L"]) < np.abs(mean["R"] - mean["L"])
    sides = {"members": chosen & case.truth.member, "non-members": chosen & ~case.truth.member}
    counts = {name: (int(closer[side].sum()), int(side.sum())) for name, side in sides.items()}
    return [
        Nearer(name, records, found, float(binomtest(found, records).pvalue))
        for name, (found, records) in counts.items()
    ]


def left_out(case: gl.Case, models: int) -> np.ndarray:
    """(records,) true for those asked about that have enough models of each of R, D and L."""
    known = [~np.isnan(said(case, test, "loss", models)[0]) for test in MODELS_OF]
    return case.truth.evaluated & np.logical_and.reduce(known)


def _kappas(shares: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """(names, names) kappa of each pair, from their agreement and call rates; NaN beside the truth."""
    found = np.array([[kappa(shares[a, b], rates[a], rates[b]) for b in range(len(rates))] for a in range(len(rates))])
    found[0], found[:, 0] = np.nan, np.nan
    return found


def _rows(matrix: np.ndarray) -> Matrix:
    return tuple(tuple(map(float, row)) for row in matrix)


def _correlation(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.corrcoef(a, b)[0, 1])


def _rms(difference: np.ndarray) -> float:
    return float(np.sqrt((difference**2).mean()))


def _noise(own: np.ndarray, left: np.ndarray) -> float:
    errors = [part.var(axis=0, ddof=1) / len(part) for part in (own, left)]
    return float(np.sqrt(np.sum(errors, axis=0).mean()))
