"""Audit folders: locked while in use, temporary where the user named none."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from guestlist._util import path_exists, resume_hint, stoppable
from guestlist.errors import FolderError, write_error

LOCK = ".guestlist.lock"
PRIVATE = 0o700


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Hold the lock of an audit folder; the system releases it however the process ends.

    A new or empty folder becomes private. If the work fails before it writes anything, the folder is left as it was.

    Raises:
        FolderError: Another process holds the lock, or the path is a file.
        WriteError: The folder cannot be written.
    """
    check_not_a_file(folder)
    # The lock file stays: it marks the folder as private. Without it a lock would also be replaced by a mere marker on
    # file systems that have no locks, and a killed process would leave that marker behind.
    lock = FileLock(folder / LOCK, mode=0o600, blocking=False, thread_local=False, preserve_lock_file=True)
    try:
        new = not folder.exists()
        if new:
            before = frozenset[str]()
        else:
            before = frozenset(os.listdir(folder))
        folder.mkdir(parents=True, exist_ok=True)
        if not before:
            with suppress(PermissionError):  # The folder belongs to another user, who lets this one write there.
                folder.chmod(PRIVATE)
        lock.acquire()
    except Timeout as error:
        raise FolderError(f"Another audit is writing to {folder}. Wait for it, or choose another folder.") from error
    except OSError as error:
        raise write_error(folder, error) from error
    try:
        yield
    except BaseException:
        if LOCK not in before and frozenset(os.listdir(folder)) == before | {LOCK}:
            with suppress(OSError):  # Windows cannot remove an open file.
                (folder / LOCK).unlink()
                if new:
                    folder.rmdir()
        raise
    finally:
        lock.release()


def is_private(path: Path) -> bool:
    """Return whether a file is, or would be, in the folder of an audit."""
    return any((folder / LOCK).exists() for folder in path.absolute().parents[:4])


def check_not_a_file(folder: Path) -> None:
    """Raise if the path of an audit folder is a file."""
    if path_exists(folder) and not folder.is_dir():
        raise FolderError(f"{folder} is a file; an audit needs a folder.")


def is_running(process: int) -> bool:
    """Return whether a process with this number runs."""
    if sys.platform == "win32":  # There, a signal of 0 would end the process.
        return _is_running_on_windows(process)
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True


def _is_running_on_windows(process: int) -> bool:
    import _winapi as api

    query_limited_information = 0x1000
    try:
        handle = api.OpenProcess(query_limited_information, False, process)  # type: ignore[attr-defined]
    except OSError:
        return False
    try:
        return api.GetExitCodeProcess(handle) == api.STILL_ACTIVE  # type: ignore[attr-defined]
    finally:
        api.CloseHandle(handle)  # type: ignore[attr-defined]


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
