"""Audit folders and their locks, atomic file writes, JSON of dataclasses, and validation of npz archives."""

import collections.abc
import io
import json
import math
import os
import shutil
import sys
import tempfile
import types
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from filelock import FileLock, Timeout

from guestlist._util import format_bytes, path_exists, resume_hint, stoppable
from guestlist.errors import FolderError, write_error

LOCK = ".guestlist.lock"
PRIVATE = 0o700


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Hold the lock of an audit folder; the system releases it when the process ends in any way.

    A new or empty folder becomes private. If the work fails before it writes anything, the folder stays unchanged.

    Raises:
        FolderError: Another process holds the lock, or the path is a file.
        WriteError: The folder cannot be written.
    """
    check_not_a_file(folder)
    # The lock file stays: it marks the folder as private. On file systems without locks the library would otherwise use
    # a marker file, and a killed process would not remove it.
    lock = FileLock(folder / LOCK, mode=0o600, blocking=False, thread_local=False, preserve_lock_file=True)
    try:
        new = not folder.exists()
        before = frozenset[str]() if new else frozenset(os.listdir(folder))
        folder.mkdir(parents=True, exist_ok=True)
        if not before:
            with suppress(PermissionError):  # The folder belongs to another user, who granted write access.
                folder.chmod(PRIVATE)
        lock.acquire()
    except Timeout as error:
        raise FolderError(
            f"Another audit is writing to {folder}. Wait until it ends, or choose another folder."
        ) from error
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
        raise FolderError(f"{folder} is a file, but an audit needs a folder. Choose another path.")


def is_running(process: int) -> bool:
    """Return whether a process with this number runs; on Windows always true, so that its files stay."""
    if sys.platform == "win32":  # There, a signal of 0 would end the process.
        return True
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True


PREFIX = "guestlist-"


@contextmanager
def audit_folder(folder: str | Path | None) -> Iterator[Path]:
    """Yield the folder of an audit, or a temporary one for None; a termination signal cleans up first."""
    with stoppable():
        if folder is None:
            with temporary_folder(PREFIX) as parent:
                yield parent / "audit"
            return
        with resume_hint(f"Finished work is saved in {folder}. Run it again to resume."):
            yield Path(folder).absolute()  # The code of a model may change the working directory.


@contextmanager
def temporary_folder(prefix: str, parent: str | None = None) -> Iterator[Path]:
    """Yield a new folder and remove it afterwards; also remove those of killed processes.

    Args:
        prefix: Start of the folder's name; the number of the process follows.
        parent: Parent folder; by default the system's folder for temporary files.
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


def _is_own_folder(path: Path) -> bool:
    try:
        return not path.is_symlink() and path.is_dir() and (os.name != "posix" or path.stat().st_uid == os.getuid())
    except OSError:  # It was removed meanwhile.
        return False


# Arrays of numbers rarely compress by more than this factor; deflate reaches 1,000 with only zeros.
MAX_COMPRESSION = 100
# Archives below this size, in bytes, fit into memory at any compression rate.
HARMLESS = 1 << 28
MAX_HEADER = 10_000  # same limit as NumPy


def checked_archive(file: BinaryIO) -> np.lib.npyio.NpzFile:
    """Open an npz file whose headers are checked, and whose arrays are not read yet.

    Raises:
        ValueError: An array is not as large as its header claims, or the archive unpacks to an unlikely size.
    """
    size = file.seek(0, 2)
    file.seek(0)
    npz = opened_archive(file)
    archive = npz.zip
    assert archive is not None  # None only after it is closed
    unpacked = sum(part.file_size for part in archive.infolist())
    if unpacked > max(HARMLESS, MAX_COMPRESSION * size):
        raise ValueError(
            f"its {format_bytes(size)} unpack to {format_bytes(unpacked)}; if this is correct, save it with np.savez, "
            "which does not compress"
        )
    for part in archive.infolist():
        if not part.filename.endswith(".npy"):
            continue
        with archive.open(part) as content:
            claimed = _claimed_size(part, content)
            held = part.file_size - content.tell()
        if claimed is not None and claimed != held:
            raise ValueError(
                f"{part.filename} declares {format_bytes(claimed)} of numbers but holds {format_bytes(held)}"
            )
    return npz


