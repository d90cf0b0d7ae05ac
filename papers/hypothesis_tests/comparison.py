"""Agreement of the tests with attack L, at one level and without a level.

Raw agreement depends on the shares of flagged records: two tests that flag nearly every record agree nearly everywhere.
Cohen's kappa corrects for these shares. Two sets of models can also be compared without a level, by their mean outputs on
the same record.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest

import guestlist as gl
from guestlist.metrics import auc
from papers.hypothesis_tests.thresholds import MODELS_OF, calls, signals_of

TESTS = "LSPRD"
SCORES = {"R": "reference", "D": "distillation", "L": "leave_one_out"}

Matrix = tuple[tuple[float, ...], ...]
Sides = tuple[float, float]


@dataclass(frozen=True)
class Agreed:
    """Shares of records on which two tests agree, and Cohen's kappa; the truth comes first.

    Args:
        names: "truth", then the tests.
        records: numbers of members and non-members.
        models: of R, D and L, for each record.
        members, nonmembers: shares of the records of one side.
        kappa_members, kappa_nonmembers: NaN for the truth, which is constant among members and among non-members.
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
    """Margins of the models of one test compared with models trained without the record; members, then non-members.

    Args:
        auc: AUC of the smoothed test on these records, with its 95 % interval.
        correlation: correlation, over records, of the models' mean margin with that of L's models.
        rms: root of the mean squared difference of the two means, over records.
        noise: expected ``rms`` from the finite number of models if both distributions had the same mean; NaN for L itself.
        deviation: medians of the standard deviation of the models' margins.
    """

    test: str
    auc: tuple[float, float, float]
    correlation: Sides
    rms: Sides
    noise: Sides
    deviation: Sides


@dataclass(frozen=True)
class Nearer:
    """Number of records on which D's mean margin is nearer to L's than R's mean is, with a two-sided sign test."""

    side: str
    records: int
    d_nearer: int
    p_value: float


def kappa(agreement: float, rate: float, other: float) -> float:
    """Return Cohen's kappa of two tests from their agreement and flag rates; NaN if both are constant."""
    by_chance = rate * other + (1 - rate) * (1 - other)
    return (agreement - by_chance) / (1 - by_chance) if by_chance < 1 else float("nan")


def reach(rate: float, other: float) -> float:
    """Return the largest agreement of two tests with these shares of flagged records: one flags a subset of the other."""
    return 1 - abs(rate - other)


def agreement(case: gl.Case, *, level: float, models: int) -> Agreed:
    """Compute Table 2, on the records for which models without them were trained."""
    chosen = left_out(case, models)
    called = {name: call[chosen] for name, call in calls(case, TESTS, level, models).items()}
    member = case.truth.member[chosen]
    agreed = gl.metrics.agreement(called, member)
    return Agreed(
        level,
        ("truth", *called),
        (int(member.sum()), int((~member).sum())),
        models,
        _rows(agreed.members),
        _rows(agreed.nonmembers),
        _rows(_kappas(agreed.members, agreed.members[0])),
        _rows(_kappas(agreed.nonmembers, 1 - agreed.nonmembers[0])),
    )


def closeness(case: gl.Case, models: int) -> list[Closeness]:
    """Return the same statistics for the models of R, D and L."""
    chosen = left_out(case, models)
    sides = chosen & case.truth.member, chosen & ~case.truth.member
    margins = {test: signals_of(case, test, "margin", models) for test in SCORES}
    left_out_margins = margins["L"]
    rows = []
    for test, attack in SCORES.items():
        scores, test_margins = gl.attacks.ATTACKS[attack].score(case.view), margins[test]
        rows.append(
            Closeness(
                test,
                tuple(map(float, auc(scores[chosen], case.truth.member[chosen]))),
                tuple(
                    _correlation(test_margins[:, side].mean(axis=0), left_out_margins[:, side].mean(axis=0))
                    for side in sides
                ),
                tuple(
                    _rms(test_margins[:, side].mean(axis=0) - left_out_margins[:, side].mean(axis=0)) for side in sides
                ),
                tuple(_noise(test_margins[:, side], left_out_margins[:, side]) for side in sides)
                if test != "L"
                else (np.nan, np.nan),
                tuple(float(np.median(test_margins[:, side].std(axis=0, ddof=1))) for side in sides),
            )
        )
    return rows


def nearer(case: gl.Case, models: int) -> list[Nearer]:
    """Return how often D is nearer to L than R, for members and for non-members."""
    chosen = left_out(case, models)
    mean = {test: signals_of(case, test, "margin", models).mean(axis=0) for test in SCORES}
    closer = np.abs(mean["D"] - mean["L"]) < np.abs(mean["R"] - mean["L"])
    sides = {"members": chosen & case.truth.member, "non-members": chosen & ~case.truth.member}
    counts = {name: (int(closer[side].sum()), int(side.sum())) for name, side in sides.items()}
    return [
        Nearer(name, records, n_nearer, float(binomtest(n_nearer, records).pvalue))
        for name, (n_nearer, records) in counts.items()
    ]


def left_out(case: gl.Case, models: int) -> np.ndarray:
    """(records,) true for evaluated records that have enough models of each of R, D and L."""
    known = [~np.isnan(signals_of(case, test, "loss", models)[0]) for test in MODELS_OF]
    return case.truth.evaluated & np.logical_and.reduce(known)


def _kappas(shares: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """(names, names) kappa of each pair, from their agreement and shares of flagged records; NaN for the truth."""
    kappas = np.array([[kappa(shares[a, b], rates[a], rates[b]) for b in range(len(rates))] for a in range(len(rates))])
    kappas[0], kappas[:, 0] = np.nan, np.nan
    return kappas


def _rows(matrix: np.ndarray) -> Matrix:
    return tuple(tuple(map(float, row)) for row in matrix)


def _correlation(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.corrcoef(a, b)[0, 1])


def _rms(difference: np.ndarray) -> float:
    return float(np.sqrt((difference**2).mean()))


def _noise(first: np.ndarray, second: np.ndarray) -> float:
    errors = [part.var(axis=0, ddof=1) / len(part) for part in (first, second)]
    return float(np.sqrt(np.sum(errors, axis=0).mean()))
