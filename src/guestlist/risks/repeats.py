"""Predictive value of risks over several audits, and comparison of two risks.

Repeats differ in their records or their models, so what varies from one to the next is the error to reckon with. Two risks are
compared within each repeat, and the signs of the differences are flipped in all ways: where the two are worth the same, each
way is as likely (Fisher 1935). That is exact for figures that tie or come in steps, where Student's test is not; it takes six
repeats to say anything at 5 %. Of one audit, the AUCs against the same calls are compared (DeLong et al. 1988).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal, NamedTuple

import numpy as np

from guestlist.arrays.samples import error_of
from guestlist.case import Case
from guestlist.errors import InputError
from guestlist.evaluate import WITHHELD, Estimate, auc_difference, flags_at_fpr
from guestlist.risks.asked import attack_scores
from guestlist.risks.own import CustomScores
from guestlist.risks.worth import FPR, PredictiveValue, values_of

FIGURES = ("precision", "recall", "f1", "auc", "spearman", "top")
REACH = {"spearman": 2.0}  # how far two figures can be apart; others 1
MOST_EXACT, DRAWS = 12, 4999  # repeats of which all flips are tried; random ones beyond
STEPS = 40

Verdict = Literal["better", "worse", "no difference"]


class Spread(NamedTuple):
    """Mean and standard deviation over ``n`` repeats; NaN where there are none, or less than two."""

    mean: float
    sd: float
    n: int

    def __str__(self) -> str:
        return "withheld" if not self.n else f"{self.mean:.3f} ± {self.sd:.3f}"


@dataclass(frozen=True)
class PredictiveValueOverRepeats:
    """The figures of :class:`PredictiveValue` over repeats; those that a repeat withholds are left out."""

    risk: str
    attack: str
    precision: Spread
    recall: Spread
    f1: Spread
    auc: Spread
    spearman: Spread
    top: Spread


@dataclass(frozen=True)
class Compared:
    """Comparison of the predictive values of two risks for one attack.

    Args:
        figure: of :class:`PredictiveValue`, that was compared.
        difference: first minus second, on average over repeats.
        repeats: how many there were; 1: within one audit.
    """

    first: str
    second: str
    attack: str
    figure: str
    difference: Estimate
    repeats: int

    @property
    def verdict(self) -> Verdict:
        """Return "better" or "worse" if the difference is significant, otherwise "no difference"."""
        if self.difference.low > 0:
            return "better"
        return "worse" if self.difference.high < 0 else "no difference"


def predictive_value_over_repeats(
    repeats: Sequence[Sequence[PredictiveValue]],
) -> tuple[PredictiveValueOverRepeats, ...]:
    """Mean and standard deviation of every figure, for each risk and attack in the order of the first repeat.

    Args:
        repeats: what ``predictive_values`` gave for each audit.
    """
    pairs = dict.fromkeys((row.risk, row.attack) for rows in repeats for row in rows)
    return tuple(
        PredictiveValueOverRepeats(*pair, *(_spread(_figures(repeats, *pair, figure)) for figure in FIGURES))
        for pair in pairs
    )


def compare_over_repeats(
    repeats: Sequence[Sequence[PredictiveValue]],
    first: str,
    second: str,
    attack: str,
    figure: str = "auc",
    *,
    confidence: float = 0.95,
) -> Compared:
    """Compare the predictive values of two risks over repeats by sign flips of paired differences.

    Args:
        repeats: what ``predictive_values`` gave for each audit.
        first, second: names of risks.
        figure: ``auc``, or another of :class:`PredictiveValue`.
    """
    if figure not in FIGURES:
        raise ValueError(f"Expected figure={figure!r} to be one of {', '.join(FIGURES)}.")
    a, b = (_figures(repeats, name, attack, figure) for name in (first, second))
    for name, values in ((first, a), (second, b)):
        if len(values) == 0 or len(values) != len(repeats):
            raise InputError(f"Not every repeat says what the risk {name!r} is worth against {attack!r}.")
    gaps = (a - b)[~np.isnan(a - b)]
    return Compared(first, second, attack, figure, mean_of_pairs(gaps, REACH.get(figure, 1.0), confidence), len(gaps))


def compare_risks(
    case: Case, first: str, second: str, attack: str, *, custom: CustomScores | None = None, confidence: float = 0.95
) -> Compared:
    """Compare how well two risks rank the members that an attack flags in one audit: AUC minus AUC.

    Args:
        first, second: names from ``RISKS``, or of ``own``.
        custom: Custom scores, as for ``predictive_values``.
    """
    asked, member = case.truth.evaluated, case.truth.member_evaluated
    known = values_of(case, [name for name in (first, second) if name not in (custom or {})], custom)
    calls = flags_at_fpr(attack_scores(case, attack)[asked], member, FPR)
    said = member & ~np.isnan(calls)
    persons = None if case.persons is None else case.persons[said]
    a, b = (known[name][asked][said] for name in (first, second))
    gap = auc_difference(a, b, calls[said] > 0, clusters=persons, confidence=confidence)
    return Compared(first, second, attack, "auc", gap, 1)


def mean_of_pairs(gaps: np.ndarray, reach: float = 1.0, confidence: float = 0.95) -> Estimate:
    """The mean of paired differences, with all values that flips of their signs around them do not refute.

    Exact where the differences are as likely to lie as far above their centre as below.

    Args:
        gaps: (repeats,).
        reach: how far the two of a pair can be apart.

    >>> print(mean_of_pairs(np.array([0.1, 0.12, 0.08, 0.11, 0.09])))  # five repeats are too few to say anything
    0.100 [-1.000, 1.000]
    >>> print(mean_of_pairs(np.array([0.1, 0.12, 0.08, 0.11, 0.09, 0.1])))
    0.100 [0.080, 0.120]
    """
    error = error_of(confidence)
    if not len(gaps):
        return WITHHELD
    signs, mean = _signs(len(gaps)), float(gaps.mean())

    def refuted(centre: float) -> bool:
        sums = np.abs(signs @ (gaps - centre))
        return bool((sums >= sums[0] - 1e-12 * len(gaps)).mean() <= error)

    return Estimate(mean, _end(refuted, mean, -reach), _end(refuted, mean, reach))


def _end(refuted, inside: float, outside: float) -> float:
    """Find the end of the interval between a value that is not refuted and one that may be."""
    if not refuted(outside):
        return outside
    for _ in range(STEPS):
        middle = (inside + outside) / 2
        inside, outside = (inside, middle) if refuted(middle) else (middle, outside)
    return float(inside)


def _signs(n: int) -> np.ndarray:
    """(flips, n) of signs; the first leaves all as they are."""
    if n <= MOST_EXACT:
        return np.array(list(product((1.0, -1.0), repeat=n)))
    drawn = np.random.default_rng(0).choice((1.0, -1.0), size=(DRAWS, n))
    return np.vstack([np.ones(n), drawn])


def _figures(repeats: Sequence[Sequence[PredictiveValue]], risk: str, attack: str, figure: str) -> np.ndarray:
    """(repeats,) values of one figure, of the repeats that have this risk and attack."""
    rows = [row for repeat in repeats for row in repeat if (row.risk, row.attack) == (risk, attack)]
    return np.array([getattr(row, figure).value for row in rows])


def _spread(values: np.ndarray) -> Spread:
    values = values[~np.isnan(values)]
    if not len(values):
        return Spread(float("nan"), float("nan"), 0)
    return Spread(float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else float("nan"), len(values))
