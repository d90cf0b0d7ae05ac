"""Checksums of records and files: each file is tied to the audit it was written for."""

import hashlib
import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from guestlist._store.files import atomic_file, read_json, with_npz, write_json
from guestlist.data import Data
from guestlist.errors import InputError


def row_hashes(data: Data) -> np.ndarray:
    """Return (records,) 64-bit hashes of features and label: equal records have equal hashes.

    Numbers are compared as float64, so that 1 equals 1.0, and 0.0 equals -0.0.
    """
    try:
        if isinstance(data.x, pd.DataFrame):
            rows = pd.util.hash_pandas_object(_hashable(data.x), index=False).to_numpy()
        elif data.x.dtype.hasobject:
            table = pd.DataFrame(data.x.astype(object).reshape(len(data), -1))
            rows = pd.util.hash_pandas_object(_hashable(table), index=False).to_numpy()
        else:
            rows = np.frombuffer(b"".join(_digests(data.x.reshape(len(data), -1))), dtype=np.uint64)
        return rows ^ (_label_hashes(data.y) * np.uint64(0x9E3779B97F4A7C15))
    except UnicodeEncodeError as error:
        raise InputError(
            "The records hold text that is not valid Unicode (an incomplete surrogate pair). Replace it, for example "
            "with text.encode('utf-8', 'replace').decode()."
        ) from error


def _digests(flat: np.ndarray, at_once: int = 4096) -> Iterator[bytes]:
    """Hash rows, with numbers as float64 and -0.0 as 0.0; many rows at once, which is faster."""
    for start in range(0, len(flat), at_once):
        block = np.ascontiguousarray(flat[start : start + at_once])
        if flat.dtype.kind in "iufb":
            block = block.astype(np.float64) + 0.0
        width = block.itemsize * block.shape[1]
        rows = block.view(f"V{width}")[:, 0].tolist() if width else [b""] * len(block)
        for row in rows:
            yield hashlib.blake2b(row, digest_size=8).digest()


def _label_hashes(y: np.ndarray) -> np.ndarray:
    """Return (records,) hashes of labels as text, each distinct label once; equal objects may have different texts."""
    if y.dtype != object:
        y, which = np.unique(y, return_inverse=True)
        return _label_hashes(y.astype(object))[which]
    # Integral numbers as integers, so that 1 and 1.0 are one label.
    plain = (int(v) if isinstance(v, (float, np.floating)) and float(v).is_integer() else v for v in y)
    return pd.util.hash_array(np.array([str(label) for label in plain], dtype=object))


def _hashable(table: pd.DataFrame) -> pd.DataFrame:
    """Return the same values in types for which equal values have equal hashes."""
    columns = []
    for position in range(table.shape[1]):
        column = table.iloc[:, position]
        if pd.api.types.is_numeric_dtype(column):
            column = column.astype("float64" if not column.isna().any() else "Float64").astype("float64") + 0.0
        else:
            column = column.astype(object).map(str)
        columns.append(column.rename(position))
    return pd.concat(columns, axis=1)


# A checksum of a large pool reads this number of bytes, from evenly spaced rows: code that rewrites records rewrites
# most.
SPOT_BYTES = 2**24
SPOT_OBJECTS = 2**14  # objects per column: Python objects take longer


