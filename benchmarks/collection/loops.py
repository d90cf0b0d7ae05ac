"""Plain loops over models, for comparison with collection."""

from __future__ import annotations

import multiprocessing
import time
import warnings

from sklearn.base import clone
from threadpoolctl import threadpool_limits

LONGEST = 3600  # seconds after which a missing loop is an error


def plain_loop(model, x, y, rows) -> float:
    """Return seconds of a plain loop: clone, fit, predict, with one thread as in collection."""
    start = time.perf_counter()
    with threadpool_limits(1):
        for row in rows:
            clone(model).fit(x[row], y[row]).predict_proba(x)
    return time.perf_counter() - start


def two_plain_loops(model, x, y, rows) -> float:
    """Return seconds of two such loops in parallel, each with half of the models; imports are not included."""
    context = multiprocessing.get_context("spawn")
    ready = context.Barrier(3, timeout=LONGEST)
    loops = [context.Process(target=_when_all_are_ready, args=(ready, model, x, y, rows[part::2])) for part in (0, 1)]
    for loop in loops:
        loop.start()
    ready.wait()  # both have finished their imports
    start = time.perf_counter()
    ready.wait()  # both have ended
    taken = time.perf_counter() - start
    for loop in loops:
        loop.join()
    return taken


def _when_all_are_ready(ready, model, x, y, rows) -> None:
    warnings.simplefilter("ignore")
    ready.wait()
    plain_loop(model, x, y, rows)
    ready.wait()
