"""The privacy risk score: how likely a record is a member, given what the target says about it and its class.

Within a class, members and non-members of models whose truth is known fall into the bins of a histogram of the modified
entropy; a record's score is the posterior probability of membership in its bin (Song & Mittal 2021, section 5).

Edges are powers of ten, so that the outermost may be a rounding error away from the smallest and the largest value they are
made from, and ``numpy.histogram`` then leaves these two out. Which ones it leaves out hangs on the last bit of the values: on
the published Location30 answers, summing the entropies in another order changes the scores of dozens of records. So here all
values count; ``Histogram(every=False)`` leaves out what rounding leaves out, as a plain use of numpy does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from guestlist.arrays.samples import rows_by_label
from guestlist.case import PRIOR, Case
from guestlist.views.lazily import read_only

SMALLEST = 1e-10  # what smaller values count as: 0 has no logarithm


@dataclass(frozen=True)
class Histogram:
    """Bins of equal width in the logarithm, between the smallest and the largest value of a class.

    Args:
        bins: how many.
        every: whether values count that rounding puts outside the edges.
    """

    bins: int = 5
    every: bool = True

    def __post_init__(self) -> None:
        if self.bins < 1:
            raise ValueError(f"Expected bins={self.bins} to be at least 1.")

    def edges(self, values: np.ndarray) -> np.ndarray:
        """(bins + 1,) from (values,) of at least ``SMALLEST``."""
        low, high = values.min(), values.max()
        edges = np.logspace(np.log10(low), np.log10(high), self.bins + 1)
        if self.every:
            edges = np.clip(edges, low, high)
            edges[0], edges[-1] = low, high
        return edges


HISTOGRAM = Histogram()


@dataclass(frozen=True)
class Known:
    """Values of models whose members are known, and the truth, on some of the records.

    Args:
        values, member: (models, records) a value that is NaN is left out.
        records: which count.
    """

    values: np.ndarray
    member: np.ndarray
    records: np.ndarray

    def count_and_range(self) -> tuple[np.ndarray, np.ndarray]:
        """(2,) how many members and non-members there are, and (2,) their smallest and largest value."""
        from guestlist.arrays.binning import count_and_range  # imports numba

        sizes, ends = np.zeros(2, dtype=np.int64), np.array([np.inf, -np.inf])
        count_and_range(read_only(self.values), read_only(self.member), self.records, sizes, ends)
        return sizes, ends

    def counts(self, edges: np.ndarray) -> np.ndarray:
        """(2, bins) members and non-members in each bin, as ``np.histogram`` counts them."""
        from guestlist.arrays.binning import count_in_bins  # imports numba

        found = np.zeros((2, len(edges) - 1), dtype=np.int64)
        count_in_bins(read_only(self.values), read_only(self.member), self.records, edges, SMALLEST, found)
        return found


def risk_score(
    values: np.ndarray,
    labels: np.ndarray,
    *,
    known_values: np.ndarray,
    known_labels: np.ndarray,
    known_member: np.ndarray,
    prior: float = PRIOR,
    histogram: Histogram = HISTOGRAM,
) -> np.ndarray:
    """Probability that each record is a member (Song & Mittal 2021, section 5), class by class.

    A value outside the histogram of its class takes the bin at the end, and one in an empty bin the nearest that is not,
    lower first. A class of which only members or only non-members are known takes the histogram of all classes.

    Args:
        values: (records,) modified entropies that the target gives, or another signal above 0.
        labels: (records,) classes.
        known_values, known_labels, known_member: (known,) the same of models whose members are known, and the truth.
        prior: share of members among the people an attacker asks about.

    Returns:
        (records,) in [0, 1]; NaN where a record has no value, or where there are no known members or non-members.

    >>> known = {"known_values": np.array([0.1, 0.1, 1.0, 1.0]), "known_labels": np.zeros(4, int)}
    >>> risk_score(np.array([0.05, 2.0]), np.zeros(2, int), known_member=np.array([True, True, True, False]), **known)
    array([1.  , 0.25])
    """
    if not 0 < prior < 1:
        raise ValueError(f"Expected prior={prior} in (0, 1).")
    known_values, known_member = np.asarray(known_values, dtype=np.float64), np.asarray(known_member, dtype=bool)
    classes, codes = np.unique(labels, return_inverse=True)
    numbers = np.searchsorted(classes, known_labels).clip(max=max(len(classes) - 1, 0))
    numbers = np.where(classes[numbers] == known_labels, numbers, -1) if len(classes) else numbers
    of_class = {int(numbers[rows[0]]): rows for rows in rows_by_label(numbers)}
    nobody, everybody = np.arange(0), np.arange(len(known_values))

    def known_of(records: np.ndarray | None) -> Known:
        rows = everybody if records is None else of_class.get(int(codes[records[0]]), nobody)
        return Known(known_values[None], known_member[None], rows)

    return _class_by_class(values, codes, known_of, prior, histogram)


def _class_by_class(
    values: np.ndarray,
    codes: np.ndarray,
    known_of: Callable[[np.ndarray | None], Known],
    prior: float,
    histogram: Histogram = HISTOGRAM,
) -> np.ndarray:
    """The same with what is known of the class of some records, or of all classes, asked for when its turn comes."""
    values = np.asarray(values, dtype=np.float64)
    scores = np.full(len(values), np.nan)
    every = cache(lambda: _of_bins(known_of(None), prior, histogram))
    for records in rows_by_label(codes):
        bins = _of_bins(known_of(records), prior, histogram) or every()
        if bins is not None:
            edges, of_bin = bins
            asked = records[~np.isnan(values[records])]
            scores[asked] = of_bin[
                np.clip(np.searchsorted(edges, values[asked], side="right") - 1, 0, histogram.bins - 1)
            ]
    return scores


def _of_bins(known: Known, prior: float, histogram: Histogram) -> tuple[np.ndarray, np.ndarray] | None:
    """Edges of bins, and (bins,) probabilities of membership, from known values of one class; None where they are of one kind."""
    sizes, ends = known.count_and_range()
    if not sizes.all():
        return None
    edges = histogram.edges(np.maximum(ends, SMALLEST))
    inside, outside = known.counts(edges) / sizes[:, None]
    there = np.flatnonzero(inside + outside > 0)
    if not len(there):  # rounding has left out all that is known
        return edges, np.full(histogram.bins, np.nan)
    # argmin takes the first of equals: of two bins equally near, the lower one.
    nearest = there[np.abs(there - np.arange(histogram.bins)[:, None]).argmin(axis=1)]
    return edges, prior * inside[nearest] / (prior * inside[nearest] + (1 - prior) * outside[nearest])


def from_references(case: Case) -> np.ndarray:
    """Return (records,) the score fitted on references; NaN where the target was not queried."""
    said, member, everybody = case.view.reference("mentr"), case.view.reference_member, np.arange(len(case.records))

    def known_of(records: np.ndarray | None) -> Known:
        return Known(said, member, everybody if records is None else records)

    return _class_by_class(case.view.target("mentr"), case.view.labels, known_of, case.prior)


def from_target(case: Case) -> np.ndarray:
    """Return (records,) the score fitted on the target with the ground truth: an upper bound; NaN if not evaluated."""
    said, labels, asked = case.view.target("mentr"), case.view.labels, case.truth.evaluated
    known = asked & ~np.isnan(said)
    return risk_score(
        np.where(asked, said, np.nan),
        labels,
        known_values=said[known],
        known_labels=labels[known],
        known_member=case.truth.member[known],
        prior=case.prior,
    )
