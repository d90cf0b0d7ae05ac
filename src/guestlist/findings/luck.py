"""Significance of an audit's metrics, corrected for multiple testing.

An audit reports many metrics: the AUC and the TPRs of the headline attack, those of every other attack and of every group. If
each were tested at 5 %, an audit of a model that leaks nothing would often claim a leak. Here the error is divided once, in
``SHARES``. Within a share, membership labels are permuted to see how large the best metric gets by chance. The adjusted
p-values control the family-wise error rate: if nothing leaks, the probability that any of them is at most
``SIGNIFICANCE_LEVEL`` is at most that level.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from guestlist.arrays.redraws import (
    DensePermutations,
    Permutations,
    max_t_p_values,
    min_p_values,
    permutation_p_values,
    permutations,
    permuted_tprs,
    rank_sum_z_scores,
)

SIGNIFICANCE_LEVEL = 0.05
# Parts of the error. The headline attack has most of it, for its AUC and its TPRs in one min-P test (Westfall & Young 1993):
# leaks that many members share show in the AUC, leaks of a few memorised records in the TPR at a low FPR. Where there is a
# second headline row, for someone who holds the model file, the two rows divide this part equally.
SHARES = {
    "headline": 0.65,
    "reversed": 0.05,
    "others": 0.1,
    "groups": 0.15,
    "promises": 0.05,
}
AUC_WEIGHT = 3.0  # the AUC's part of the error compared with that of one TPR
# A TPR is tested together with the TPRs at these shares of its FPR: memorised records have the very highest scores.
STRICTER = (0.1, 0.25, 0.5, 1.0)
DRAWS = 1999


@dataclass(frozen=True)
class AdjustedPValues:
    """The p-values of figures of attacks, adjusted_p for; of those alone whose own interval lies beyond guessing.

    Args:
        auc: attack to the chance of such an AUC.
        rates: attack and false-positive rate to the chance of such a TPR.
        reversed: the chance that the headline ranks members so far below non-members.
    """

    auc: Mapping[str, float]
    rates: Mapping[tuple[str, float], float]
    reversed: float | None


Figure = tuple[str, float | None]  # an attack and a false-positive rate; None stands for its AUC


@dataclass(frozen=True)
class TestFamily:
    """What was looked at: every figure, and which of them have an interval beyond guessing of their own.

    Args:
        scores: attack to (records,).
        rates: attack to the false-positive rates that its records can resolve.
        above: the figures whose interval lies above guessing; the others claim nothing, and luck need not be asked.
        below: whether the interval of the headline's AUC lies below.
        file_holder: the attack of the second headline row, if there is one.
    """

    scores: Mapping[str, np.ndarray]
    rates: Mapping[str, Sequence[float]]
    headline: str
    above: frozenset[Figure]
    below: bool
    file_holder: str | None = None

    @property
    def rows(self) -> tuple[str, ...]:
        """The attacks of the headline rows."""
        return (self.headline,) if self.file_holder is None else (self.headline, self.file_holder)


def is_significant(p_value: float | None) -> bool:
    """Whether luck does not explain it; results of earlier versions did not ask."""
    return p_value is None or p_value <= SIGNIFICANCE_LEVEL


def adjusted_p(p_value: float, share: str, parts: float = 1) -> float:
    """A p-value that pays for being one of ``parts`` equal parts of a share of the error."""
    return float(min(1.0, p_value * parts / SHARES[share]))


def attack_p_values(
    seen: TestFamily, member: np.ndarray, rng: np.random.Generator, persons: np.ndarray | None = None
) -> AdjustedPValues:
    """What luck gives for all attacks together, with the headline apart from the others.

    Args:
        member: (records,) the truth.
        persons: (records,) whose records these are.
    """
    own: Figure = seen.headline, None
    families = _families(seen)
    asked = [family for family in families if not seen.above.isdisjoint(family.figures)]
    needed = {statistic for family in asked for statistic in family.statistics}
    needed |= {own} if seen.below else set()
    if not needed:
        return AdjustedPValues({}, {}, None)
    found, drawn = _found_and_drawn(seen.scores, needed, member, permutations(member, DRAWS, rng, clusters=persons))
    p_values: dict[Figure, float] = {}
    for family in asked:
        adjusted = family.adjusted_p_values(found, drawn)
        p_values |= {
            f: adjusted_p(p, family.share, family.parts) for f, p in zip(family.figures, adjusted, strict=True)
        }
    below = (1 + (drawn[own] <= found[own]).sum()) / (1 + DRAWS) if seen.below else None
    return AdjustedPValues(
        {name: p_value for (name, fpr), p_value in p_values.items() if fpr is None},
        {(name, fpr): p_value for (name, fpr), p_value in p_values.items() if fpr is not None},
        None if below is None else adjusted_p(below, "reversed"),
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
    """(groups,) p-values of the groups of one column: would one of them have done so well by luck?

    Sides are dealt out within the groups, so that each keeps its number of members.

    Args:
        groups: (records,) masks.
        strata: (records,) number of the group to which each record belongs.
        columns: how many columns of groups there are.
    """

    def gaps(deals: Permutations) -> np.ndarray:
        return np.concatenate([rank_sum_z_scores(scores[None, group], deals.within(group)) for group in groups])

    blocks = [gaps(block) for block in permutations(member, DRAWS, rng, clusters=persons, strata=strata)]
    best = max_t_p_values(gaps(DensePermutations(member[None]))[:, 0], np.concatenate(blocks, axis=1))
    return np.array([adjusted_p(p_value, "groups", columns) for p_value in best])


@dataclass(frozen=True)
class _Family:
    """Metrics that are tested together, and the part of a share of the error that they have.

    Attributes:
        figures: The metrics.
        share: Name of the share in ``SHARES``.
        parts: Number of families that divide this share.
        mixed: Whether the metrics are an AUC and TPRs, which have no common scale: each is then compared by its own
            p-value. Otherwise the largest is compared with the largest under permutation.
    """

    figures: tuple[Figure, ...]
    share: str
    parts: int
    mixed: bool = False

    @property
    def statistics(self) -> tuple[Figure, ...]:
        """Everything that is computed under permutation."""
        if not self.mixed:
            return self.figures
        return tuple(statistic for figure in self.figures for statistic in _statistics(figure))

    def adjusted_p_values(self, found: Mapping[Figure, float], drawn: Mapping[Figure, np.ndarray]) -> np.ndarray:
        """(metrics,) p-values adjusted for testing all of them, before the family's share is accounted for."""
        if not self.mixed:
            observed = np.array([found[figure] for figure in self.figures])
            return max_t_p_values(observed, np.stack([drawn[figure] for figure in self.figures]))
        weights = np.array([AUC_WEIGHT if fpr is None else 1.0 for _, fpr in self.figures])
        return min_p_values(np.stack([_p_values(figure, found, drawn) for figure in self.figures]), weights)


