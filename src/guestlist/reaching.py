"""Whether something stands at a path that a user named, and what to say where that cannot be told."""

from __future__ import annotations

import errno
from pathlib import Path

from guestlist.errors import WRITE_ERROR_REASONS, PathError


def path_exists(path: Path) -> bool:
    """Whether something stands at a path; an PathError where nobody lets us look, or no path can be like it.

    ``Path.exists`` lets the system's own words through, or takes what it may not look at for nothing, by the version of Python.
    """
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):  # a name with a zero byte in it is nobody's
        return False
    except OSError as error:
        raise path_error(path, error) from error
    return True


def path_error(path: str | Path, error: OSError) -> PathError:
    """What to say where the system refuses ``path``."""
    found = error.errno or 0
    usual = (error.strerror or type(error).__name__, "Name another place")
    why, remedy = _WHY.get(found) or WRITE_ERROR_REASONS.get(found) or usual
    return PathError(f"{path}: {why}. {remedy}.")


_FORBIDDEN = ("you may not enter its folder, or not open it", "Have it allowed, or name another place")
_WHY = {
    errno.EACCES: _FORBIDDEN,
    errno.EPERM: _FORBIDDEN,
    errno.ENOENT: ("there is nothing there", "Name another place, or bring it there"),
    errno.ELOOP: ("its links lead in a circle", "Name the file itself"),
    errno.EISDIR: ("it is a folder", "Name a file"),
}
