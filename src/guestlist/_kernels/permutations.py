"""Permutation tests: the distribution of a statistic when membership labels are exchangeable.

If a model leaks nothing, its members and non-members are exchangeable: the scores would be as likely with permuted labels. So
labels are permuted many times, and a statistic is compared with its values under permutation. The best of many statistics is
compared with the best of them in every permutation (Westfall & Young 1993), which corrects for multiple testing and accounts for
correlation. The test is exact for any sample size, with ties, and for scores with few distinct values.

For very many records, thousands of full permutations take minutes. Then the labels are put in a random order once and shifted
along the records (:class:`CyclicShifts`). Cyclic shifts form a group of permutations, and any such group gives an exact test
(Hemerik & Goeman 2018).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy import fft

from guestlist._kernels.ranks import cached_argsort, tie_runs
from guestlist._kernels.samples import take_columns

CELLS_AT_ONCE = 2**22  # bounds the memory to some tens of megabytes
FEW_POSITIONS = 5000  # more labels are shuffled and scanned by compiled loops with identical results
MOST_CELLS = 2**26  # draws times records; cyclic shifts are used beyond
EXACT = 2**24  # integers up to here are exact in single precision
ROUNDING = 1e-9  # 0.29 * 100 is 28.999999999999996 instead of 29
LONG = 2**22  # steps of all draws together, above which a scan may begin further down
FAR = 6.0  # standard deviations before the rank at which a scan is expected to end


class Permutations(Protocol):
    """Membership labels in several permutations."""

    def sums(self, weights: np.ndarray) -> np.ndarray:
        """(rows, draws) sums over members of (rows, records) integers; exact, so that equal draws give equal sums."""

    def lookup(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Labels, (draws,) starts and (records,) positions.

        In draw d, record i has the label ``labels[starts[d] + positions[i]]``.
        """

    def within(self, records: np.ndarray) -> "Permutations":
        """Restrict the permutations to some of the records."""


