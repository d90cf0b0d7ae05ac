"""Predictive value of risks for the members that an attack flags, in one audit or over repeats."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from guestlist._case import Case
from guestlist._kernels import optional_take
from guestlist.errors import InputError
from guestlist.metrics import (
    WITHHELD,
    Estimate,
    auc,
    auc_difference,
    clopper_pearson_lower,
    clopper_pearson_upper,
    clustered_proportion,
    error_of,
    flags_at_fpr,
    spearman,
)
from guestlist.risks.table import EVERY_MEMBER, RISKS, CustomScores, attack_scores, custom_values, requested_risks

FPR = 0.05
TOP = 0.01


@dataclass(frozen=True)
class PredictiveValue:
    """Predictive value of one risk for the members that one attack flags.

    Attributes:
        risk, attack: Names.
        members, flagged: Number of members, and number of those that the attack flags.
        precision: Share of the members at risk that are flagged; withheld if the risk has no threshold, as the next two are.
        recall: Share of the flagged members that are at risk.
        f1: Harmonic mean of precision and recall.
        auc: AUC of the risk for separating flagged members from the others.
        spearman: Rank correlation of the risk with the attack's score.
        top: Share of flagged members among the 1% with the largest risk; ties are averaged over all orders.
    """

    risk: str
    attack: str
    members: int
    flagged: int
    precision: Estimate
    recall: Estimate
    f1: Estimate
    auc: Estimate
    spearman: Estimate
    top: Estimate


def predictive_values(
    case: Case,
    risks: Sequence[str] | None = None,
    attacks: Sequence[str] | None = None,
    *,
    custom: CustomScores | None = None,
) -> tuple[PredictiveValue, ...]:
    """Compute the predictive value of each risk for each attack; the first risk flags every member.

    An attack flags at the threshold that 5% of the non-members exceed.

    Args:
        case: The audit.
        risks: Names; by default those that an audit has by default.
        attacks: Names; by default all of the case.
        custom: Name to your own scores, higher for members at greater risk: an array in the order of ``case.records``, or a
            pandas Series indexed by id.

    Returns:
        One row per risk and attack.
    """
    evaluated = case.truth.evaluated
    member = case.truth.member_evaluated
    rows: dict[str, tuple[np.ndarray, float | None]] = {
        EVERY_MEMBER: (np.ones(len(member)), 0.0),
        **{
            name: (values[evaluated], RISKS[name].threshold if name in RISKS else None)
            for name, values in values_of(case, risks, custom).items()
        },
    }
    persons = optional_take(case.persons, member)
    predictive: list[PredictiveValue] = []
    for attack in case.scores if attacks is None else attacks:
        scores = attack_scores(case, attack)[evaluated]
        flags = flags_at_fpr(scores, member, FPR)
        for risk, (values, threshold) in rows.items():
            parts = values[member], scores[member], flags[member]
            predictive.append(predictive_value(*parts, risk=risk, attack=attack, threshold=threshold, persons=persons))
    return tuple(predictive)


def values_of(case: Case, risks: Sequence[str] | None, custom: CustomScores | None = None) -> dict[str, np.ndarray]:
    """Return name to (records,) values of risks, then of custom scores."""
    return requested_risks(case, risks) | custom_values(case, custom or {})


def predictive_value(
    values: np.ndarray,
    scores: np.ndarray,
    flags: np.ndarray,
    *,
    risk: str,
    attack: str,
    threshold: float | None = None,
    persons: np.ndarray | None = None,
) -> PredictiveValue:
    """Compute the predictive value of one risk for one attack.

    Args:
        values: (members,) Risks; NaN is ignored.
        scores: (members,) Scores of the attack.
        flags: (members,) 1.0 where the attack flags a member, 0.0 where not; NaN is ignored.
        risk, attack: Names.
        threshold: A member with a larger risk is at risk.
        persons: (members,) Person identifiers, if persons have several records.

    Returns:
        All metrics, with intervals.
    """
    known = ~np.isnan(values) & ~np.isnan(flags)
    values = values[known]
    scores = scores[known]
    flagged = flags[known] > 0
    persons = optional_take(persons, known)
    precision = recall = f1 = WITHHELD
    if threshold is not None:
        risky = values > threshold
        precision = clustered_proportion(flagged[risky], clusters=optional_take(persons, risky))
        recall = clustered_proportion(risky[flagged], clusters=optional_take(persons, flagged))
        either = risky | flagged
        jaccard = clustered_proportion((risky & flagged)[either], clusters=optional_take(persons, either))
        f1 = Estimate(*(2 * end / (1 + end) for end in jaccard))
    return PredictiveValue(
        risk=risk,
        attack=attack,
        members=len(values),
        flagged=int(flagged.sum()),
        precision=precision,
        recall=recall,
        f1=f1,
        auc=auc(values, flagged, clusters=persons),
        spearman=spearman(values, scores, clusters=persons),
        top=_top(values, flagged),
    )


def _top(values: np.ndarray, flagged: np.ndarray, confidence: float = 0.95) -> Estimate:
    if not len(values):
        return WITHHELD
    size = ceil(TOP * len(values))
    error = error_of(confidence)
    last = np.sort(values)[-size]
    above = values > last
    equal = values == last
    hits = float(flagged[above].sum() + flagged[equal].mean() * (size - above.sum()))
    # The interval counts all ties, not only those that happen to come first.
    n = int((above | equal).sum())
    hits_with_ties = int(flagged[above | equal].sum()) if n > size else hits
    ends = (
        float(clopper_pearson_lower(hits_with_ties, n, error / 2)),
        float(clopper_pearson_upper(hits_with_ties, n, error / 2)),
    )
    return Estimate(hits / size, min(ends[0], hits / size), max(ends[1], hits / size))


METRICS = ("precision", "recall", "f1", "auc", "spearman", "top")
REACH = {"spearman": 2.0}  # largest difference of two values of a metric; 1 for all others
# With more repeats than this, random sign flips replace the enumeration of all.
MAX_EXACT_REPEATS = 12
DRAWS = 4999
STEPS = 40

Verdict = Literal["better", "worse", "no difference"]


class RepeatedValue(NamedTuple):
    """Mean and standard deviation over ``n`` repeats; NaN without repeats, or with a single one."""

    mean: float
    sd: float
    n: int

    def __str__(self) -> str:
        if not self.n:
            return "withheld"
        return f"{self.mean:.3f} ± {self.sd:.3f}"


@dataclass(frozen=True)
class PredictiveValueOverRepeats:
    """The metrics of :class:`PredictiveValue` over repeats; those that a repeat withholds are omitted.

    Attributes:
        risk, attack: Names.
        precision, recall, f1, auc, spearman, top: Mean and standard deviation over repeats.
    """

    risk: str
    attack: str
    precision: RepeatedValue
    recall: RepeatedValue
    f1: RepeatedValue
    auc: RepeatedValue
    spearman: RepeatedValue
    top: RepeatedValue


@dataclass(frozen=True)
class RiskComparison:
    """Comparison of the predictive values of two risks for one attack.

    Attributes:
        first, second: Names of the risks.
        attack: Name of the attack.
        metric: Field of :class:`PredictiveValue` that was compared.
        difference: First minus second, averaged over repeats.
        repeats: Number of repeats; 1 means within one audit.
    """

    first: str
    second: str
    attack: str
    metric: str
    difference: Estimate
    repeats: int

    @property
    def verdict(self) -> Verdict:
        """Return "better" or "worse" if the difference is significant, otherwise "no difference"."""
        if self.difference.low > 0:
            return "better"
        if self.difference.high < 0:
            return "worse"
        return "no difference"


def predictive_value_over_repeats(
    repeats: Sequence[Sequence[PredictiveValue]],
) -> tuple[PredictiveValueOverRepeats, ...]:
    """Compute the mean and standard deviation of every metric over repeats.

    Rows are risks and attacks in the order of the first repeat.

    Args:
        repeats: Results of ``predictive_values`` for each audit.

    Returns:
        One row per risk and attack.
    """
    return tuple(
        PredictiveValueOverRepeats(*pair, *(_mean_and_sd(_metric_values(repeats, *pair, metric)) for metric in METRICS))
        for pair in dict.fromkeys((row.risk, row.attack) for rows in repeats for row in rows)
    )


def compare_over_repeats(
    repeats: Sequence[Sequence[PredictiveValue]],
    first: str,
    second: str,
    attack: str,
    metric: str = "auc",
    *,
    confidence: float = 0.95,
) -> RiskComparison:
    """Compare the predictive values of two risks over repeats by sign flips of paired differences.

    Args:
        repeats: Results of ``predictive_values`` for each audit.
        first, second: Names of risks.
        attack: Name of the attack.
        metric: ``auc``, or another field of :class:`PredictiveValue`.
        confidence: Level of the interval.

    Returns:
        The comparison; ``.verdict`` is "better", "worse" or "no difference".

    Raises:
        ValueError: If the metric is unknown.
        InputError: If a repeat lacks a risk or the attack.
    """
    if metric not in METRICS:
        raise ValueError(f"Expected metric={metric!r} to be one of {', '.join(METRICS)}.")
    a, b = (_metric_values(repeats, name, attack, metric) for name in (first, second))
    for name, values in ((first, a), (second, b)):
        if len(values) == 0 or len(values) != len(repeats):
            raise InputError(
                f"Some repeats have no predictive value of the risk {name!r} for the attack {attack!r}. Pass repeats that all "
                "have it."
            )
    gaps = (a - b)[~np.isnan(a - b)]
    return RiskComparison(
        first=first,
        second=second,
        attack=attack,
        metric=metric,
        difference=mean_of_pairs(gaps, REACH.get(metric, 1.0), confidence),
        repeats=len(gaps),
    )


def compare_risks(
    case: Case, first: str, second: str, attack: str, *, custom: CustomScores | None = None, confidence: float = 0.95
) -> RiskComparison:
    """Compare how well two risks rank the members that an attack flags in one audit: AUC minus AUC.

    Args:
        case: The audit.
        first, second: Names from ``RISKS`` or of ``custom``.
        attack: Name of the attack.
        custom: Custom scores, as for ``predictive_values``.
        confidence: Level of the interval.

    Returns:
        The comparison; ``.verdict`` is "better", "worse" or "no difference".
    """
    evaluated = case.truth.evaluated
    member = case.truth.member_evaluated
    known = values_of(case, [name for name in (first, second) if name not in (custom or {})], custom)
    flags = flags_at_fpr(attack_scores(case, attack)[evaluated], member, FPR)
    compared = member & ~np.isnan(flags)
    persons = optional_take(case.persons, compared)
    a, b = (known[name][evaluated][compared] for name in (first, second))
    return RiskComparison(
        first=first,
        second=second,
        attack=attack,
        metric="auc",
        difference=auc_difference(a, b, flags[compared] > 0, clusters=persons, confidence=confidence),
        repeats=1,
    )


def mean_of_pairs(gaps: np.ndarray, reach: float = 1.0, confidence: float = 0.95) -> Estimate:
    """Compute the mean of paired differences, with a confidence interval by sign flips.

    The interval holds all centres that the test by sign flips does not reject; it is exact if the differences are symmetric
    around their centre.

    Args:
        gaps: (repeats,) Differences.
        reach: Largest possible difference.
        confidence: Level of the interval.

    >>> print(mean_of_pairs(np.array([0.1, 0.12, 0.08, 0.11, 0.09])))  # five repeats are too few to say anything
    0.100 [-1.000, 1.000]
    >>> print(mean_of_pairs(np.array([0.1, 0.12, 0.08, 0.11, 0.09, 0.1])))
    0.100 [0.080, 0.120]
    """
    error = error_of(confidence)
    if not len(gaps):
        return WITHHELD
    # (flips, repeats) signs; the first flip changes none.
    if len(gaps) <= MAX_EXACT_REPEATS:
        signs = np.array(list(product((1.0, -1.0), repeat=len(gaps))))
    else:
        rng = np.random.default_rng(0)
        signs = np.vstack([np.ones(len(gaps)), rng.choice((1.0, -1.0), size=(DRAWS, len(gaps)))])
    mean = float(gaps.mean())

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
        if refuted(middle):
            outside = middle
        else:
            inside = middle
    return float(inside)


def _metric_values(repeats: Sequence[Sequence[PredictiveValue]], risk: str, attack: str, metric: str) -> np.ndarray:
    """Return (repeats,) values of one metric, of the repeats that have this risk and attack."""
    return np.array(
        [getattr(row, metric).value for repeat in repeats for row in repeat if (row.risk, row.attack) == (risk, attack)]
    )


def _mean_and_sd(values: np.ndarray) -> RepeatedValue:
    known = pd.Series(values).dropna()
    return RepeatedValue(float(known.mean()), float(known.std()), len(known))
