"""One thread, so that bits do not depend on how many there are."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from threadpoolctl import ThreadpoolController


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch and the libraries below numpy work with one thread, so that bits do not depend on how many there are."""
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
    """The libraries with threads. To look for them takes milliseconds: done anew only where modules have been loaded since."""
    return ThreadpoolController()