@dataclass(frozen=True)
class DensePermutations:
    """Permutations as a matrix (draws, records), true for members."""

    member: np.ndarray

    def sums(self, weights: np.ndarray) -> np.ndarray:
        # Single precision is exact for integers as long as no sum reaches 2**24, and takes half of the time.
        if np.abs(weights).sum(axis=1).max(initial=0) < EXACT:
            return (weights.astype(np.float32) @ self._single.T).astype(np.float64)
        return weights @ self.member.astype(np.float64).T

    @cached_property
    def _single(self) -> np.ndarray:
        return self.member.astype(np.float32)

    def lookup(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        draws, records = self.member.shape
        return np.ravel(self.member), np.arange(draws) * records, np.arange(records)

    def within(self, records: np.ndarray) -> "DensePermutations":
        return DensePermutations(take_columns(self.member, records))


@dataclass(frozen=True)
class CyclicShifts:
    """Labels shifted cyclically along units in a random order, layer by layer.

    All shifts of a layer are summed at once by a Fourier transform.

    Args:
        labels: (layers,) Labels of each layer's units, in that order.
        shifts: (layers, draws) Shift of each draw, in units.
        layer: (records,) Layer of each record's unit.
        position: (records,) Position of that unit in its layer.
    """

    labels: tuple[np.ndarray, ...]
    shifts: np.ndarray
    layer: np.ndarray
    position: np.ndarray

    def sums(self, weights: np.ndarray) -> np.ndarray:
        return np.stack([self._member_counts if (row == 1).all() else self._sum(row) for row in weights])

    def _sum(self, weights: np.ndarray) -> np.ndarray:
        totals = np.zeros(self.shifts.shape[1])
        for number, (labels, shifts) in enumerate(zip(self.labels, self.shifts, strict=True)):
            rows = slice(None) if len(self.labels) == 1 else self.layer == number
            position = self.position[rows]
            if len(position):
                unit_weights = np.bincount(position, weights[rows], minlength=len(labels))
                # Shifting the labels by s is the same as shifting the weights by -s.
                sums = fft.irfft(fft.rfft(unit_weights) * self._conjugates[number], len(labels))
                totals += np.rint(sums[-shifts % len(labels)])
        return totals

    @cached_property
    def _member_counts(self) -> np.ndarray:
        """(draws,) number of records that are members."""
        return self._sum(np.ones(len(self.position)))

    @cached_property
    def _conjugates(self) -> list[np.ndarray]:
        return [np.conj(fft.rfft(labels.astype(np.float64))) for labels in self.labels]

    def lookup(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if len(self.labels) > 1:
            raise ValueError("Expected membership permuted among all records, found several strata.")
        return np.tile(self.labels[0], 2), self.shifts[0], self.position

    def within(self, records: np.ndarray) -> "CyclicShifts":
        return replace(self, layer=self.layer[records], position=self.position[records])


def permutations(
    member: np.ndarray,
    draws: int,
    rng: np.random.Generator,
    *,
    clusters: np.ndarray | None = None,
    strata: np.ndarray | None = None,
) -> Iterator[Permutations]:
    """Permute membership labels; yield blocks of draws.

    Args:
        member: (records,) True for members; their number stays the same in every draw.
        draws: Total number of permutations.
        rng: Random generator.
        clusters: (records,) Person of each record. A person's records with the same label change labels together.
        strata: (records,) Labels are permuted within each stratum; one of a person's records decides for all.
    """
    units = np.arange(len(member)) if clusters is None else 2 * clusters + member
    _, first, unit = np.unique(units, return_index=True, return_inverse=True)
    labels = member[first]
    layers = np.zeros(len(labels), dtype=int) if strata is None else strata[first]
    if needs_shifts(len(member), draws):
        yield _cyclic_shifts(labels, unit, layers, draws, rng)
        return
    positions_of_layer = [np.flatnonzero(layers == layer) for layer in np.unique(layers)]
    step = max(1, CELLS_AT_ONCE // max(len(member), 1))
    for start in range(0, draws, step):
        permuted = np.empty((min(step, draws - start), len(labels)), dtype=bool)
        for positions in positions_of_layer:
            permute_labels(labels[positions], positions, permuted, rng)
        yield DensePermutations(permuted if clusters is None else permuted[:, unit])


def permute_labels(labels: np.ndarray, positions: np.ndarray, out: np.ndarray, rng: np.random.Generator) -> None:
    """Permute labels among positions, independently in every row of ``out`` (draws, all positions).

    Args:
        labels: (positions,) True for members; their number stays the same in every draw.
        positions: Columns of ``out`` that these labels belong to.
        out: (draws, all positions) The columns in ``positions`` are filled.
        rng: Random generator.
    """
    rarer = 2 * labels.sum() <= len(labels)  # Drawing the smaller class is enough.
    drawn = int(labels.sum() if rarer else (~labels).sum())
    uniforms = rng.random((len(out), drawn))
    if len(positions) <= FEW_POSITIONS:
        _partial_shuffle(uniforms, positions, out, bool(rarer))
        return
    from guestlist._kernels.compiled_ranks import partial_shuffle  # imports numba

    partial_shuffle(uniforms, positions.astype(np.int64), out, bool(rarer))


def _partial_shuffle(uniforms: np.ndarray, positions: np.ndarray, out: np.ndarray, label: bool) -> None:
    """Run the first steps of a shuffle (Durstenfeld 1964); each draw starts from the order of the draw before.

    The swaps of all draws are made at once, each from the identity, and then composed draw by draw.
    """
    draws, drawn = uniforms.shape
    size = len(positions)
    swapped = np.repeat(np.arange(size, dtype=np.min_scalar_type(size))[:, None], draws, axis=1)
    every = np.arange(draws)
    for i in range(drawn):
        other = i + (uniforms[:, i] * (size - i)).astype(np.int64)
        kept = swapped[i].copy()
        swapped[i] = swapped[other, every]
        swapped[other, every] = kept
    out[:, positions] = not label
    order = positions
    for d, steps in enumerate(np.ascontiguousarray(swapped.T)):
        order = order[steps]
        out[d, order[:drawn]] = label


def needs_shifts(records: int, draws: int) -> bool:
    """Return True if there are too many records for full permutations."""
    return records * draws > MOST_CELLS


def _cyclic_shifts(
    labels: np.ndarray, unit: np.ndarray, layers: np.ndarray, draws: int, rng: np.random.Generator
) -> CyclicShifts:
    """Draw cyclic shifts of the labels of units, within layers; ``unit`` is the unit of each record."""
    number = np.unique(layers, return_inverse=True)[1]
    layer_labels = []
    shifts = []
    position = np.empty(len(labels), dtype=np.int64)
    order = rng.permutation(len(labels))
    order = order[np.argsort(number[order], kind="stable")]
    for members in np.split(order, np.cumsum(np.bincount(number))[:-1]):
        position[members] = np.arange(len(members))
        layer_labels.append(labels[members])
        shifts.append(rng.integers(len(members), size=draws))
    return CyclicShifts(
        labels=tuple(layer_labels), shifts=np.stack(shifts), layer=number[unit], position=position[unit]
    )


def rank_sum_z_scores(scores: Sequence[np.ndarray] | np.ndarray, *blocks: Permutations) -> np.ndarray:
    """Compute how far members outrank non-members, in standard deviations under permutation.

    The z-score of the rank sum orders permutations as the AUC does, and can be compared between attacks and between groups of
    different sizes.

    Args:
        scores: (rows, records) NaN is ignored.
        blocks: Permutations, in order; scores are ranked once for all of them.

    Returns:
        (rows, draws); 0 where members or non-members are missing, or all scores are equal.
    """
    step = max(1, CELLS_AT_ONCE // max(len(scores[0]), 1))
    return np.concatenate([_z_scores(scores[at : at + step], *blocks) for at in range(0, len(scores), step)])


def _z_scores(scores: Sequence[np.ndarray] | np.ndarray, *blocks: Permutations) -> np.ndarray:
    scored = np.stack([~np.isnan(row) for row in scores])
    ranks = np.stack([_doubled_ranks(row) for row in scores])
    # Sums of integers are exact in any order, so permutations that are equally good compare equal.
    weights = np.vstack([ranks, scored])
    sums, members = np.split(np.hstack([block.sums(weights) for block in blocks]), 2)
    records = scored.sum(axis=1, keepdims=True)
    mean = ranks.sum(axis=1, keepdims=True) / np.maximum(records, 1)
    squares = (np.square(ranks - mean) * scored).sum(axis=1, keepdims=True)
    variance = squares * members * (records - members) / np.maximum(records * (records - 1), 1)
    return np.where(variance > 0, (sums - members * mean) / np.sqrt(np.where(variance > 0, variance, 1)), 0.0)


def permuted_tprs(scores: np.ndarray, block: Permutations, fprs: Sequence[float]) -> np.ndarray:
    """Compute the TPR at each of ``fprs`` in every permutation.

    It is the share of members strictly above the first non-member that exceeds the allowed false positives.

    Args:
        scores: (records,) NaN is ignored.
        block: Permutations of the records.
        fprs: False positive rates.

    Returns:
        (rates, draws); 0 where there are no members.
    """
    scored = ~np.isnan(scores)
    order = cached_argsort(scores)[: scored.sum()][::-1]
    members = block.sums(scored[None].astype(np.float64))[0]
    allowed = np.floor(np.multiply.outer(np.sort(fprs), len(order) - members) + ROUNDING).astype(np.int64)
    starts, sizes = tie_runs(scores[order])
    ties = np.repeat(starts, sizes)  # Ties of the first excess non-member are not above it.
    if isinstance(block, DensePermutations) and len(order) <= FEW_POSITIONS:
        above = _true_positives(block.member, order, ties, allowed)
    else:
        above = _scanned_true_positives(block, order, ties, members, allowed)
    tprs = np.where(members > 0, above / np.maximum(members, 1), 0.0)
    return tprs[np.argsort(np.argsort(fprs))]


def _true_positives(member: np.ndarray, order: np.ndarray, ties: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Count members strictly above the first non-member that exceeds the allowed number of false positives.

    Args:
        member: (draws, records) True for members.
        order: (ranks,) Records from the highest score to the lowest.
        ties: (ranks,) First rank with an equal score.
        allowed: (rates, draws) Allowed false positives.

    Returns:
        (rates, draws) numbers; all members where there are fewer non-members than allowed.
    """
    draws = len(member)
    every = np.arange(draws)
    most = allowed.max(axis=0, initial=0)
    depth = min(len(order), 64 + 2 * int(most.max(initial=0)))
    while True:  # as far down as the highest rate takes in every draw
        nonmembers = np.zeros((draws, depth + 1), dtype=np.int32)  # number among the highest i
        np.cumsum(~take_columns(member, order[:depth]), axis=1, out=nonmembers[:, 1:])
        if depth == len(order) or (nonmembers[:, -1] > most).all():
            break
        depth = min(len(order), 2 * depth)
    counts = np.empty(allowed.shape)
    for limits, above in zip(allowed, counts, strict=True):
        rank = (nonmembers[:, 1:] <= limits[:, None]).sum(axis=1)  # of the first non-member in excess
        exceeded = rank < depth
        first = np.where(exceeded, ties[np.minimum(rank, depth - 1)] if depth else 0, len(order))
        above[:] = first - nonmembers[every, np.minimum(first, depth)]
    return counts


def _scanned_true_positives(
    block: Permutations, order: np.ndarray, ties: np.ndarray, members: np.ndarray, allowed: np.ndarray
) -> np.ndarray:
    """Count the same for many records, with a compiled loop."""
    from guestlist._kernels.compiled_ranks import true_positives_at  # imports numba

    labels, starts, positions = block.lookup()
    begin, false, before = _scan_starts(order, ties, block, members, allowed)
    return true_positives_at(labels.view(np.uint8), starts, positions[order], ties, allowed, begin, false, before)


def _scan_starts(
    order: np.ndarray, ties: np.ndarray, block: Permutations, members: np.ndarray, allowed: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find the ranks at which the scan for each rate may begin, and the counts above them.

    For thousands of draws, a scan down to one in twenty of a million non-members takes minutes, but the numbers above one rank
    are known for all shifts at once. A draw with too many non-members above that rank is scanned from the start.

    Returns:
        (rates,) ranks, 0 where a scan is short or permutations are dense; (rates, draws) non-members above them; and (rates,
        draws) members above the first record that ties with the rank.
    """
    begin = np.zeros(len(allowed), dtype=np.int64)
    false, before = np.zeros((2, *allowed.shape), dtype=np.int64)
    outside = 1 - members.mean() / max(len(order), 1)
    if not isinstance(block, CyclicShifts) or not 0 < outside < 1:
        return begin, false, before
    records = len(block.position)

    def members_above(rank: int) -> np.ndarray:
        top = np.zeros(records)
        top[order[:rank]] = 1.0
        return block.sums(top[None])[0].astype(np.int64)

    for rate, row in enumerate(allowed):
        fewest = float(row.min())
        rank = int((fewest - FAR * np.sqrt(fewest * (1 - outside))) / outside)
        if rank * len(members) > LONG:
            inside = members_above(rank)
            begin[rate] = rank
            false[rate] = rank - inside
            first = int(ties[rank])
            if first == rank:
                before[rate] = inside
            elif first:
                before[rate] = members_above(first)
    return begin, false, before


def max_t_p_values(observed: np.ndarray, permuted: np.ndarray) -> np.ndarray:
    """Compute p-values adjusted for testing all statistics, by the maximum (max-T, Westfall & Young 1993).

    The observed value counts as one of the draws.

    Args:
        observed: (statistics,) observed values.
        permuted: (statistics, draws) values under permutation.
    """
    largest = permuted.max(axis=0)
    return (1 + (largest >= observed[:, None]).sum(axis=1)) / (1 + len(largest))


def permutation_p_values(observed: np.ndarray, permuted: np.ndarray) -> np.ndarray:
    """Compute the p-value of each observed value, and of each draw as if it were observed.

    The observed value counts as one of the draws.

    Args:
        observed: (statistics,) observed values.
        permuted: (statistics, draws) values under permutation.

    Returns:
        (statistics, 1 + draws).
    """
    values = np.column_stack([observed, permuted])
    smaller = np.stack([np.searchsorted(np.sort(row), row, "left") for row in values])
    return (values.shape[1] - smaller) / values.shape[1]


def min_p_values(p_values: np.ndarray, weights: np.ndarray | float = 1.0) -> np.ndarray:
    """Adjust the p-values of the observed values for testing all statistics (min-P, Westfall & Young 1993).

    Unlike :func:`max_t_p_values` it suits statistics in different units, such as an AUC and a TPR.

    Args:
        p_values: (statistics, 1 + draws) from :func:`permutation_p_values`.
        weights: (statistics,) Statistics with a larger weight get a larger part of the error.

    Returns:
        (statistics,) adjusted p-values.
    """
    weighted = p_values / np.reshape(weights, (-1, 1))
    return (weighted.min(axis=0) <= weighted[:, :1]).mean(axis=1)


def _doubled_ranks(scores: np.ndarray) -> np.ndarray:
    """Return twice the mid-ranks, which are integers, in the order of the scores; 0 for NaN."""
    ranks = np.zeros(len(scores))
    known = int((~np.isnan(scores)).sum())
    order = cached_argsort(scores)[:known]  # NaN last
    starts, sizes = tie_runs(scores[order])
    ranks[order] = np.repeat(2 * starts + sizes + 1, sizes)  # ranks from 1
    return ranks
