"""Plain loops over models: what collection is measured against."""

from __future__ import annotations

import multiprocessing
import time
import warnings

from sklearn.base import clone
from threadpoolctl import threadpool_limits

LONGEST = 3600  # seconds until a loop that never came is missed


def bare(model, x, y, rows) -> float:
    """Seconds of a plain loop: clone, fit, predict, with one thread as collection has."""
    start = time.perf_counter()
    with threadpool_limits(1):
        for row in rows:
            clone(model).fit(x[row], y[row]).predict_proba(x)
    return time.perf_counter() - start


def two_bare(model, x, y, rows) -> float:
    """Seconds of two such loops side by side, each with half of the models; what they load, they have loaded before."""
    context = multiprocessing.get_context("spawn")
    ready = context.Barrier(3, timeout=LONGEST)
    loops = [context.Process(target=_when_all_are_ready, args=(ready, model, x, y, rows[part::2])) for part in (0, 1)]
    for loop in loops:
        loop.start()
    ready.wait()  # both have loaded all they need
    start = time.perf_counter()
    ready.wait()  # both have come to their end
    taken = time.perf_counter() - start
    for loop in loops:
        loop.join()
    return taken


def _when_all_are_ready(ready, model, x, y, rows) -> None:
    warnings.simplefilter("ignore")
    ready.wait()
    bare(model, x, y, rows)
    ready.wait()
