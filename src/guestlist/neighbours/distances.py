"""Squared distances from blocks of test records to all training records, with equal distances kept equal.

Only the order of distances matters to a K-NN value, and equal distances must compare equal, so the last bit
counts. The ways to compute them:

* directly, for few features: the sum runs over the features in one order for every pair, so that equal
  records get equal bits wherever they stand;
* as a matrix product, for many features: several times faster there. A product may round one record
  differently in different columns, so it is taken over the *distinct* records;
* either in float32 (``precision="fast"``): distances that agree to six digits or so may swap or tie.

Before a product the data are centred, or a large mean would drown the differences. The centre is rounded
to a coarse binary grid: data on a grid of their own (counts, one-hot columns) stay on it, and their products
and ties stay exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numba
import numpy as np

DIRECT_FEATURES = {"exact": 32, "fast": 12}  # beyond them a product is faster
COLUMNS_PER_TILE = 512


class Distances(NamedTuple):
    """Distances to fixed training records: ``fill(tests, out)`` writes them to ``out``, (tests, n).

    The caller owns ``out``, of ``dtype``, and should use it again: fresh pages would cost more than the
    arithmetic. Where a product is taken, a constant per test record is left out, and ``distinct`` numbers
    the records so that equal ones share a number; else it is None.
    """

    fill: Callable[[np.ndarray, np.ndarray], None]
    dtype: type
    distinct: np.ndarray | None


def squared_distances(x: np.ndarray, *, precision: str = "exact") -> Distances:
    """Squared distances to the training records ``x``, (n, features) in float64.

    ``precision`` is "exact" (float64) or "fast" (a float32 matrix product).
    """
    dtype = np.float64 if precision == "exact" else np.float32
    return (_direct if x.shape[1] <= DIRECT_FEATURES[precision] else _product)(x, dtype)


def canonical_order(x: np.ndarray) -> np.ndarray:
    """(n,) an order of the records that depends on their contents alone; equal records stand together."""
    rows = np.ascontiguousarray(x + 0.0)  # -0.0 becomes 0.0: equal numbers, equal bytes
    return np.argsort(rows.view(np.dtype((np.void, rows.shape[1] * rows.itemsize)))[:, 0], kind="stable")


@numba.njit(nogil=True, cache=True)
def zero_self_distances(out, self_rows, distinct):
    """After a product: test t is record ``own[t]``, at distance 0 from its equals and nothing else."""
    tiny = np.finfo(out.dtype).tiny
    for t in range(len(out)):
        zero = out[t, self_rows[t]]
        equal = distinct[self_rows[t]]
        for i in range(out.shape[1]):
            out[t, i] = 0 if distinct[i] == equal else max(out[t, i] - zero, tiny)


def _direct(x: np.ndarray, dtype: type) -> Distances:
    # In float64 the centre is left alone: subtracting it could only round.
    centre = _coarse_centre(x) if dtype == np.float32 else 0.0
    columns: np.ndarray = np.ascontiguousarray((x - centre).T, dtype=dtype)

    def fill(tests: np.ndarray, out: np.ndarray) -> None:
        _sum_squares(columns, np.ascontiguousarray(tests - centre, dtype=dtype), out)

    return Distances(fill, dtype, None)


def _product(x: np.ndarray, dtype: type) -> Distances:
    """|x - t|² less |t|², which is the same for all records: the product of (x, |x|²) and (-2t, 1)."""
    distinct, of_record = distinct_records(x)
    centre = _coarse_centre(x)
    distinct = distinct - centre
    squares = np.einsum("ij,ij->i", distinct, distinct)
    columns: np.ndarray = np.ascontiguousarray(np.column_stack([distinct, squares]).T, dtype=dtype)

    def fill(tests: np.ndarray, out: np.ndarray) -> None:
        factors: np.ndarray = np.column_stack([-2 * (tests - centre), np.ones(len(tests))]).astype(dtype)
        if len(distinct) == len(x):
            np.matmul(factors, columns, out=out)
        else:
            np.take(factors @ columns, of_record, axis=1, out=out, mode="clip")  # clip: without a buffer

    return Distances(fill, dtype, of_record)


def distinct_records(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct records, and (n,) which of them each record is; ``x`` itself if it has no repeats."""
    order = canonical_order(x)
    new = np.append(True, (x[order[1:]] != x[order[:-1]]).any(axis=1))
    if new.all():
        return x, np.arange(len(x))
    of_record = np.empty(len(x), dtype=np.intp)
    of_record[order] = np.cumsum(new) - 1
    return x[order[new]], of_record


def _coarse_centre(x: np.ndarray) -> np.ndarray:
    """The mean, rounded to the power of two below the spread: close enough, and short in binary."""
    deviation = x.std(axis=0)
    step = np.exp2(np.floor(np.log2(np.where(deviation > 0, deviation, 1.0))))
    return np.where(deviation > 0, np.round(x.mean(axis=0) / step) * step, x[0])


@numba.njit(nogil=True, cache=True)
def _sum_squares(columns, tests, out):
    """Fill ``out`` (tests, n) in tiles that stay in the first-level cache, four features at a time.

    Every pair adds its features up in the same order, and nothing is fused or reordered: equal records,
    equal bits.
    """
    features, n = columns.shape
    fours = features - features % 4
    for start in range(0, n, COLUMNS_PER_TILE):
        stop = min(start + COLUMNS_PER_TILE, n)
        for t in range(len(tests)):
            row = out[t, start:stop]
            row[:] = 0.0
            for f in range(0, fours, 4):
                a = columns[f, start:stop]
                b = columns[f + 1, start:stop]
                c = columns[f + 2, start:stop]
                d = columns[f + 3, start:stop]
                at_a = tests[t, f]
                at_b = tests[t, f + 1]
                at_c = tests[t, f + 2]
                at_d = tests[t, f + 3]
                for i in range(stop - start):
                    in_a = a[i] - at_a
                    in_b = b[i] - at_b
                    in_c = c[i] - at_c
                    in_d = d[i] - at_d
                    row[i] = (((row[i] + in_a * in_a) + in_b * in_b) + in_c * in_c) + in_d * in_d
            for f in range(fours, features):
                a = columns[f, start:stop]
                at_a = tests[t, f]
                for i in range(stop - start):
                    row[i] += (a[i] - at_a) * (a[i] - at_a)
