"""Temporary folders, which end with the process that made them."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from guestlist.errors import write_error
from guestlist.stopping import resume_hint, stoppable
from guestlist.store.lock import is_running

PREFIX = "guestlist-"


@contextmanager
def audit_folder(folder: str | Path | None) -> Iterator[Path]:
    """Yield the folder of an audit, or a temporary one for None; a signal to stop cleans up first."""
    with stoppable():
        if folder is None:
            with temporary_folder(PREFIX) as parent:
                yield parent / "audit"
            return
        with resume_hint(f"What was finished is kept in {folder}: the same once more goes on from there."):
            yield Path(folder).absolute()  # The code of a model may change the working directory.


@contextmanager
def temporary_folder(prefix: str, parent: str | None = None) -> Iterator[Path]:
    """Yield a new folder and remove it afterwards, with those that killed processes left.

    Args:
        prefix: Start of the folder's name; the number of the process follows.
        parent: Where to make it; by default the system's folder for temporary files.
    """
    parent = parent or tempfile.gettempdir()
    for path in Path(parent).glob(f"{prefix}[0-9]*-*"):
        process = path.name.removeprefix(prefix).split("-")[0]
        if process.isdecimal() and not is_running(int(process)) and _is_own_folder(path):
            shutil.rmtree(path, ignore_errors=True)
    try:
        folder = tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-", dir=parent)
    except OSError as error:
        raise write_error(Path(parent), error) from error
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def is_temporary(path: Path) -> bool:
    """Return whether a file is, or would be, in a temporary folder of this process."""
    prefix = f"{PREFIX}{os.getpid()}-"
    return any(folder.name.startswith(prefix) for folder in path.absolute().parents)


def _is_own_folder(path: Path) -> bool:
    try:
        return not path.is_symlink() and path.is_dir() and (os.name != "posix" or path.stat().st_uid == os.getuid())
    except OSError:  # It was removed meanwhile.
        return False
