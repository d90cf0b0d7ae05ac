"""Single-threaded execution, so that results do not depend on the number of cores."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache

from threadpoolctl import ThreadpoolController

from guestlist.targets.frameworks import loaded_frameworks


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit the loaded frameworks and the libraries below NumPy to one thread, for bitwise reproducible results."""
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
