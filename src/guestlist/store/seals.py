"""Integrity metadata of files: which file it is, what it was computed from, and a digest of its content.

The metadata protect against mistakes: a file copied over another, a folder mixed from two audits, an edited number. They hold
no secret, so they do not protect against forgery.

An npz file carries its metadata as the comment of the archive, a line of JSON (``unzip -z`` prints it), and a JSON file under
the key ``seal``. The digest of an npz file covers the checksums that the archive has of each array. A checksum is compared
when its array is first read, and again once the file has changed (time, size or inode), so that the check costs little.
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

# Name of an input to its digest.
Provenance = Mapping[str, str]
# Keys in files on disk.
METADATA = "seal"
CONTENT = "holds"
FILE = "file"


class IntegrityError(ValueError):
    """A file is not the one that belongs at its path."""


def digest(*parts: str | bytes) -> str:
    """Return the SHA-256 digest of texts and bytes, each preceded by its length."""
    sha256 = hashlib.sha256()
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        sha256.update(len(content).to_bytes(8, "big"))
        sha256.update(content)
    return sha256.hexdigest()


def text_digest(*lines: str) -> str:
    """Return the SHA-256 digest of lines of text."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def write_checked_npz(path: Path, provenance: Provenance, arrays: Mapping[str, np.ndarray]) -> str:
    """Write arrays with integrity metadata, and return the digest of the content."""
    with atomic_file(path) as file:  # Not first in memory: with many classes, outputs are large.
        np.savez(file, **arrays)  # type: ignore[arg-type]  # the stubs take every name for that of an option
        with zipfile.ZipFile(file, "a") as archive:
            content = _archive_digest(archive)
            archive.comment = json.dumps({**provenance, CONTENT: content}, sort_keys=True).encode()
    return content


def read_checked_npz(
    path: Path, provenance: Provenance, *names: str, known: bool = False, compared: Collection[str] = ()
) -> dict[str, np.ndarray]:
    """Read arrays of a file, all or those named, and check its metadata.

    Args:
        known: Whether the same file was checked before.
        compared: Arrays with checksums that were compared then.

    Raises:
        IntegrityError: The file is not the one that belongs at its path.
    """

    def read(archive: np.lib.npyio.NpzFile) -> dict[str, np.ndarray]:
        _check_archive(archive.zip, provenance)
        arrays = {}
        for name in names or archive.files:
            arrays[name] = stored_array(archive, name) if name in compared else archive[name]
        return arrays

    return with_npz(path, read, known=known)


def check_npz(path: Path, provenance: Provenance) -> list[str]:
    """Check the metadata of a file, and return the names of its arrays without reading them."""

    def read(archive: np.lib.npyio.NpzFile) -> list[str]:
        _check_archive(archive.zip, provenance)
        return list(archive.files)

    return with_npz(path, read)


def write_checked_json(path: Path, provenance: Provenance, content: Mapping[str, Any]) -> None:
    """Write a JSON file with integrity metadata."""
    write_json(path, {**content, METADATA: {**provenance, CONTENT: _json_digest(content)}})


def read_checked_json(path: Path, provenance: Provenance) -> tuple[dict[str, Any], Provenance]:
    """Read a JSON file and its metadata, and check them."""
    content = read_json(path)
    metadata = content.pop(METADATA, None)
    _check(metadata, provenance, _json_digest(content))
    return content, metadata


def _check_archive(archive: zipfile.ZipFile | None, provenance: Provenance) -> None:
    if archive is None:
        raise ValueError("it is not an archive")
    content = _archive_digest(archive)
    try:
        metadata = json.loads(archive.comment)
    except ValueError:
        metadata = None
    _check(metadata, provenance, content)
    if provenance.get(CONTENT, content) != content:
        raise IntegrityError("it holds something else than manifest.json notes of it")


def _check(metadata: Any, provenance: Provenance, content: str) -> None:
    """Raise unless the metadata hold what is expected; they may hold more."""
    if not isinstance(metadata, dict):
        raise IntegrityError("it carries no seal, so guestlist did not write it, or somebody wrote it anew")
    if metadata.get(FILE) != provenance.get(FILE):
        raise IntegrityError(f"it was written as {metadata.get(FILE)}")
    different = [name for name in provenance if name != CONTENT and metadata.get(name) != provenance[name]]
    if different:
        raise IntegrityError(f"it was made of {' and '.join(DESCRIPTIONS.get(name, name) for name in different)}")
    if metadata.get(CONTENT) != content:
        raise IntegrityError("it was changed after it was written")


# How messages describe an input of a file or a folder that differs.
DESCRIPTIONS = {
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


def _archive_digest(archive: zipfile.ZipFile) -> str:
    """Return a digest of the names, sizes and checksums of the arrays."""
    parts = sorted((info.filename, info.file_size, info.CRC) for info in archive.infolist())
    return digest(*(f"{name} {size} {checksum}" for name, size, checksum in parts))


def _json_digest(content: Mapping[str, Any]) -> str:
    return digest(json.dumps(content, sort_keys=True))
