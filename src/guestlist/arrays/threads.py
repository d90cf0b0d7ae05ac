"""Single-threaded execution, so that results do not depend on the number of cores."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from threadpoolctl import ThreadpoolController


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit torch and the libraries below numpy to one thread, for bitwise reproducible results."""
    torch = sys.modules.get("torch")
    before = torch and torch.get_num_threads()
    if torch:
        torch.set_num_threads(1)
    try:
        with _libraries(len(sys.modules)).limit(limits=1):
            yield
    finally:
        if torch:
            torch.set_num_threads(before)


@lru_cache(maxsize=1)
def _libraries(_modules: int) -> ThreadpoolController:
    """Return the libraries with threads; the search takes milliseconds, so it is repeated only after new imports."""
    return ThreadpoolController()
