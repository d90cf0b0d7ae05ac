"""Writing files so that present means whole."""

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

from guestlist.errors import unwritten
from guestlist.store.archives import checked_archive, opened_archive
from guestlist.store.lock import PRIVATE, is_private, is_running
from guestlist.store.passing import is_temporary

T = TypeVar("T")
MANY_ROWS = 100_000  # of a table
STREAMS = (1, 2)  # what a command prints, and what it says of errors


def write_bytes(path: Path, content: bytes) -> None:
    """Write aside, flush to the disk, then rename: a reader sees the old file or the new one, never a part.

    What ends with this process is not flushed: no power cut leaves anybody to read it.
    In the folder of an audit it is its owner's alone: it tells who was a member.
    """
    with atomic_file(path) as file:
        file.write(content)


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """The same for what is written piece by piece: a file that takes its place once it is whole.

    Where a user names a link, the file that it points to is replaced and the link stays; what is no file, such as a pipe or a
    device, cannot be replaced, and is written to once all is there. In the folder of an audit neither has any business: whoever
    put it there does not decide what else is overwritten, and it is replaced.
    """
    try:
        private = is_private(path)
        found = None if private else _standing(path)
        if found is not None and not _replaceable(found):
            whole = io.BytesIO()
            yield whole
            _write_through(path, found, whole.getvalue())
            return
        if path.is_symlink() and not private:
            path = Path(os.path.realpath(path))
            private = is_private(path)
        with _replacing(path, private) as file:
            yield file
    except OSError as error:
        raise unwritten(path, error) from error


@contextmanager
def _replacing(path: Path, private: bool) -> Iterator[BinaryIO]:
    # The process id keeps two writers of one file apart; both write the same bits.
    aside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        _make_folder(path.parent, private)
        with open(aside, "w+b", opener=lambda name, flags: os.open(name, flags, 0o600 if private else 0o666)) as file:
            yield file
            file.flush()
            if not is_temporary(path):
                os.fsync(file.fileno())
        os.replace(aside, path)
    finally:
        with suppress(OSError):
            aside.unlink(missing_ok=True)


def _standing(path: Path) -> os.stat_result | None:
    """What stands at a path, links followed; None where there is nothing."""
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _replaceable(found: os.stat_result) -> bool:
    """Whether a file may take the place of this one: not that of a pipe, a device, or what we print to.

    A folder is in the way, and whoever replaces it hears of that.
    """
    return stat.S_ISDIR(found.st_mode) or (stat.S_ISREG(found.st_mode) and _stream(found) is None)


def _write_through(path: Path, found: os.stat_result, content: bytes) -> None:
    stream = _stream(found)  # not opened by its name, /dev/stdout: a file would be written from its beginning again
    with os.fdopen(os.open(path, os.O_WRONLY) if stream is None else os.dup(stream), "wb") as file:
        file.write(content)


def _stream(found: os.stat_result) -> int | None:
    """The number of our own output that this is, if it is one."""
    for number in STREAMS:
        with suppress(OSError):  # it is closed
            if os.path.samestat(os.fstat(number), found):
                return number
    return None


def _make_folder(folder: Path, private: bool) -> None:
    if private and not folder.exists():
        _make_folder(folder.parent, private)
        folder.mkdir(mode=PRIVATE, exist_ok=True)
    else:
        folder.mkdir(parents=True, exist_ok=True)


def remove_partial_files(folder: Path) -> None:
    """Remove what a killed writer left unfinished; the process id in the name tells whether it still writes.

    One of our own is of somebody before us: in a container, every run may have the same number.
    """
    for part in folder.rglob(".*.part"):
        process = part.name.split(".")[-2]
        if not process.isdecimal() or int(process) == os.getpid() or not is_running(int(process)):
            part.unlink(missing_ok=True)


def write_text(path: Path, content: str) -> None:
    write_bytes(path, content.encode("utf-8"))


def write_json(path: Path, content: Mapping) -> None:
    """JSON with sorted keys, so that equal contents are equal bytes, one line each; NaN is not JSON and is refused."""
    lines = (
        f"{json.dumps(name)}: {json.dumps(content[name], sort_keys=True, allow_nan=False)}" for name in sorted(content)
    )
    write_text(path, "{\n" + ",\n".join(lines) + "\n}\n")


def read_json(path: Path) -> dict:
    """The object in a JSON file; ValueError where there is none."""
    content = json.loads(path.read_text("utf-8"))
    if not isinstance(content, dict):
        raise ValueError("it holds no object")
    return content


def read_npz(path: Path, *names: str) -> dict[str, np.ndarray]:
    """Arrays of an npz file, all or those named; ValueError where it is damaged, and never a pickle."""
    return with_npz(path, lambda archive: {name: archive[name] for name in names or archive.files})


def with_npz(path: Path, look: Callable[[np.lib.npyio.NpzFile], T], *, known: bool = False) -> T:
    """What ``look`` finds in an npz file; ValueError where it is damaged.

    Args:
        known: whether the same file was looked through before: what its headers claim need not be checked again.
    """
    with open(path, "rb") as file:  # numpy leaves a damaged file open if it opened it itself
        try:
            with opened_archive(file) if known else checked_archive(file) as archive:
                return look(archive)
        except (OSError, ValueError, KeyError):
            raise
        except Exception as error:  # zlib, zipfile and numpy have many words for a damaged file
            raise ValueError(f"{type(error).__name__}: {error}") from error


def write_npz(path: Path, **arrays: np.ndarray) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]  # the stubs take every name for that of an option
    write_bytes(path, buffer.getvalue())


def write_npy(path: Path, array: np.ndarray) -> None:
    buffer = io.BytesIO()
    np.save(buffer, array)
    write_bytes(path, buffer.getvalue())


def write_parquet(path: Path, table) -> None:
    options = {}
    if len(table) > MANY_ROWS:  # hardly two numbers are equal: to look for those that are would take most of the time
        options["use_dictionary"] = [name for name, kind in table.dtypes.items() if kind.kind not in "fiu"]
    with atomic_file(path) as file:
        table.to_parquet(file, index=False, **options)
