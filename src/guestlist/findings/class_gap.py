"""Correlation over classes between the target's generalisation gap and the risk of members.

The gap of a class is the target's accuracy on its members minus that on its non-members (Song & Mittal 2021). Both the gap and
the mean risk are measured on few records of each class, and that noise pulls a correlation towards 0. Noise that both share
pulls it away from 0: members that the target happens to fit well raise the gap and the mean risk of their class. So the test
takes the gap from one half of the members and the mean risk from the other, over several random halves, and permutes the
classes. Its p-values are Holm's over all risks: where nothing leaks, at most 5 % of audits claim a correlation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from guestlist.case import Case, signal_of
from guestlist.evaluate import Estimate
from guestlist.evaluate.correlation import MIN_CORRELATION_SIZE, is_constant, pearson, spearman
from guestlist.evaluate.means import holm
from guestlist.findings import group_risks, slices
from guestlist.findings.luck import SIGNIFICANCE_LEVEL
from guestlist.findings.slices import CLASS
from guestlist.randomness import stream
from guestlist.risks import RISKS, risks_of

SPLITS = 8  # random halves of the members
PERMUTATIONS = 999


@dataclass(frozen=True)
class GapCorrelation:
    """The correlation of the gap with the mean of a risk, over classes.

    The intervals are for other classes. ``p_value`` is corrected for the number of risks; None where the risk was not tested,
    since it is estimated from the same members and non-members as the gap, or has the same mean in all classes.
    """

    risk: str
    classes: int
    pearson: Estimate
    spearman: Estimate
    p_value: float | None = None

    @property
    def significant(self) -> bool:
        """Evidence of a correlation."""
        return self.p_value is not None and self.p_value <= SIGNIFICANCE_LEVEL


def find(case: Case) -> tuple[GapCorrelation, ...] | None:
    """Correlate each risk with the gap; return None with fewer than four classes that are large enough."""
    parts = case.of(group_risks.find)
    classes = [part for part in parts.judged if part.kind == CLASS and part.gap is not None] if parts else []
    if len(classes) < MIN_CORRELATION_SIZE:
        return None
    gap = np.array([part.gap.value for part in classes if part.gap is not None])
    correlations = []
    for at, named in enumerate(classes[0].risks):
        mean = np.array([part.risks[at].mean.value for part in classes])
        known = ~np.isnan(mean)
        correlation = GapCorrelation(
            risk=named.risk,
            classes=int(known.sum()),
            pearson=pearson(mean[known], gap[known]),
            spearman=spearman(mean[known], gap[known]),
        )
        correlations.append(correlation)
    p_values = _p_values(case)
    return tuple(replace(correlation, p_value=p_values.get(correlation.risk)) for correlation in correlations) or None


def _p_values(case: Case) -> dict[str, float]:
    """Return the corrected p-value of each risk that is tested."""
    masks = [part.mask for part in slices.classes(case) if part.enough]
    correct = signal_of(case.view, "correct")
    assert correct is not None  # there are gaps
    evaluated = case.truth.evaluated
    member = case.truth.member_evaluated
    right = correct[evaluated]
    tested = member & np.any(masks, axis=0)
    number = np.zeros(len(member), dtype=int)
    for at, mask in enumerate(masks):
        number[mask] = at
    outside = np.array([right[mask & ~member].mean() for mask in masks])
    risks = {
        name: values[evaluated][tested] for name, values in risks_of(case).items() if not RISKS[name].fitted_on_target
    }
    units = np.arange(tested.sum())
    if case.persons is not None:
        units = np.unique(case.persons[tested], return_inverse=True)[1]
    rng = stream(case.setting.seed, "gap of classes")
    halves = [rng.permutation(units.max() + 1)[units] % 2 == 1 for _ in range(SPLITS)]
    p_values = {}
    for name, values in risks.items():
        p_value = permutation_p_value(_pairs(number[tested], right[tested], values, outside, halves), rng)
        if p_value is not None:
            p_values[name] = p_value
    return dict(zip(p_values, holm(np.array(list(p_values.values()))).tolist(), strict=True))


def _pairs(
    number: np.ndarray, right: np.ndarray, risk: np.ndarray, outside: np.ndarray, halves: Sequence[np.ndarray]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(classes,) gaps of one half of the members, and mean risks of the other; NaN for a class without values there.

    Args:
        number: (members,) number of their class.
        right: (members,) true where the target is right.
        risk: (members,) risks.
        outside: (classes,) accuracy on non-members.
        halves: Masks (members,).
    """
    for half in (side for mask in halves for side in (mask, ~mask)):
        gap = _means(number[half], right[half], len(outside)) - outside
        yield gap, _means(number[~half], risk[~half], len(outside))


def _means(number: np.ndarray, values: np.ndarray, classes: int) -> np.ndarray:
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):  # 0 / 0: a class without values
        return np.bincount(number[known], values[known], classes) / np.bincount(number[known], minlength=classes)


def permutation_p_value(
    pairs: Iterator[tuple[np.ndarray, np.ndarray]], rng: np.random.Generator, permutations: int = PERMUTATIONS
) -> float | None:
    """Two-sided p-value of the sum of correlations of pairs of vectors, all permuted alike.

    None where fewer than four classes have values in all pairs, or some vector is constant.
    """
    both = np.array(list(pairs))  # (pairs, 2, classes)
    both = both[:, :, ~np.isnan(both).any(axis=(0, 1))]
    classes = both.shape[2]
    if classes < MIN_CORRELATION_SIZE or any(is_constant(row) for row in both.reshape(-1, classes)):
        return None
    both = both - both.mean(axis=2, keepdims=True)
    both /= np.linalg.norm(both, axis=2, keepdims=True)
    orders = rng.permuted(np.tile(np.arange(classes), (permutations, 1)), axis=1)
    observed = float((both[:, 0] * both[:, 1]).sum())
    # (classes, classes): the term of pairing one class's gap with another class's risk.
    together = both[:, 0].T @ both[:, 1]
    drawn = together[orders, np.arange(classes)].sum(axis=1)
    return float((1 + (np.abs(drawn) >= abs(observed) - 1e-12).sum()) / (1 + permutations))
