"""Checks of paths that a user names."""

from __future__ import annotations

import errno
from pathlib import Path

from guestlist.errors import WRITE_ERROR_REASONS, PathError


def path_exists(path: Path) -> bool:
    """Return whether a path exists; raise PathError if access is denied or the path is invalid.

    ``Path.exists`` lets the system's own words through, or takes what it may not look at for nothing, by the version of Python.
    """
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):  # no file name has a zero byte
        return False
    except OSError as error:
        raise path_error(path, error) from error
    return True


def path_error(path: str | Path, error: OSError) -> PathError:
    """Return the error for a ``path`` that the system refuses."""
    code = error.errno or 0
    default = (error.strerror or type(error).__name__, "Name another place")
    why, remedy = _WHY.get(code) or WRITE_ERROR_REASONS.get(code) or default
    return PathError(f"{path}: {why}. {remedy}.")


_FORBIDDEN = ("you may not enter its folder, or not open it", "Have it allowed, or name another place")
_WHY = {
    errno.EACCES: _FORBIDDEN,
    errno.EPERM: _FORBIDDEN,
    errno.ENOENT: ("there is nothing there", "Name another place, or bring it there"),
    errno.ELOOP: ("its links lead in a circle", "Name the file itself"),
    errno.EISDIR: ("it is a folder", "Name a file"),
}