def _statistics(figure: Figure) -> tuple[Figure, ...]:
    """The statistics that test one metric of the headline: for a TPR, the TPRs at stricter rates too."""
    name, fpr = figure
    if fpr is None:
        return (figure,)
    return tuple((name, fpr * share) for share in STRICTER)


def _p_values(figure: Figure, found: Mapping[Figure, float], drawn: Mapping[Figure, np.ndarray]) -> np.ndarray:
    """(1 + draws,) permutation p-values of a metric, first the observed one."""
    statistics = _statistics(figure)
    observed = np.array([found[statistic] for statistic in statistics])
    p_values = permutation_p_values(observed, np.stack([drawn[statistic] for statistic in statistics]))
    smallest = p_values.min(axis=0)
    return permutation_p_values(-smallest[:1], -smallest[None, 1:])[0]


def _families(seen: TestFamily) -> tuple[_Family, ...]:
    rows, others = seen.rows, [name for name in seen.scores if name not in seen.rows]
    kinds = sorted({fpr for name in others for fpr in seen.rates[name]})
    at = {fpr: tuple((name, fpr) for name in others if fpr in seen.rates[name]) for fpr in kinds}
    return (
        *(
            _Family(((row, None), *((row, fpr) for fpr in seen.rates[row])), "headline", len(rows), mixed=True)
            for row in rows
        ),
        # Half of what the others have is for their AUCs.
        _Family(tuple((name, None) for name in others), "others", 2 if kinds else 1),
        *(_Family(at[fpr], "others", 2 * len(kinds)) for fpr in kinds),
    )


def _found_and_drawn(
    scores: Mapping[str, np.ndarray], needed: Set[Figure], member: np.ndarray, blocks: Iterator[Permutations]
) -> tuple[dict[Figure, float], dict[Figure, np.ndarray]]:
    """Every figure that is needed to how large it is, and to (draws,) how large it is by luck."""
    first = _figures(scores, needed, DensePermutations(member[None]), next(blocks))
    parts = [first, *(_figures(scores, needed, block) for block in blocks)]
    drawn = {figure: np.concatenate([part[figure] for part in parts]) for figure in needed}
    return {figure: values[0] for figure, values in drawn.items()}, {f: values[1:] for f, values in drawn.items()}


def _figures(scores: Mapping[str, np.ndarray], needed: Set[Figure], *deals: Permutations) -> dict[Figure, np.ndarray]:
    """Every figure that is needed to (draws,) how large it is."""
    ranked = [name for name in scores if (name, None) in needed]
    found: dict[Figure, np.ndarray] = {}
    if ranked:
        gaps = rank_sum_z_scores([scores[name] for name in ranked], *deals)
        found |= {(name, None): row for name, row in zip(ranked, gaps, strict=True)}
    for name in scores:
        fprs = sorted(fpr for one, fpr in needed if one == name and fpr is not None)
        if fprs:
            rows = np.hstack([permuted_tprs(scores[name], one, fprs) for one in deals])
            found |= {(name, fpr): row for fpr, row in zip(fprs, rows, strict=True)}
    return found
