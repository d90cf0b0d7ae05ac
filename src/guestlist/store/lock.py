"""One audit at a time in a folder, which only its owner can read: it tells who was a member."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from guestlist.errors import FolderError, unwritten
from guestlist.reaching import is_there

LOCK = ".guestlist.lock"
PRIVATE = 0o700


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Hold the folder's lock while an audit works in it; the system lets go of it however the process ends.

    A folder that is made for it, or was empty, is its owner's alone from then on. Where the work fails before anything is
    written, nothing is left behind.
    """
    check_not_a_file(folder)
    try:
        new = not folder.exists()
        before = frozenset[str]() if new else frozenset(os.listdir(folder))
        folder.mkdir(parents=True, exist_ok=True)
        if not before:
            with suppress(PermissionError):  # somebody else's, who lets us write there
                folder.chmod(PRIVATE)
        descriptor = os.open(folder / LOCK, os.O_WRONLY | os.O_CREAT, 0o600)
    except OSError as error:
        raise unwritten(folder, error) from error
    with open(descriptor, "w") as file:
        if not _hold(file):
            raise FolderError(f"Another audit is writing to {folder}. Wait for it, or choose another folder.")
        try:
            yield
        except BaseException:
            if LOCK not in before and frozenset(os.listdir(folder)) == before | {LOCK}:
                (folder / LOCK).unlink()
                if new:
                    folder.rmdir()
            raise


def is_private(path: Path) -> bool:
    """Whether a file stands, or would, in a folder that an audit works in."""
    return any((folder / LOCK).exists() for folder in path.absolute().parents[:4])


def check_not_a_file(folder: Path) -> None:
    if is_there(folder) and not folder.is_dir():
        raise FolderError(f"{folder} is a file; an audit needs a folder.")


def is_running(process: int) -> bool:
    """Whether a process runs."""
    if WINDOWS:  # where a signal of 0 would end it
        return _alive_on_windows(process)
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


WINDOWS = sys.platform == "win32"
_QUERY, _STILL_ACTIVE = 0x1000, 259  # PROCESS_QUERY_LIMITED_INFORMATION, and the exit code of what has not exited


def _alive_on_windows(process: int) -> bool:
    import ctypes

    system = _kernel32()
    handle = system.OpenProcess(_QUERY, False, process)
    if not handle:
        return False
    try:
        code = ctypes.c_ulong()
        return not system.GetExitCodeProcess(handle, ctypes.byref(code)) or code.value == _STILL_ACTIVE
    finally:
        system.CloseHandle(handle)


def _kernel32():
    import ctypes

    return ctypes.WinDLL("kernel32")  # type: ignore[attr-defined]  # on Windows alone


def _hold(file: IO[str]) -> bool:
    """Take the lock; false where somebody has it."""
    try:
        try:
            import fcntl
        except ImportError:  # on Windows
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
