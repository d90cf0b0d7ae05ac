"""Significance of an audit's metrics, corrected for multiple testing.

An audit reports many metrics: the AUC and the TPRs of the headline attack, those of every other attack and of every group. If
each were tested at 5 %, an audit of a model that leaks nothing would often claim a leak. Here the error is divided once, in
``SHARES``. Within a share, permutations of the membership labels give the null distribution of the largest metric. The
adjusted p-values control the family-wise error rate: if nothing leaks, the probability that any of them is at most
``SIGNIFICANCE_LEVEL`` is at most that level.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from guestlist._kernels import (
    DensePermutations,
    Permutations,
    max_t_p_values,
    min_p_values,
    permutation_p_values,
    permuted_tprs,
    rank_sum_z_scores,
)
from guestlist._kernels.permutations import permutations

SIGNIFICANCE_LEVEL = 0.05
# Parts of the error. The headline attack has most of it, for its AUC and its TPRs in one min-P test (Westfall & Young 1993):
# leaks that affect many members raise the AUC, and leaks of a few memorised records raise the TPR at a low FPR. If
# there is a second headline row, for someone who holds the model file, the two rows divide this part equally.
SHARES = {
    "headline": 0.65,
    "reversed": 0.05,
    "others": 0.1,
    "groups": 0.15,
    "hypothesis_tests": 0.05,
}
AUC_WEIGHT = 3.0  # weight of the AUC's part of the error relative to that of one TPR
# A TPR is tested together with the TPRs at these shares of its FPR: memorised records have the very highest scores.
STRICTER = (0.1, 0.25, 0.5, 1.0)
DRAWS = 1999


@dataclass(frozen=True)
class AdjustedPValues:
    """Adjusted p-values of the metrics of attacks whose own interval excludes guessing.

    Attributes:
        auc: Attack to the p-value of its AUC.
        rates: Attack and false-positive rate to the p-value of its TPR.
        reversed: P-value of a headline attack that ranks members below non-members; None if it does not.
    """

    auc: Mapping[str, float]
    rates: Mapping[tuple[str, float], float]
    reversed: float | None


Metric = tuple[str, float | None]  # an attack and a false-positive rate; None means its AUC


@dataclass(frozen=True)
class TestFamily:
    """All metrics of an audit, and those whose own interval excludes guessing.

    Attributes:
        scores: Attack to (records,) scores.
        rates: Attack to the false-positive rates that its records can resolve.
        rows: The headline attack, and the attack of the second headline row, if there is one.
        above: Metrics whose interval lies above guessing; other metrics need no test.
        below: Whether the interval of the headline's AUC lies below 0.5.
    """

    scores: Mapping[str, np.ndarray]
    rates: Mapping[str, Sequence[float]]
    rows: tuple[str, ...]
    above: frozenset[Metric]
    below: bool


def is_significant(p_value: float | None) -> bool:
    """Return whether an adjusted p-value is significant; results of earlier versions have none."""
    return p_value is None or p_value <= SIGNIFICANCE_LEVEL


def adjusted_p(p_value: float, share: str, parts: float = 1) -> float:
    """Correct a p-value for testing at one of ``parts`` equal parts of a share of the error."""
    return float(min(1.0, p_value * parts / SHARES[share]))


def attack_p_values(
    family: TestFamily, member: np.ndarray, rng: np.random.Generator, persons: np.ndarray | None = None
) -> AdjustedPValues:
    """Test all attacks by permuting membership labels, the headline separately from the others.

    Args:
        family: Metrics to test.
        member: (records,) true for members.
        rng: Source of the permutations.
        persons: (records,) person of each record.
    """
    headline_auc: Metric = family.rows[0], None
    tests = [test for test in _joint_tests(family) if not family.above.isdisjoint(test.metrics)]
    needed = {statistic for test in tests for statistic in test.statistics}
    if family.below:
        needed.add(headline_auc)
    if not needed:
        return AdjustedPValues({}, {}, None)
    blocks = permutations(member, DRAWS, rng, clusters=persons)
    first = _metrics(family.scores, needed, DensePermutations(member[None]), next(blocks))
    parts = [first, *(_metrics(family.scores, needed, block) for block in blocks)]
    # Every needed metric with the true labels, and (draws,) with permuted labels.
    values = {metric: np.concatenate([part[metric] for part in parts]) for metric in needed}
    observed = {metric: draws[0] for metric, draws in values.items()}
    permuted = {metric: draws[1:] for metric, draws in values.items()}
    p_values: dict[Metric, float] = {}
    for test in tests:
        for metric, p_value in zip(test.metrics, test.adjusted_p_values(observed, permuted), strict=True):
            p_values[metric] = adjusted_p(p_value, test.share, test.parts)
    reversed_p = None
    if family.below:
        count = (permuted[headline_auc] <= observed[headline_auc]).sum()
        reversed_p = adjusted_p((1 + count) / (1 + DRAWS), "reversed")
    return AdjustedPValues(
        auc={name: p_value for (name, fpr), p_value in p_values.items() if fpr is None},
        rates={(name, fpr): p_value for (name, fpr), p_value in p_values.items() if fpr is not None},
        reversed=reversed_p,
    )


def group_p_values(
    scores: np.ndarray,
    member: np.ndarray,
    groups: Sequence[np.ndarray],
    strata: np.ndarray,
    columns: int,
    rng: np.random.Generator,
    persons: np.ndarray | None = None,
) -> np.ndarray:
    """Test the AUC within each group of one column, corrected for the number of groups and columns.

    Membership labels are permuted within the groups, so that each keeps its number of members.

    Args:
        scores: (records,) scores of an attack.
        member: (records,) true for members.
        groups: (records,) masks.
        strata: (records,) number of each record's group.
        columns: Number of columns of groups.
        rng: Source of the permutations.
        persons: (records,) person of each record.

    Returns:
        (groups,) adjusted p-values.
    """

    def z_scores(labels: Permutations) -> np.ndarray:
        return np.concatenate([rank_sum_z_scores(scores[None, group], labels.within(group)) for group in groups])

    blocks = [z_scores(block) for block in permutations(member, DRAWS, rng, clusters=persons, strata=strata)]
    best = max_t_p_values(z_scores(DensePermutations(member[None]))[:, 0], np.concatenate(blocks, axis=1))
    return np.array([adjusted_p(p_value, "groups", columns) for p_value in best])


@dataclass(frozen=True)
class _JointTest:
    """Metrics that are tested together, and the part of a share of the error that they have.

    Attributes:
        metrics: The metrics.
        share: Name of the share in ``SHARES``.
        parts: Number of tests that divide this share.
        mixed: Whether the metrics are an AUC and TPRs, which have no common scale: each is then compared by its own
            p-value. Otherwise the largest is compared with the largest under permutation.
    """

    metrics: tuple[Metric, ...]
    share: str
    parts: int
    mixed: bool = False

    @property
    def statistics(self) -> tuple[Metric, ...]:
        """Return all statistics that are computed under permutation."""
        if not self.mixed:
            return self.metrics
        return tuple(statistic for metric in self.metrics for statistic in _statistics(metric))

    def adjusted_p_values(self, observed: Mapping[Metric, float], permuted: Mapping[Metric, np.ndarray]) -> np.ndarray:
        """Return (metrics,) p-values adjusted for testing all of them, before correction for the share."""
        if not self.mixed:
            values = np.array([observed[metric] for metric in self.metrics])
            return max_t_p_values(values, np.stack([permuted[metric] for metric in self.metrics]))
        weights = np.array([AUC_WEIGHT if fpr is None else 1.0 for _, fpr in self.metrics])
        return min_p_values(np.stack([_p_values(metric, observed, permuted) for metric in self.metrics]), weights)


def _statistics(metric: Metric) -> tuple[Metric, ...]:
    """Return the statistics that test one metric of the headline: for a TPR, also the TPRs at stricter rates."""
    name, fpr = metric
    if fpr is None:
        return (metric,)
    return tuple((name, fpr * share) for share in STRICTER)


def _p_values(metric: Metric, observed: Mapping[Metric, float], permuted: Mapping[Metric, np.ndarray]) -> np.ndarray:
    """Return (1 + draws,) permutation p-values of a metric; the first is that of the observed value."""
    statistics = _statistics(metric)
    values = np.array([observed[statistic] for statistic in statistics])
    p_values = permutation_p_values(values, np.stack([permuted[statistic] for statistic in statistics]))
    smallest = p_values.min(axis=0)
    return permutation_p_values(-smallest[:1], -smallest[None, 1:])[0]


def _joint_tests(family: TestFamily) -> tuple[_JointTest, ...]:
    rows = family.rows
    others = [name for name in family.scores if name not in rows]
    fprs = sorted({fpr for name in others for fpr in family.rates[name]})
    by_fpr = [tuple((name, fpr) for name in others if fpr in family.rates[name]) for fpr in fprs]
    return (
        *(
            _JointTest(((row, None), *((row, fpr) for fpr in family.rates[row])), "headline", len(rows), mixed=True)
            for row in rows
        ),
        # Half of the share of the other attacks is for their AUCs.
        _JointTest(tuple((name, None) for name in others), "others", 2 if fprs else 1),
        *(_JointTest(metrics, "others", 2 * len(fprs)) for metrics in by_fpr),
    )


def _metrics(scores: Mapping[str, np.ndarray], needed: Set[Metric], *labels: Permutations) -> dict[Metric, np.ndarray]:
    """Compute every needed metric for (draws,) permuted labels."""
    ranked = [name for name in scores if (name, None) in needed]
    values: dict[Metric, np.ndarray] = {}
    if ranked:
        z_scores = rank_sum_z_scores([scores[name] for name in ranked], *labels)
        values |= {(name, None): row for name, row in zip(ranked, z_scores, strict=True)}
    for name in scores:
        fprs = sorted(fpr for attack, fpr in needed if attack == name and fpr is not None)
        if fprs:
            rows = np.hstack([permuted_tprs(scores[name], block, fprs) for block in labels])
            values |= {(name, fpr): row for fpr, row in zip(fprs, rows, strict=True)}
    return values
