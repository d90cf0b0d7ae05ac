"""Squared distances in blocks over threads."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import groupby, islice
from typing import NamedTuple

import numba
import numpy as np
from threadpoolctl import ThreadpoolController

BLOCK_BYTES = 16 * 2**20
FEWEST_ROWS = 32  # a matrix product of fewer rows is slow

Progress = Callable[[Sequence], Iterable]


def split_blocks(tests: int, n: int, itemsize: int = 8) -> list[slice]:
    """Split the test records into slices whose distances to ``n`` records fill about ``BLOCK_BYTES``."""
    rows = max(BLOCK_BYTES // (n * itemsize), FEWEST_ROWS)
    return [slice(start, min(start + rows, tests)) for start in range(0, tests, rows)]


def map_in_order(work: Callable, blocks: Sequence, n_jobs: int, progress: Progress | None) -> Iterator:
    """Yield ``work(block)`` for each block, in order; ``n_jobs`` threads run a few blocks ahead."""
    # BLAS would start its own threads inside each of these threads.
    with _blas().limit(limits=1, user_api="blas"):
        tracked = progress(blocks) if progress else blocks
        if n_jobs == 1:
            yield from map(work, tracked)
            return
        with ThreadPoolExecutor(n_jobs) as threads:
            waiting = iter(blocks)
            ahead = deque(threads.submit(work, block) for block in islice(waiting, 2 * n_jobs))
            for _ in tracked:
                result = ahead.popleft().result()
                ahead.extend(threads.submit(work, block) for block in islice(waiting, 1))
                yield result


@cache
def _blas() -> ThreadpoolController:
    """Return the BLAS controller, cached: finding the libraries takes milliseconds, longer than a small problem."""
    return ThreadpoolController()


class Buffers(threading.local):
    """Scratch matrices, one per thread, that grow to the largest requested shape."""

    def __init__(self):
        self.flat = np.empty(0, dtype=np.uint8)

    def matrix(self, rows: int, columns: int, dtype) -> np.ndarray:
        size = rows * columns * np.dtype(dtype).itemsize
        if self.flat.size < size:
            self.flat = np.empty(size, dtype=np.uint8)
        return self.flat[:size].view(dtype).reshape(rows, columns)


def label_runs(codes: np.ndarray) -> Iterator[tuple[int, slice]]:
    """Yield each run of equal codes, with its code."""
    start = 0
    for code, members in groupby(codes.tolist()):
        stop = start + sum(1 for _ in members)
        yield code, slice(start, stop)
        start = stop


DIRECT_FEATURES = {"exact": 32, "fast": 12}  # with more features a matrix product is faster
COLUMNS_PER_TILE = 512


class Distances(NamedTuple):
    """Distances to fixed training records: ``fill(tests, out)`` writes them to ``out``, (tests, n).

    The caller allocates ``out``, of ``dtype``, and should reuse it: new memory pages cost more than the arithmetic.
    If distances come from a matrix product, they lack a constant per test record, and ``distinct`` numbers the
    records so that equal records share a number; otherwise it is None.
    """

    fill: Callable[[np.ndarray, np.ndarray], None]
    dtype: type
    distinct: np.ndarray | None


def squared_distances(x: np.ndarray, *, precision: str = "exact") -> Distances:
    """Return squared distances to the training records ``x``, (n, features) in float64.

    ``precision`` is "exact" (float64) or "fast" (a float32 matrix product).
    """
    dtype = np.float64 if precision == "exact" else np.float32
    return (_direct if x.shape[1] <= DIRECT_FEATURES[precision] else _product)(x, dtype)


def canonical_order(x: np.ndarray) -> np.ndarray:
    """Return (n,) an order of the records that depends only on their contents; equal records are adjacent."""
    # -0.0 becomes 0.0, so that equal numbers have equal bytes. The first eight bytes of a record usually suffice.
    leading = (x[:, 0] + 0.0).view(">u8").astype(np.uint64)
    order = np.argsort(leading, kind="stable")
    if (np.diff(leading[order]) > 0).all():
        return order
    rows = np.ascontiguousarray(x + 0.0)
    return np.argsort(rows.view(np.dtype((np.void, rows.shape[1] * rows.itemsize)))[:, 0], kind="stable")


@numba.njit(nogil=True, cache=True)
def zero_self_distances(out, self_rows, distinct):
    """Set distances from a product to 0 where test t, which is record ``self_rows[t]``, meets records equal to it."""
    tiny = np.finfo(out.dtype).tiny
    for t in range(len(out)):
        zero = out[t, self_rows[t]]
        equal = distinct[self_rows[t]]
        for i in range(out.shape[1]):
            out[t, i] = 0 if distinct[i] == equal else max(out[t, i] - zero, tiny)


def _direct(x: np.ndarray, dtype: type) -> Distances:
    # In float64 the data are not centred: subtracting the centre could only add rounding errors.
    centre = _coarse_centre(x) if dtype == np.float32 else 0.0
    columns: np.ndarray = np.ascontiguousarray((x - centre).T, dtype=dtype)

    def fill(tests: np.ndarray, out: np.ndarray) -> None:
        _sum_squares(columns, np.ascontiguousarray(tests - centre, dtype=dtype), out)

    return Distances(fill, dtype, None)


def _product(x: np.ndarray, dtype: type) -> Distances:
    """Return distances |x - t|² - |t|², the product of (x, |x|²) and (-2t, 1); |t|² is the same for all records."""
    distinct, of_record = distinct_records(x)
    centre = _coarse_centre(x)
    distinct = distinct - centre
    squares = np.einsum("ij,ij->i", distinct, distinct)
    columns: np.ndarray = np.ascontiguousarray(np.column_stack([distinct, squares]).astype(dtype).T)

    def fill(tests: np.ndarray, out: np.ndarray) -> None:
        factors: np.ndarray = np.column_stack([-2 * (tests - centre), np.ones(len(tests))]).astype(dtype)
        if len(distinct) == len(x):
            np.matmul(factors, columns, out=out)
        else:
            np.take(factors @ columns, of_record, axis=1, out=out, mode="clip")  # mode "clip" needs no buffer

    return Distances(fill, dtype, of_record)


def distinct_records(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct records and (n,) the index of each record among them; ``x`` itself if it has no repeats."""
    if len(np.unique(x[:, 0])) == len(x):
        return x, np.arange(len(x))
    order = canonical_order(x)
    new = np.append(True, (x[order[1:]] != x[order[:-1]]).any(axis=1))
    if new.all():
        return x, np.arange(len(x))
    of_record = np.empty(len(x), dtype=np.intp)
    of_record[order] = np.cumsum(new) - 1
    return x[order[new]], of_record


def _coarse_centre(x: np.ndarray) -> np.ndarray:
    """Return the mean, rounded to the power of two below the standard deviation: close enough, and short in binary."""
    deviation = x.std(axis=0)
    step = np.exp2(np.floor(np.log2(np.where(deviation > 0, deviation, 1.0))))
    return np.where(deviation > 0, np.round(x.mean(axis=0) / step) * step, x[0])


@numba.njit(nogil=True, cache=True)
def _sum_squares(columns, tests, out):
    """Fill ``out`` (tests, n) in tiles that stay in the first-level cache, four features at a time.

    Every pair sums its features in the same order, and no operation is fused or reordered, so that equal records have
    bitwise equal distances.
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
