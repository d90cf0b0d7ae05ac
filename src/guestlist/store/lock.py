"""One audit at a time in a folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from guestlist.errors import FolderError


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock while an audit works in it; the system lets go of it however the process ends."""
    try:
        import fcntl
    except ImportError:  # not on Windows
        yield
        return
    check_not_a_file(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise FolderError(
                f"Another audit is writing to {folder}. Wait for it, or choose another folder."
            ) from error
        yield


def check_not_a_file(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise FolderError(f"{folder} is a file; an audit needs a folder.")