def opened_archive(file: BinaryIO) -> np.lib.npyio.NpzFile:
    """Open an npz file whose headers were checked before."""
    try:
        return np.lib.npyio.NpzFile(file, allow_pickle=False)  # same as np.load, which also reads other formats
    except zipfile.BadZipFile as error:
        raise ValueError("it is not a complete npz archive") from error


def _claimed_size(part: zipfile.ZipInfo, file: IO[bytes]) -> int | None:
    """Read the header of an array, and return the bytes that it claims; None for objects."""
    version = np.lib.format.read_magic(file)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:  # 3.0 is for field names in Unicode; arrays here have no fields
        raise ValueError(f"{part.filename} has format version {version}, which numeric arrays do not use")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about headers written by Python 2
        shape, _, dtype = readers[version](file, max_header_size=MAX_HEADER)
    if min(shape, default=0) < 0:
        raise ValueError(f"{part.filename} has a negative array size in its header; the file is corrupt")
    if dtype.hasobject:
        return None
    return math.prod(shape) * dtype.itemsize


T = TypeVar("T")
MANY_ROWS = 100_000  # rows of a table
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
    complete content is written to it. In the folder of an audit both are replaced: another user may have created them,
    and must not decide which file is overwritten.
    """
    try:
        private = is_private(path)
        if not private and _is_stream_or_device(path):
            buffer = io.BytesIO()
            yield buffer
            # A stream is not opened by its name, /dev/stdout: a file would be overwritten from its beginning.
            stream = _standard_stream(path)
            with os.fdopen(os.open(path, os.O_WRONLY) if stream is None else os.dup(stream), "wb") as file:
                file.write(buffer.getvalue())
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
    # The process id separates two writers of one file; both write identical bytes.
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    mode = 0o600 if private else 0o666
    try:
        _make_folder(path.parent, private)
        with open(partial, "w+b", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            yield file
            file.flush()
            # A file in a temporary folder of this process ends with it.
            if not any(folder.name.startswith(f"{PREFIX}{os.getpid()}-") for folder in path.absolute().parents):
                os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def _is_stream_or_device(path: Path) -> bool:
    """Return whether a path is a pipe, a device or a standard stream, links followed: it cannot be replaced.

    For a folder it is false, so that the attempt to replace it raises an error that names it.
    """
    return path.exists() and not path.is_dir() and (not path.is_file() or _standard_stream(path) is not None)


def _standard_stream(path: Path) -> int | None:
    """Return the number of the standard stream that a file is, if it is one."""
    for number in STREAMS:
        with suppress(OSError):  # The stream is closed.
            if os.path.samestat(os.fstat(number), path.stat()):
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

    A file with this process id comes from an earlier process: in a container, every run may have the same id.
    """
    for partial in folder.rglob(".*.part"):
        process = partial.name.split(".")[-2]
        if not process.isdecimal() or int(process) == os.getpid() or not is_running(int(process)):
            partial.unlink(missing_ok=True)


def write_text(path: Path, content: str) -> None:
    """Write a text file atomically."""
    write_bytes(path, content.encode("utf-8"))


def write_json(path: Path, content: Mapping) -> None:
    """Write JSON with sorted keys, one per line: equal contents give identical bytes. NaN raises."""
    lines = (
        f"{json.dumps(name)}: {json.dumps(content[name], sort_keys=True, allow_nan=False)}" for name in sorted(content)
    )
    write_text(path, "{\n" + ",\n".join(lines) + "\n}\n")


def read_json(path: Path) -> dict:
    """Read the object in a JSON file; raise a ValueError if there is none."""
    content = json.loads(path.read_text("utf-8"))
    if not isinstance(content, dict):
        raise ValueError("it is not a JSON object")
    return content


def read_npz(path: Path, *names: str) -> dict[str, np.ndarray]:
    """Read arrays of an npz file, all or those named; raise a ValueError if it is damaged or contains pickles."""
    return with_npz(path, lambda archive: {name: archive[name] for name in names or archive.files})