def spot_digest(data: Data) -> int:
    """Return a checksum of features and labels, fast enough to compare after each model.

    Objects are compared by identity. Features of more than 16 MiB are sampled.
    """
    x = data.x
    if isinstance(x, pd.DataFrame):
        columns = [x.iloc[:, column].array for column in range(x.shape[1])]
    else:
        columns = [x]
    digest = 0
    for values in (*columns, data.y):
        digest = zlib.crc32(_spot_bytes(values, SPOT_BYTES // max(1, len(columns))), digest)
    return digest


def _spot_bytes(values, max_bytes: int) -> bytes:
    """Return the bytes of evenly spaced values, about ``max_bytes`` in total."""
    if isinstance(values, pd.Categorical):
        values = values.codes
    elif isinstance(values, pd.arrays.NumpyExtensionArray):
        values = values.to_numpy()
    plain = isinstance(values, np.ndarray) and not values.dtype.hasobject
    step = -(-values.nbytes // max(1, max_bytes)) if plain else -(-len(values) // SPOT_OBJECTS)
    some = values[:: max(1, step)]
    if plain:
        return some.tobytes()
    if isinstance(some, np.ndarray):
        return np.fromiter(map(id, some.flat), dtype=np.uint64, count=some.size).tobytes()
    return pd.util.hash_array(some).tobytes()


def fingerprint(data: Data, hashes: np.ndarray | None = None) -> str:
    """Return a hexadecimal digest of features, labels, ids, groups and persons, in order.

    Args:
        hashes: hashes of the rows, if they are known already.
    """
    digest = hashlib.sha256((row_hashes(data) if hashes is None else hashes).tobytes())
    if isinstance(data.x, pd.DataFrame):
        digest.update(repr([(str(c), str(t)) for c, t in data.x.dtypes.items()]).encode())
    else:
        digest.update(repr((data.x.dtype.str, data.x.shape)).encode())
    persons = {"whose": data.persons} if data.persons is not None else {}
    for name, values in {"id": data.ids, **data.groups, **persons}.items():
        digest.update(name.encode())
        # Names are nearly all different: searching for duplicates would take most of the time.
        digest.update(pd.util.hash_array(values.astype(object), categorize=name != "id").tobytes())
    for name, values in ({} if data.fit_params is None else data.fit_params.values).items():
        digest.update(f"fit {name} {values.dtype.str} {values.shape}".encode())
        flat = values.ravel()
        digest.update(pd.util.hash_array(flat.astype(object) if values.dtype.kind in "OUS" else flat).tobytes())
    return digest.hexdigest()


# Name of an input to its digest.
Provenance = Mapping[str, str]
# Keys in files on disk.
METADATA = "integrity"
CONTENT = "holds"
FILE = "file"


class IntegrityError(ValueError):
    """The file was written for a different path or audit."""


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
    with atomic_file(path) as file:  # Written directly to the file: with many classes, outputs are large.
        np.savez(file, **arrays)  # type: ignore[arg-type]  # the stubs type every keyword as an option
        with zipfile.ZipFile(file, "a") as archive:
            content = _archive_digest(archive)
            archive.comment = json.dumps({**provenance, CONTENT: content}, sort_keys=True).encode()
    return content


def read_checked_npz(path: Path, provenance: Provenance, *names: str, known: bool = False) -> dict[str, np.ndarray]:
    """Read arrays of a file, all or those named, and check its metadata.

    Args:
        known: Whether the same file was checked before.

    Raises:
        IntegrityError: The file was written for a different path or audit.
    """

    def read(archive: np.lib.npyio.NpzFile) -> dict[str, np.ndarray]:
        _check_archive(archive.zip, provenance)
        return {name: archive[name] for name in names or archive.files}

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
    assert archive is not None  # None only after it is closed
    content = _archive_digest(archive)
    try:
        metadata = json.loads(archive.comment)
    except ValueError:
        metadata = None
    _check(metadata, provenance, content)
    if provenance.get(CONTENT, content) != content:
        raise IntegrityError("its content differs from what manifest.json records")


def _check(metadata: Any, provenance: Provenance, content: str) -> None:
    """Raise unless the metadata contain the expected entries; more entries are allowed."""
    if not isinstance(metadata, dict):
        raise IntegrityError("it has no checksum: guestlist did not write it, or another program rewrote it")
    if metadata.get(FILE) != provenance.get(FILE):
        raise IntegrityError(f"it is a copy of {metadata.get(FILE)}")
    different = [name for name in provenance if name != CONTENT and metadata.get(name) != provenance[name]]
    if different:
        raise IntegrityError(f"it was computed from {' and '.join(DESCRIPTIONS.get(name, name) for name in different)}")
    if metadata.get(CONTENT) != content:
        raise IntegrityError("it was changed after it was written")


# Names, in messages, of the inputs of a file or folder that can differ.
DESCRIPTIONS = {
    "data": "different records or labels",
    "split": "different members or non-members",
    "recipe": "a different model or different parameters",
    "seed": "a different seed",
    "game": "a different game, or a different share of records per reference model",
    "scale": "outputs on a different scale",
    "classes": "different classes",
    "rows": "different training records",
    "outputs": "different outputs of the target",
    "plan": "different options",
}


def _archive_digest(archive: zipfile.ZipFile) -> str:
    """Return a digest of the names, sizes and checksums of the arrays."""
    parts = sorted((info.filename, info.file_size, info.CRC) for info in archive.infolist())
    return digest(*(f"{name} {size} {checksum}" for name, size, checksum in parts))


def _json_digest(content: Mapping[str, Any]) -> str:
    return digest(json.dumps(content, sort_keys=True))
