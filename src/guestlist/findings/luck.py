"""What luck alone would have given, so that a claim pays for everything that was looked at.

An audit looks at many figures: the headline's AUC and its rates, those of every other attack, those of every group. If each
had the usual error of 5 %, an audit that has nothing to find would often claim something. Here the error is spent once, in
``SHARES``, and within a share membership is dealt out anew to see how good the best figure is by luck. A p-value from here has
been paid for: where nothing leaks, the chance that an audit has any p-value of at most ``SHOWN`` is at most ``SHOWN``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from guestlist.arrays.redraws import p_values_of_best, rank_gaps, redraws, tprs_of_draws

SHOWN = 0.05
# The headline's AUC has what the two-sided interval beside it has on this side; the rest is divided.
SHARES = {
    "headline": 0.5,
    "headline rates": 0.1,
    "reversed": 0.1,
    "others": 0.1,
    "groups": 0.15,
    "promises": 0.05,
}
DRAWS = 1999


@dataclass(frozen=True)
class Luck:
    """The p-values of every figure of every attack, paid for.

    Args:
        auc: attack to the chance of such an AUC.
        rates: attack and false-positive rate to the chance of such a TPR.
        reversed: the chance that the headline ranks members so far below non-members.
    """

    auc: Mapping[str, float]
    rates: Mapping[tuple[str, float], float]
    reversed: float


def shown(p_value: float | None) -> bool:
    """Whether luck does not explain it; results of earlier versions did not ask."""
    return p_value is None or p_value <= SHOWN


def paid(p_value: float, share: str, parts: float = 1) -> float:
    """A p-value that pays for being one of ``parts`` equal parts of a share of the error."""
    return float(min(1.0, p_value * parts / SHARES[share]))


def luck_of(
    scores: Mapping[str, np.ndarray],
    member: np.ndarray,
    rates: Mapping[str, Sequence[float]],
    headline: str,
    rng: np.random.Generator,
    persons: np.ndarray | None = None,
) -> Luck:
    """What luck gives for all attacks together, with the headline apart from the others.

    Args:
        scores: attack to (records,).
        member: (records,) the truth.
        rates: attack to the false-positive rates that its records can resolve.
        persons: (records,) whose records these are.
    """
    blocks = [_figures(scores, block, rates) for block in redraws(member, DRAWS, rng, persons=persons)]
    drawn = {key: np.concatenate([block[key] for block in blocks]) for key in blocks[0]}
    found = {key: values[0] for key, values in _figures(scores, member[None], rates).items()}
    own = headline, None
    below = (1 + (drawn[own] <= found[own]).sum()) / (1 + DRAWS)
    p_values = {own: paid(_best([own], found, drawn)[own], "headline")}
    of_headline = [(headline, fpr) for fpr in rates[headline]]
    for key in of_headline:
        p_values[key] = paid(_best([key], found, drawn)[key], "headline rates", len(of_headline))
    others = [key for key in found if key[0] != headline]
    kinds = sorted({fpr for _, fpr in others if fpr is not None})
    for kind in (None, *kinds):  # half of what others have is for their AUCs
        best = _best([key for key in others if key[1] == kind], found, drawn)
        parts = (2 if kinds else 1) if kind is None else 2 * len(kinds)
        p_values |= {key: paid(p_value, "others", parts) for key, p_value in best.items()}
    return Luck(
        {name: p_values[name, None] for name in scores},
        {(name, fpr): p_values[name, fpr] for name, fprs in rates.items() for fpr in fprs},
        paid(below, "reversed"),
    )


def luck_of_groups(
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
    if not groups:
        return np.empty(0)
    blocks = [
        np.stack([rank_gaps(scores[group], block[:, group]) for group in groups])
        for block in redraws(member, DRAWS, rng, persons=persons, strata=strata)
    ]
    found = np.array([rank_gaps(scores[group], member[None, group])[0] for group in groups])
    best = p_values_of_best(found, np.concatenate(blocks, axis=1))
    return np.array([paid(p_value, "groups", columns) for p_value in best])


Figure = tuple[str, float | None]  # an attack and a false-positive rate; None stands for its AUC


def _figures(
    scores: Mapping[str, np.ndarray], member: np.ndarray, rates: Mapping[str, Sequence[float]]
) -> dict[Figure, np.ndarray]:
    """Every figure to (draws,) how large it is."""
    found: dict[Figure, np.ndarray] = {(name, None): rank_gaps(values, member) for name, values in scores.items()}
    for name, fprs in rates.items():
        found |= {(name, fpr): tprs_of_draws(scores[name], member, fpr) for fpr in fprs}
    return found


def _best(
    keys: Sequence[Figure], found: Mapping[Figure, np.floating], drawn: Mapping[Figure, np.ndarray]
) -> dict[Figure, float]:
    if not keys:
        return {}
    p_values = p_values_of_best(np.array([found[key] for key in keys]), np.stack([drawn[key] for key in keys]))
    return dict(zip(keys, map(float, p_values), strict=True))
