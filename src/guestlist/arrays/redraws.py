"""Membership drawn anew: what chance alone gives where members and non-members do not differ.

If a model gives nothing away, its members and non-members are exchangeable: the scores would be as likely had the two
sides been dealt out otherwise. So the sides are dealt out again and again, and a figure is judged by how often it would
have been as large. The best of many figures is judged by the best of them in every deal (Westfall & Young 1993), which
pays for their number and takes into account that they resemble each other. It is exact for any sample size, with ties,
and for scores of few values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from guestlist.arrays.ranks import tie_ends

CELLS_AT_ONCE = 2**22  # bounds the memory to some tens of megabytes
ROUNDING = 1e-9  # 0.29 * 100 is 28.999999999999996, and means 29


def redraws(
    member: np.ndarray,
    draws: int,
    rng: np.random.Generator,
    *,
    persons: np.ndarray | None = None,
    strata: np.ndarray | None = None,
) -> Iterator[np.ndarray]:
    """Blocks of (draws, records): who might have been a member, with as many on either side.

    Args:
        member: (records,) the truth.
        draws: how many in all.
        persons: (records,) whose record it is. The records that a person has on one side change sides together.
        strata: (records,) sides are dealt out within each of these; one of a person's records stands for all.
    """
    units = np.arange(len(member)) if persons is None else 2 * persons + member
    _, first, unit = np.unique(units, return_index=True, return_inverse=True)
    side = member[first]
    layers = np.zeros(len(side), dtype=int) if strata is None else strata[first]
    places = [np.flatnonzero(layers == layer) for layer in np.unique(layers)]
    step = max(1, CELLS_AT_ONCE // max(len(member), 1))
    for start in range(0, draws, step):
        dealt = np.empty((min(step, draws - start), len(side)), dtype=bool)
        for place in places:
            dealt[:, place] = rng.permuted(np.broadcast_to(side[place], (len(dealt), len(place))), axis=1)
        yield dealt if persons is None else dealt[:, unit]


def rank_gaps(scores: np.ndarray, member: np.ndarray) -> np.ndarray:
    """(figures, draws) by how much members outrank non-members, in standard deviations of what chance gives.

    It orders the deals as the AUC does, and can be compared between attacks and between groups of other sizes.

    Args:
        scores: (figures, records) NaN is left out.
        member: (draws, records).

    Returns:
        0 where nothing can be told: one side is empty, or all scores are equal.
    """
    scored = ~np.isnan(scores)
    ranks = np.stack([_doubled_ranks(row) for row in scores])
    # Whole numbers add up exactly, in whatever order: deals that are equally good must be found equal.
    sums, members = np.split(np.vstack([ranks, scored]) @ member.T.astype(np.float64), 2)
    records = scored.sum(axis=1, keepdims=True)
    mean = ranks.sum(axis=1, keepdims=True) / np.maximum(records, 1)
    squares = (np.square(ranks - mean) * scored).sum(axis=1, keepdims=True)
    spread = squares * members * (records - members) / np.maximum(records * (records - 1), 1)
    return np.where(spread > 0, (sums - members * mean) / np.sqrt(np.where(spread > 0, spread, 1)), 0.0)


def tprs_of_draws(scores: np.ndarray, member: np.ndarray, fprs: Sequence[float]) -> np.ndarray:
    """(rates, draws) share of members strictly above the non-member that would be one too many at each of ``fprs``.

    Args:
        scores: (records,) NaN is left out.
        member: (draws, records).

    Returns:
        0 where there are no members.
    """
    scored = ~np.isnan(scores)
    order = np.argsort(-scores, kind="stable")[: scored.sum()]
    members = member.sum(axis=1) if scored.all() else member[:, scored].sum(axis=1)
    nonmembers = len(order) - members
    # A low rate is decided among the highest scores: look at all only if some draw needs them.
    head = min(len(order), math.ceil(4 * max(fprs) * len(order)) + 50)
    false = np.cumsum(~member[:, order[:head]], axis=1, dtype=np.int32)
    if (false[:, -1] <= max(fprs) * nonmembers + ROUNDING).any():
        false = np.cumsum(~member[:, order], axis=1, dtype=np.int32)
    before = np.pad(false, ((0, 0), (1, 0)))
    ties = np.append(tie_ends(-scores[order][None])[0][0], len(order))
    found = []
    for fpr in fprs:
        allowed = np.floor(fpr * nonmembers + ROUNDING)
        stop = (false <= allowed[:, None]).sum(axis=1)  # the non-member that is one too many;
        first = ties[stop]  # its ties are not above it
        above = first - np.take_along_axis(before, first[:, None], axis=1)[:, 0]
        found.append(np.where(members > 0, above / np.maximum(members, 1), 0.0))
    return np.stack(found)


def p_values_of_best(found: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """(figures,) chance that the best of all these figures is as large as each, the one that was found counted in.

    Args:
        found: (figures,).
        drawn: (figures, draws) what chance gives.
    """
    best = drawn.max(axis=0)
    return (1 + (best >= found[:, None]).sum(axis=1)) / (1 + len(best))


def _doubled_ranks(scores: np.ndarray) -> np.ndarray:
    """Twice the mid-ranks, which are whole numbers, in the order of the scores; 0 for NaN."""
    ranks, known = np.zeros(len(scores)), int((~np.isnan(scores)).sum())
    if known:
        order = np.argsort(scores, kind="stable")[:known]  # NaN last
        first, last = tie_ends(scores[order][None])
        ranks[order] = first[0] + last[0] + 2
    return ranks
