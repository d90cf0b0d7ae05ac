"""Hashes of records and of whole pools."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator

import numpy as np
import pandas as pd

from guestlist.data import Data
from guestlist.errors import InputError


def row_hashes(data: Data) -> np.ndarray:
    """(records,) 64-bit hashes of features and label: equal records have equal hashes.

    Numbers are compared as float64, so that 1 and 1.0, or 0.0 and -0.0, are one value.
    """
    try:
        return _row_hashes(data)
    except UnicodeEncodeError as error:
        raise InputError(
            "The records hold text that is not valid Unicode: it has half of a surrogate pair. Replace such text, for "
            "example by text.encode('utf-8', 'replace').decode()."
        ) from error


def _row_hashes(data: Data) -> np.ndarray:
    if not isinstance(data.x, pd.DataFrame) and not data.x.dtype.hasobject:
        numbers = data.x.dtype.kind in "iufb"
        flat = data.x.reshape(len(data), -1)
        rows = np.frombuffer(b"".join(_digests(flat, np.float64 if numbers else None)), dtype=np.uint64)
    else:
        table = (
            data.x if isinstance(data.x, pd.DataFrame) else pd.DataFrame(data.x.astype(object).reshape(len(data), -1))
        )
        rows = pd.util.hash_pandas_object(_hashable(table), index=False).to_numpy()
    return rows ^ (_label_hashes(data.y) * np.uint64(0x9E3779B97F4A7C15))


def _digests(flat: np.ndarray, number: type | None, at_once: int = 4096) -> Iterator[bytes]:
    """Hash rows of numbers, with one zero; many rows at once, which is faster."""
    for start in range(0, len(flat), at_once):
        block = np.ascontiguousarray(flat[start : start + at_once], dtype=number)
        block = block if number is None else block + 0.0
        width = block.itemsize * block.shape[1]
        rows = block.view(f"V{width}")[:, 0].tolist() if width else [b""] * len(block)
        for row in rows:
            yield hashlib.blake2b(row, digest_size=8).digest()


def _label_hashes(y: np.ndarray) -> np.ndarray:
    """(records,) of labels as text, each different one made once; objects may be equal and yet of different texts."""
    if y.dtype != object:
        y, which = np.unique(y, return_inverse=True)
        return _label_hashes(y.astype(object))[which]
    return pd.util.hash_array(np.array([str(label) for label in _plain_labels(y)], dtype=object))


def _hashable(table: pd.DataFrame) -> pd.DataFrame:
    """The same values in forms that hash alike wherever they are equal."""
    columns = []
    for position in range(table.shape[1]):
        column = table.iloc[:, position]
        if pd.api.types.is_numeric_dtype(column):
            column = column.astype("float64" if not column.isna().any() else "Float64").astype("float64") + 0.0
        else:
            column = column.astype(object).map(str)
        columns.append(column.rename(position))
    return pd.concat(columns, axis=1)


def _plain_labels(y: np.ndarray):
    """Labels with whole numbers written as such: 1 and 1.0 are one label."""
    return (int(v) if isinstance(v, (float, np.floating)) and float(v).is_integer() else v for v in y)


# A checksum of a large pool reads this many bytes, from evenly spaced rows: code that rewrites records rewrites most of them.
SPOT_BYTES = 2**24
SPOT_OBJECTS = 2**14  # of a column, since Python objects take longer


def spot_digest(data: Data) -> int:
    """Return a checksum of features and labels, fast enough to compare after each model.

    Objects are compared by identity. Features of more than 16 MiB are sampled.
    """
    x = data.x
    columns = [x.iloc[:, column].array for column in range(x.shape[1])] if isinstance(x, pd.DataFrame) else [x]
    digest = 0
    for values in (*columns, data.y):
        digest = zlib.crc32(_spot_bytes(values, SPOT_BYTES // max(1, len(columns))), digest)
    return digest


def _spot_bytes(values, max_bytes: int) -> bytes:
    """Bytes of evenly spaced values, about ``most`` of them."""
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
    """Hexadecimal digest of features, labels, ids, groups and persons, in order.

    Args:
        hashes: those of the rows, where they are known already.
    """
    digest = hashlib.sha256((row_hashes(data) if hashes is None else hashes).tobytes())
    if isinstance(data.x, pd.DataFrame):
        digest.update(repr([(str(c), str(t)) for c, t in data.x.dtypes.items()]).encode())
    else:
        digest.update(repr((data.x.dtype.str, data.x.shape)).encode())
    persons = {} if data.persons is None else {"whose": data.persons}
    for name, values in {"id": data.ids, **data.groups, **persons}.items():
        digest.update(name.encode())
        # Names are nearly all different: to look for equal ones would take most of the time.
        digest.update(pd.util.hash_array(values.astype(object), categorize=name != "id").tobytes())
    for name, values in ({} if data.fit_params is None else data.fit_params.values).items():
        digest.update(f"fit {name} {values.dtype.str} {values.shape}".encode())
        flat = values.ravel()
        digest.update(pd.util.hash_array(flat.astype(object) if values.dtype.kind in "OUS" else flat).tobytes())
    return digest.hexdigest()
