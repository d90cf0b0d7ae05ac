"""Random streams and single-threaded execution, so that results are bitwise reproducible; notes on where models ran."""

import random
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import lru_cache

import numpy as np
from threadpoolctl import ThreadpoolController

from guestlist.models.frameworks import loaded_frameworks

# Streams of one seed: no two purposes share one. The numbers are part of every audit folder; never change them.
STREAMS = {
    "rows": 1,
    "training": 2,
    "distilled rows": 3,
    "distilled training": 4,
    "left out": 5,
    "evidence": 6,
    "pool": 7,
    "baseline": 19,
    "permutations": 20,
    "permutations of groups": 21,
    "parts of records": 22,
    "permutations of groups of the file holder": 23,
    "gap of classes": 24,
    "one less": 30,
    "experiment": 31,
    "canaries": 32,
}


def stream(seed: int, purpose: str, *numbers: int) -> np.random.Generator:
    """Return the generator of one purpose and, for example, model ``k``: a resumed run gives identical results."""
    return np.random.default_rng([seed, STREAMS[purpose], *numbers])


@contextmanager
def global_generators(rng: np.random.Generator) -> Iterator[None]:
    """Seed the global generators of Python, NumPy and the loaded frameworks from ``rng``; restore them afterwards.

    Estimators without a ``random_state`` read the global generators, and would otherwise differ from run to run.
    """
    seed = int(rng.integers(2**32))
    python_state = random.getstate()
    numpy_state = np.random.get_state()  # noqa: NPY002
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    try:
        with ExitStack() as stack:
            for framework in loaded_frameworks():
                if framework.seed is not None:
                    stack.enter_context(framework.seed(seed))
            yield
    finally:
        random.setstate(python_state)
        np.random.set_state(numpy_state)  # noqa: NPY002


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit the loaded frameworks and the libraries below NumPy to one thread, for bitwise reproducible results.

    Frameworks also use deterministic algorithms on accelerators.
    """
    with ExitStack() as stack:
        for framework in loaded_frameworks():
            if framework.limit_threads is not None:
                stack.enter_context(framework.limit_threads())
        stack.enter_context(_libraries(len(sys.modules)).limit(limits=1))
        yield


@lru_cache(maxsize=1)
def _libraries(_modules: int) -> ThreadpoolController:
    """Return the libraries with threads; the search takes milliseconds, so it is repeated only after new imports."""
    return ThreadpoolController()


# Environment variable with the device of a process. Engines set it in the processes that they start.
DEVICE = "GUESTLIST_DEVICE"

Notes = dict[str, set[str]]
_notes: ContextVar[Notes | None] = ContextVar("notes", default=None)


def note(topic: str, text: str) -> None:
    """Add a note to those of the current task: ``devices`` that it used, or ``warnings``."""
    notes = _notes.get()
    if notes is not None:
        notes.setdefault(topic, set()).add(text)


@contextmanager
def collect_notes() -> Iterator[Notes]:
    """Collect the notes of one task, by topic."""
    notes: Notes = {}
    token = _notes.set(notes)
    try:
        yield notes
    finally:
        _notes.reset(token)
