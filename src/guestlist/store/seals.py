"""Files tied to the audit that they were made for: each says which file it is, what it was made of, and what it holds.

A seal is protection against mistakes: a file copied over another, a folder mixed of two audits, a figure that somebody edited.
It holds no secret: whoever wants to deceive can seal what they like.

An npz file carries its seal as the comment of the archive, a line of JSON (``unzip -z`` shows it), and a JSON file under the
key ``seal``. What an npz file holds is told by the checksums that it has of each array, which are compared when the array
is first read, and again once the file has changed since (by its time, size or number): the seal costs next to nothing.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from guestlist.store.archives import stored_array
from guestlist.store.files import atomic_file, read_json, with_npz, write_json

# By part: what a file was made of, in the words of messages.
Seal = Mapping[str, str]
SEAL, HOLDS, FILE = "seal", "holds", "file"


class IntegrityError(ValueError):
    """A file is not what belongs in its place."""


def digest(*parts: str | bytes) -> str:
    """Of texts and bytes, each told apart from the next."""
    found = hashlib.sha256()
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        found.update(len(content).to_bytes(8, "big"))
        found.update(content)
    return found.hexdigest()


def write_checked_npz(path: Path, seal: Seal, arrays: Mapping[str, np.ndarray]) -> str:
    """Write arrays with a seal; returns the digest of what the file holds."""
    with atomic_file(path) as file:  # not first in memory: with many classes, answers are large
        np.savez(file, **arrays)  # type: ignore[arg-type]  # the stubs take every name for that of an option
        with zipfile.ZipFile(file, "a") as archive:
            holds = _holds(archive)
            archive.comment = json.dumps({**seal, HOLDS: holds}, sort_keys=True).encode()
    return holds


def read_checked_npz(
    path: Path, seal: Seal, *names: str, known: bool = False, compared: Collection[str] = ()
) -> dict[str, np.ndarray]:
    """Arrays of a sealed file, all or those named; an error where it is not what belongs there.

    Args:
        known: whether the same file was checked before.
        compared: the arrays whose checksums were compared then.
    """

    def look(archive: np.lib.npyio.NpzFile) -> dict[str, np.ndarray]:
        _check_archive(archive.zip, seal)
        return {
            name: stored_array(archive, name) if name in compared else archive[name] for name in names or archive.files
        }

    return with_npz(path, look, known=known)


def check_npz(path: Path, seal: Seal) -> list[str]:
    """The names of the arrays in a sealed file, which are not read; an error where it is not what belongs there."""

    def look(archive: np.lib.npyio.NpzFile) -> list[str]:
        _check_archive(archive.zip, seal)
        return list(archive.files)

    return with_npz(path, look)


def write_checked_json(path: Path, seal: Seal, content: Mapping[str, Any]) -> None:
    write_json(path, {**content, SEAL: {**seal, HOLDS: _digest_of(content)}})


def read_checked_json(path: Path, seal: Seal) -> tuple[dict[str, Any], Seal]:
    """What a sealed file holds, and its seal; an error where it is not what belongs there."""
    content = read_json(path)
    found = content.pop(SEAL, None)
    _check(found, seal, _digest_of(content))
    return content, found


def _check_archive(archive: zipfile.ZipFile | None, seal: Seal) -> None:
    holds = _holds(archive)
    try:
        found = json.loads(archive.comment) if archive is not None else None
    except ValueError:
        found = None
    _check(found, seal, holds)
    if seal.get(HOLDS, holds) != holds:
        raise IntegrityError("it holds something else than manifest.json notes of it")


def _check(found: Any, seal: Seal, holds: str) -> None:
    """Raise unless a seal says what it is expected to say; it may say more."""
    if not isinstance(found, dict):
        raise IntegrityError("it carries no seal, so guestlist did not write it, or somebody wrote it anew")
    if found.get(FILE) != seal.get(FILE):
        raise IntegrityError(f"it was written as {found.get(FILE)}")
    differ = [name for name in seal if name != HOLDS and found.get(name) != seal[name]]
    if differ:
        raise IntegrityError(f"it was made of {' and '.join(MEANS.get(name, name) for name in differ)}")
    if found.get(HOLDS) != holds:
        raise IntegrityError("it was changed after it was written")


# What a user calls what a file or a folder was made of, for messages.
MEANS = {
    "data": "other records or labels",
    "split": "other members or non-members",
    "recipe": "another model or other parameters",
    "seed": "another seed",
    "game": "another game, or another share of records per reference",
    "scale": "answers on another scale",
    "classes": "other classes",
    "rows": "other training records",
    "answers": "other answers of the target",
    "plan": "other options",
}


def _holds(archive: zipfile.ZipFile | None) -> str:
    """Digest of the names, sizes and checksums of the arrays; a checksum is compared where the array is first read."""
    if archive is None:
        raise ValueError("it is not an archive")
    parts = sorted((info.filename, info.file_size, info.CRC) for info in archive.infolist())
    return digest(*(f"{name} {size} {checksum}" for name, size, checksum in parts))


def _digest_of(content: Mapping[str, Any]) -> str:
    return digest(json.dumps(content, sort_keys=True))
