"""Atomic writing of files: a file that is present is complete."""

from __future__ import annotations

import io
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TypeVar

import numpy as np

from guestlist.errors import write_error
from guestlist.store.archives import checked_archive, opened_archive
from guestlist.store.lock import PRIVATE, is_private, is_running
from guestlist.store.passing import is_temporary

T = TypeVar("T")
MANY_ROWS = 100_000  # of a table
STREAMS = (1, 2)  # standard output and standard error


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file atomically: a reader sees the old content or the new, never a part.

    A file in a temporary folder is not flushed to the disk, since it ends with this process. A file in the folder of an audit
    is private, since it holds membership.
    """
    with atomic_file(path) as file:
        file.write(content)


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Yield a file that replaces the one at ``path`` once it is complete.

    If a user names a link, the file that it points to is replaced and the link stays. A pipe or a device cannot be replaced; the
    complete content is written to it. In the folder of an audit both are replaced: another user may have put them there, and
    must not decide which file is overwritten.
    """
    try:
        private = is_private(path)
        status = None if private else _status(path)
        if status is not None and not _is_replaceable(status):
            buffer = io.BytesIO()
            yield buffer
            _write_through(path, status, buffer.getvalue())
            return
        if path.is_symlink() and not private:
            path = Path(os.path.realpath(path))
            private = is_private(path)
        with _replacing(path, private) as file:
            yield file
    except OSError as error:
        raise write_error(path, error) from error


@contextmanager
def _replacing(path: Path, private: bool) -> Iterator[BinaryIO]:
    # The process id separates two writers of one file; both write the same bytes.
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    mode = 0o600 if private else 0o666
    try:
        _make_folder(path.parent, private)
        with open(partial, "w+b", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            yield file
            file.flush()
            if not is_temporary(path):
                os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def _status(path: Path) -> os.stat_result | None:
    """Return the status of the file at a path, links followed; None if there is none."""
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _is_replaceable(status: os.stat_result) -> bool:
    """Return whether a file may be replaced: not a pipe, a device or a standard stream.

    For a folder it is true, so that the attempt raises an error that names it.
    """
    return stat.S_ISDIR(status.st_mode) or (stat.S_ISREG(status.st_mode) and _standard_stream(status) is None)


def _write_through(path: Path, status: os.stat_result, content: bytes) -> None:
    # A stream is not opened by its name, /dev/stdout: a file would be overwritten from its beginning.
    stream = _standard_stream(status)
    with os.fdopen(os.open(path, os.O_WRONLY) if stream is None else os.dup(stream), "wb") as file:
        file.write(content)


def _standard_stream(status: os.stat_result) -> int | None:
    """Return the number of the standard stream that a file is, if it is one."""
    for number in STREAMS:
        with suppress(OSError):  # The stream is closed.
            if os.path.samestat(os.fstat(number), status):
                return number
    return None


def _make_folder(folder: Path, private: bool) -> None:
    if private and not folder.exists():
        _make_folder(folder.parent, private)
        folder.mkdir(mode=PRIVATE, exist_ok=True)
    else:
        folder.mkdir(parents=True, exist_ok=True)


def remove_partial_files(folder: Path) -> None:
    """Remove unfinished files of processes that no longer run.

    A file with the number of this process is of an earlier one: in a container, every run may have the same number.
    """
    for partial in folder.rglob(".*.part"):
        process = partial.name.split(".")[-2]
        if not process.isdecimal() or int(process) == os.getpid() or not is_running(int(process)):
            partial.unlink(missing_ok=True)


def write_text(path: Path, content: str) -> None:
    """Write a text file atomically."""
    write_bytes(path, content.encode("utf-8"))


def write_json(path: Path, content: Mapping) -> None:
    """Write JSON with sorted keys, one per line: equal contents are equal bytes. NaN is refused."""
    lines = (
        f"{json.dumps(name)}: {json.dumps(content[name], sort_keys=True, allow_nan=False)}" for name in sorted(content)
    )
    write_text(path, "{\n" + ",\n".join(lines) + "\n}\n")


def read_json(path: Path) -> dict:
    """Read the object in a JSON file; raise a ValueError if there is none."""
    content = json.loads(path.read_text("utf-8"))
    if not isinstance(content, dict):
        raise ValueError("it holds no object")
    return content


def read_npz(path: Path, *names: str) -> dict[str, np.ndarray]:
    """Read arrays of an npz file, all or those named; raise a ValueError if it is damaged. Pickles are refused."""
    return with_npz(path, lambda archive: {name: archive[name] for name in names or archive.files})


def with_npz(path: Path, read: Callable[[np.lib.npyio.NpzFile], T], *, known: bool = False) -> T:
    """Return the result of ``read`` on an npz file; raise a ValueError if the file is damaged.

    Args:
        known: Whether the headers of the same file were checked before.
    """
    with open(path, "rb") as file:  # NumPy leaves a damaged file open if it opened it itself.
        try:
            with opened_archive(file) if known else checked_archive(file) as archive:
                return read(archive)
        except (OSError, ValueError, KeyError):
            raise
        except Exception as error:  # zlib, zipfile and NumPy have many errors for a damaged file.
            raise ValueError(f"{type(error).__name__}: {error}") from error


def write_npz(path: Path, **arrays: np.ndarray) -> None:
    """Write arrays by name to an npz file."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]  # the stubs take every name for that of an option
    write_bytes(path, buffer.getvalue())


def write_npy(path: Path, array: np.ndarray) -> None:
    """Write one array to an npy file."""
    buffer = io.BytesIO()
    np.save(buffer, array)
    write_bytes(path, buffer.getvalue())


def write_parquet(path: Path, table) -> None:
    """Write a table without its index."""
    options = {}
    if len(table) > MANY_ROWS:  # Few numbers are equal, and the search for equal ones would take most of the time.
        options["use_dictionary"] = [name for name, dtype in table.dtypes.items() if dtype.kind not in "fiu"]
    with atomic_file(path) as file:
        table.to_parquet(file, index=False, **options)
