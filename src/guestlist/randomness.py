"""Streams of random numbers, and the global generators that some libraries still read."""

from __future__ import annotations

import random
import sys
from contextlib import contextmanager

import numpy as np

# Streams of one seed: no two purposes share one. The numbers are part of every audit folder; never change them.
STREAMS = {
    "rows": 1,
    "training": 2,
    "distilled rows": 3,
    "distilled training": 4,
    "left out": 5,
    "evidence": 6,
    "pool": 7,
    "blind": 19,
    "luck": 20,
    "luck of groups": 21,
    "parts of records": 22,
    "luck of groups of the file holder": 23,
    "gap of classes": 24,
    "one less": 30,
    "experiment": 31,
    "canaries": 32,
}


def stream(seed: int, purpose: str, *numbers: int) -> np.random.Generator:
    """The generator for one purpose and, say, model ``k``: its own, so that a resumed run gives the same bits."""
    return np.random.default_rng([seed, STREAMS[purpose], *numbers])


@contextmanager
def global_generators(rng: np.random.Generator):
    """Seed Python's, numpy's and (if it is loaded) torch's global generators from ``rng``; restore them after.

    Estimators without a ``random_state`` read the global ones, and would otherwise differ from run to run.
    """
    seed = int(rng.integers(2**32))
    torch = sys.modules.get("torch")
    before = random.getstate(), np.random.get_state(), torch and torch.get_rng_state()  # noqa: NPY002
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    if torch:
        torch.manual_seed(seed)
    try:
        yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])  # noqa: NPY002
        if torch:
            torch.set_rng_state(before[2])
