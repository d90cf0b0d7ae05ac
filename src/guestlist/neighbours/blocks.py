"""Blocks of test records over threads: distances first, then a kernel, on reused memory.

The kernels release Python's lock, so threads are enough. Blocks do not depend on the number of threads, and results are returned
in order: sums are bitwise identical for any ``n_jobs``.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import groupby, islice

import numpy as np
from threadpoolctl import ThreadpoolController

BLOCK_BYTES = 16 * 2**20
FEWEST_ROWS = 32  # below it a matrix product loses its speed

Progress = Callable[[Sequence], Iterable]


def split_blocks(tests: int, n: int, itemsize: int = 8) -> list[slice]:
    """Slices of the test records whose distances to ``n`` records fill about ``BLOCK_BYTES``."""
    rows = max(BLOCK_BYTES // (n * itemsize), FEWEST_ROWS)
    return [slice(start, min(start + rows, tests)) for start in range(0, tests, rows)]


def map_in_order(work: Callable, blocks: Sequence, n_jobs: int, progress: Progress | None) -> Iterator:
    """``work(block)`` for each block, in order, by ``n_jobs`` threads that run a few blocks ahead."""
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
    """Looking for the BLAS libraries takes milliseconds, longer than a small problem."""
    return ThreadpoolController()


class Buffers(threading.local):
    """Scratch matrices, one per thread, that grow to the largest shape asked for."""

    def __init__(self):
        self.flat = np.empty(0, dtype=np.uint8)

    def matrix(self, rows: int, columns: int, dtype) -> np.ndarray:
        size = rows * columns * np.dtype(dtype).itemsize
        if self.flat.size < size:
            self.flat = np.empty(size, dtype=np.uint8)
        return self.flat[:size].view(dtype).reshape(rows, columns)


def label_runs(codes: np.ndarray) -> Iterator[tuple[int, slice]]:
    """Each run of equal codes, with its code."""
    start = 0
    for code, members in groupby(codes.tolist()):
        stop = start + sum(1 for _ in members)
        yield code, slice(start, stop)
        start = stop
