"""Membership drawn anew: what chance alone gives where members and non-members do not differ.

If a model gives nothing away, its members and non-members are exchangeable: the scores would be as likely had the two
sides been dealt out otherwise. So the sides are dealt out again and again, and a figure is judged by how often it would
have been as large. The best of many figures is judged by the best of them in every deal (Westfall & Young 1993), which
pays for their number and takes into account that they resemble each other. It is exact for any sample size, with ties,
and for scores of few values.

For very many records, thousands of full permutations take minutes. Then the labels are put in a random order once and shifted
along the records (:class:`CyclicShifts`). Cyclic shifts form a group of permutations, and any such group gives an exact test
(Hemerik & Goeman 2018).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy import fft

from guestlist.arrays.columns import take_columns
from guestlist.arrays.orders import cached_argsort
from guestlist.arrays.ranks import tie_ends

CELLS_AT_ONCE = 2**22  # bounds the memory to some tens of megabytes
MOST_CELLS = 2**26  # draws times records; shifts beyond
EXACT = 2**24  # whole numbers up to here are exact in single precision
ROUNDING = 1e-9  # 0.29 * 100 is 28.999999999999996, and means 29
LONG = 2**22  # steps of all draws together, down to where a walk may begin instead
FAR = 6.0  # standard deviations before the rank at which a walk is expected to end


class Permutations(Protocol):
    """Who might have been a member, in several draws."""

    def sums(self, weights: np.ndarray) -> np.ndarray:
        """(figures, draws) sums over members of (figures, records) whole numbers: exact, so that equal deals are found equal."""

    def places(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sides, (draws,) starts and (records,) places: in draw d, record i is on the side ``sides[starts[d] + places[i]]``."""

    def within(self, records: np.ndarray) -> Permutations:
        """The same draws of some of the records."""