def with_npz(path: Path, read: Callable[[np.lib.npyio.NpzFile], T], *, known: bool = False) -> T:
    """Return the result of ``read`` on an npz file; raise a ValueError if the file is damaged.

    Args:
        known: Whether the headers of the same file were checked before.
    """
    with open(path, "rb") as file:  # NumPy does not close a damaged file that it opened itself.
        try:
            with opened_archive(file) if known else checked_archive(file) as archive:
                return read(archive)
        except (OSError, ValueError, KeyError):
            raise
        except Exception as error:  # zlib, zipfile and NumPy have many errors for a damaged file.
            raise ValueError(f"{type(error).__name__}: {error}") from error


def write_npz(path: Path, **arrays: np.ndarray) -> None:
    """Write arrays by name to an npz file."""
    with atomic_file(path) as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]  # the stubs type every keyword as an option


def write_npy(path: Path, array: np.ndarray) -> None:
    """Write one array to an npy file."""
    with atomic_file(path) as file:
        np.save(file, array)


def write_parquet(path: Path, table) -> None:
    """Write a table without its index."""
    options = {}
    if len(table) > MANY_ROWS:  # Few numbers are equal, and the search for equal ones would take most of the time.
        options["use_dictionary"] = [name for name, dtype in table.dtypes.items() if dtype.kind not in "fiu"]
    with atomic_file(path) as file:
        table.to_parquet(file, index=False, **options)


def to_json(value) -> Any:
    """Convert a value to lists, dicts, numbers and text. NaN and infinities become null."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if is_dataclass(value):
        return {f.name: to_json(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(k): to_json(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        # Most lists are curves: finite numbers, which need no conversion.
        return [v if type(v) is float and math.isfinite(v) else to_json(v) for v in value]
    return value


def from_json(hint, value) -> Any:
    """Convert the result of :func:`to_json` back to a value of type ``hint``; null becomes NaN for a float.

    A missing field takes its default. Keys without a field are ignored.

    Raises:
        KeyError: A field without a default is missing.
        ValueError: A value has a different type, for example because the file was edited.
    """
    if hint is float:
        if value is None:
            return float("nan")
        return float(_checked(value, int, float))
    if hint in (int, str, bool):
        return _checked(value, hint)
    origin = get_origin(hint)
    inner = get_args(hint)
    if origin is Literal:  # A newer version may have more choices.
        return _checked(value, *{type(choice) for choice in inner})
    if origin in (Union, types.UnionType):
        return _from_union(inner, value)
    if isinstance(hint, type) and is_dataclass(hint):
        hints = get_type_hints(hint)
        content = _checked(value, dict)
        required = {f.name for f in fields(hint) if f.default is MISSING and f.default_factory is MISSING}
        names = [f.name for f in fields(hint) if f.name in required or f.name in content]
        return hint(**{name: from_json(hints[name], content[name]) for name in names})
    if origin is tuple:
        items = _checked(value, list)
        item_hints = inner
        if inner[-1] is ...:
            item_hints = inner[:1] * len(items)
        return tuple(from_json(item_hint, item) for item_hint, item in zip(item_hints, items, strict=True))
    if origin in (dict, Mapping, collections.abc.Mapping):
        return {k: from_json(inner[1], v) for k, v in _checked(value, dict).items()}
    if isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields"):  # NamedTuple of floats
        if len(_checked(value, list)) != len(hint._fields):
            raise ValueError(f"found {len(value)} numbers instead of {', '.join(hint._fields)}")
        return hint(*(from_json(float, v) for v in value))
    return value


def _checked(value, *expected: type):
    """Return the value; raise if it has a different type. True and false are not numbers."""
    if not isinstance(value, expected) or (isinstance(value, bool) and bool not in expected):
        raise ValueError(f"found {type(value).__name__} instead of {' or '.join(kind.__name__ for kind in expected)}")
    return value


def _from_union(hints, value) -> Any:
    """Convert by the first of several types that the value fits."""
    if value is None and type(None) in hints:
        return None
    known = [hint for hint in hints if hint is not type(None)]
    for hint in known[:-1]:
        try:
            return from_json(hint, value)
        except (ValueError, KeyError):
            continue
    return from_json(known[-1], value)
