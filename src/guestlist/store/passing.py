"""A folder to work in where the user gave none: it lasts as long as the work."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from guestlist.errors import unwritten
from guestlist.stopping import stoppable, told
from guestlist.store.lock import is_running

PREFIX = "guestlist-"


@contextmanager
def audit_folder(folder: str | Path | None) -> Iterator[Path]:
    """The folder, or one that lasts as long as the work in it; either way a polite stop puts away what was begun."""
    with stoppable():
        if folder is None:
            with temporary_folder(PREFIX) as place:
                yield place / "audit"
            return
        with told(f"What was finished is kept in {folder}: the same once more goes on from there."):
            yield Path(folder).absolute()  # a model's code may change the working directory


@contextmanager
def temporary_folder(prefix: str, parent: str | None = None) -> Iterator[Path]:
    """A folder of one's own for as long as this lasts; those that killed processes have left are removed.

    Args:
        prefix: the process's number follows it.
        parent: by default where the system wants such folders.
    """
    parent = parent or tempfile.gettempdir()
    for path in Path(parent).glob(f"{prefix}[0-9]*-*"):
        process = path.name.removeprefix(prefix).split("-")[0]
        if process.isdecimal() and not is_running(int(process)) and _ours(path):
            shutil.rmtree(path, ignore_errors=True)
    try:
        place = tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-", dir=parent)
    except OSError as error:
        raise unwritten(Path(parent), error) from error
    try:
        yield Path(place)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def is_temporary(path: Path) -> bool:
    """Whether a file stands, or would, in a folder that ends with this process: what lies there need not outlive a power cut."""
    own = f"{PREFIX}{os.getpid()}-"
    return any(folder.name.startswith(own) for folder in path.absolute().parents)


def _ours(path: Path) -> bool:
    try:
        return not path.is_symlink() and path.is_dir() and (os.name != "posix" or path.stat().st_uid == os.getuid())
    except OSError:  # it is gone
        return False