@dataclass(frozen=True)
class DensePermutations:
    """Each draw written down: (draws, records), true for members."""

    member: np.ndarray

    def sums(self, weights: np.ndarray) -> np.ndarray:
        # Single precision adds whole numbers up exactly, as long as no sum reaches 2**24; it takes half of the time.
        single = np.abs(weights).sum(axis=1).max(initial=0) < EXACT
        return (weights.astype(np.float32) @ self._single.T).astype(np.float64) if single else weights @ self._double.T

    @cached_property
    def _single(self) -> np.ndarray:
        return self.member.astype(np.float32)

    @property
    def _double(self) -> np.ndarray:
        return self.member.astype(np.float64)

    def places(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        draws, records = self.member.shape
        return np.ravel(self.member), np.arange(draws) * records, np.arange(records)

    def within(self, records: np.ndarray) -> DensePermutations:
        return DensePermutations(take_columns(self.member, records))


@dataclass(frozen=True)
class CyclicShifts:
    """Sides shifted along units that stand in an order drawn at random, layer by layer.

    All shifts of a layer are summed up at once, by Fourier's transform.

    Args:
        sides: (layers,) the sides of each layer's units, in that order.
        shifts: (layers, draws) by how many units.
        layer: (records,) to which a record's unit belongs.
        place: (records,) where it stands in its layer.
    """

    sides: tuple[np.ndarray, ...]
    shifts: np.ndarray
    layer: np.ndarray
    place: np.ndarray

    def sums(self, weights: np.ndarray) -> np.ndarray:
        return np.stack([self._of_all if (row == 1).all() else self._sum(row) for row in weights])

    def _sum(self, weights: np.ndarray) -> np.ndarray:
        found = np.zeros(self.shifts.shape[1])
        for number, (side, shift) in enumerate(zip(self.sides, self.shifts, strict=True)):
            here = slice(None) if len(self.sides) == 1 else self.layer == number
            place = self.place[here]
            if len(place):
                each = np.bincount(place, weights[here], minlength=len(side))
                # Shifting sides by s is shifting what they are multiplied with by -s.
                every = fft.irfft(fft.rfft(each) * self._turned[number], len(side))
                found += np.rint(every[-shift % len(side)])
        return found

    @cached_property
    def _of_all(self) -> np.ndarray:
        """(draws,) how many of the records are members."""
        return self._sum(np.ones(len(self.place)))

    @cached_property
    def _turned(self) -> list[np.ndarray]:
        return [np.conj(fft.rfft(side.astype(np.float64))) for side in self.sides]

    def places(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if len(self.sides) > 1:
            raise ValueError("Expected sides that are dealt out among all records at once, found several layers.")
        return np.tile(self.sides[0], 2), self.shifts[0], self.place

    def within(self, records: np.ndarray) -> CyclicShifts:
        return replace(self, layer=self.layer[records], place=self.place[records])


def permutations(
    member: np.ndarray,
    draws: int,
    rng: np.random.Generator,
    *,
    clusters: np.ndarray | None = None,
    strata: np.ndarray | None = None,
) -> Iterator[Permutations]:
    """Who might have been a member, with as many on either side: blocks of draws.

    Args:
        member: (records,) the truth.
        draws: how many in all.
        clusters: (records,) whose record it is. The records that a person has on one side change sides together.
        strata: (records,) sides are dealt out within each of these; one of a person's records stands for all.
    """
    units = np.arange(len(member)) if clusters is None else 2 * clusters + member
    _, first, unit = np.unique(units, return_index=True, return_inverse=True)
    side = member[first]
    layers = np.zeros(len(side), dtype=int) if strata is None else strata[first]
    if needs_shifts(len(member), draws):
        yield _shifts(side, unit, layers, draws, rng)
        return
    from guestlist.arrays.dealing import permute_labels  # imports numba

    places = [np.flatnonzero(layers == layer) for layer in np.unique(layers)]
    step = max(1, CELLS_AT_ONCE // max(len(member), 1))
    for start in range(0, draws, step):
        dealt = np.empty((min(step, draws - start), len(side)), dtype=bool)
        for place in places:
            permute_labels(side[place], place, dealt, rng)
        yield DensePermutations(dealt if clusters is None else dealt[:, unit])


def needs_shifts(records: int, draws: int) -> bool:
    """Whether there are too many records to deal out anew so often."""
    return records * draws > MOST_CELLS


def _shifts(
    side: np.ndarray, unit: np.ndarray, layers: np.ndarray, draws: int, rng: np.random.Generator
) -> CyclicShifts:
    """Shifts of the sides of units, which belong to layers; ``unit`` is that of each record."""
    number = np.unique(layers, return_inverse=True)[1]
    sides, shifts, place = [], [], np.empty(len(side), dtype=np.int64)
    order = rng.permutation(len(side))
    order = order[np.argsort(number[order], kind="stable")]
    for own in np.split(order, np.cumsum(np.bincount(number))[:-1]):
        place[own] = np.arange(len(own))
        sides.append(side[own])
        shifts.append(rng.integers(len(own), size=draws))
    return CyclicShifts(tuple(sides), np.stack(shifts), number[unit], place[unit])


def rank_sum_z_scores(scores: Sequence[np.ndarray] | np.ndarray, *deals: Permutations) -> np.ndarray:
    """(figures, draws) by how much members outrank non-members, in standard deviations of what chance gives.

    It orders the deals as the AUC does, and can be compared between attacks and between groups of other sizes.

    Args:
        scores: (figures, records) NaN is left out.
        deals: the draws of all of them, in their order; scores are ranked once for all.

    Returns:
        0 where nothing can be told: one side is empty, or all scores are equal.
    """
    step = max(1, CELLS_AT_ONCE // max(len(scores[0]), 1))
    return np.concatenate([_rank_gaps(scores[at : at + step], *deals) for at in range(0, len(scores), step)])


def _rank_gaps(scores: Sequence[np.ndarray] | np.ndarray, *deals: Permutations) -> np.ndarray:
    scored = np.stack([~np.isnan(row) for row in scores])
    ranks = np.stack([_doubled_ranks(row) for row in scores])
    # Whole numbers add up exactly, in whatever order: deals that are equally good must be found equal.
    weights = np.vstack([ranks, scored])
    sums, members = np.split(np.hstack([one.sums(weights) for one in deals]), 2)
    records = scored.sum(axis=1, keepdims=True)
    mean = ranks.sum(axis=1, keepdims=True) / np.maximum(records, 1)
    squares = (np.square(ranks - mean) * scored).sum(axis=1, keepdims=True)
    spread = squares * members * (records - members) / np.maximum(records * (records - 1), 1)
    return np.where(spread > 0, (sums - members * mean) / np.sqrt(np.where(spread > 0, spread, 1)), 0.0)


def permuted_tprs(scores: np.ndarray, deals: Permutations, fprs: Sequence[float]) -> np.ndarray:
    """(rates, draws) share of members strictly above the non-member that would be one too many at each of ``fprs``.

    Args:
        scores: (records,) NaN is left out.

    Returns:
        0 where there are no members.
    """
    from guestlist.arrays.walks import true_positives_at  # imports numba

    scored = ~np.isnan(scores)
    order = cached_argsort(scores)[: scored.sum()][::-1]
    members = deals.sums(scored[None].astype(np.float64))[0]
    allowed = np.floor(np.multiply.outer(np.sort(fprs), len(order) - members) + ROUNDING).astype(np.int64)
    sides, starts, places = deals.places()
    ties = tie_ends(-scores[order][None])[0][0]  # those of the non-member that is one too many are not above it
    begin, false, before = _beginnings(order, ties, deals, members, allowed)
    above = true_positives_at(sides.view(np.uint8), starts, places[order], ties, allowed, begin, false, before)
    found = np.where(members > 0, above / np.maximum(members, 1), 0.0)
    return found[np.argsort(np.argsort(fprs))]


def _beginnings(
    order: np.ndarray, ties: np.ndarray, deals: Permutations, members: np.ndarray, allowed: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where the walk to each rate may begin: (rates,) ranks, and (rates, draws) of what was passed by then.

    To walk down to one non-member in twenty of a million takes minutes for thousands of draws; how many there are above a rank
    all shifts tell at once. A draw in which they are too many already walks from the start.

    Returns:
        The ranks, 0 where a walk is short or draws are written down; non-members above them; and members above the first of
        those that tie with the rank.
    """
    begin, (false, before) = np.zeros(len(allowed), dtype=np.int64), np.zeros((2, *allowed.shape), dtype=np.int64)
    outside = 1 - members.mean() / max(len(order), 1)
    if not isinstance(deals, CyclicShifts) or not 0 < outside < 1:
        return begin, false, before
    records = len(deals.place)

    def members_above(rank: int) -> np.ndarray:
        top = np.zeros(records)
        top[order[:rank]] = 1.0
        return deals.sums(top[None])[0].astype(np.int64)

    for rate, row in enumerate(allowed):
        fewest = float(row.min())
        rank = int((fewest - FAR * np.sqrt(fewest * (1 - outside))) / outside)
        if rank * len(members) > LONG:
            begin[rate], inside = rank, members_above(rank)
            false[rate], first = rank - inside, int(ties[rank])
            before[rate] = inside if first == rank else members_above(first) if first else 0
    return begin, false, before


def max_t_p_values(found: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """(figures,) chance that the best of all these figures is as large as each, the one that was found counted in.

    Args:
        found: (figures,).
        drawn: (figures, draws) what chance gives.
    """
    best = drawn.max(axis=0)
    return (1 + (best >= found[:, None]).sum(axis=1)) / (1 + len(best))


def permutation_p_values(found: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """(figures, 1 + draws) p-value of each observed value, and of each draw in its place.

    The observed value counts as one of the draws.

    Args:
        found: (figures,) observed values.
        drawn: (figures, draws) values under permutation.
    """
    every = np.column_stack([found, drawn])
    smaller = np.stack([np.searchsorted(np.sort(row), row, "left") for row in every])
    return (every.shape[1] - smaller) / every.shape[1]


def min_p_values(p_values: np.ndarray, weights: np.ndarray | float = 1.0) -> np.ndarray:
    """(figures,) p-values of the observed values, adjusted for testing all figures (min-P, Westfall & Young 1993).

    Unlike :func:`max_t_p_values` it suits figures in different units, such as an AUC and a TPR.

    Args:
        p_values: (figures, 1 + draws) from :func:`permutation_p_values`.
        weights: (figures,) those with a larger weight get a larger part of the error.
    """
    weighted = p_values / np.reshape(weights, (-1, 1))
    return (weighted.min(axis=0) <= weighted[:, :1]).mean(axis=1)


def _doubled_ranks(scores: np.ndarray) -> np.ndarray:
    """Twice the mid-ranks, which are whole numbers, in the order of the scores; 0 for NaN."""
    from guestlist.arrays.rank_sums import fill_doubled_ranks  # imports numba

    ranks, known = np.zeros(len(scores)), int((~np.isnan(scores)).sum())
    fill_doubled_ranks(scores, cached_argsort(scores)[:known], ranks)  # NaN last
    return ranks
