"""A folder to work in where the user gave none: it lasts as long as the work."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def kept_or_passing(folder: str | Path | None) -> Iterator[Path]:
    """The folder, or one that lasts as long as the work in it."""
    if folder is not None:
        yield Path(folder)
        return
    with tempfile.TemporaryDirectory(prefix="guestlist-") as place:
        yield Path(place) / "audit"
