"""Free text: which columns hold it, and what it says in numbers, without a vocabulary to learn."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

LOOKED_AT = 1000  # values that tell whether a column is free text
SHORT = 20  # characters; shorter strings, on average, are names
LONGEST = 5000  # characters of a text that are read
WIDTH = 192  # columns of numbers that stand for a text
GRAM = 3


def is_text(values) -> bool:
    """Return whether all values that are not missing are texts, and there is at least one."""
    known = [value for value in values if not _missing(value)]
    return bool(known) and all(isinstance(value, str) for value in known)


def not_a_text(values) -> int | None:
    """The place of the first value that is neither a text nor missing, among some that are texts; None where there is none."""
    if getattr(values, "ndim", 1) != 1 or getattr(values, "dtype", None) not in (None, object):
        return None
    others = (at for at, value in enumerate(values) if not isinstance(value, str) and not _missing(value))
    first = next(others, None)
    return first if first is not None and any(isinstance(value, str) for value in values) else None


def is_unicode(values: Iterable[str]) -> bool:
    """Return whether texts can be encoded in UTF-8; lone surrogates, as in file names, cannot."""
    try:
        "".join(values).encode()
    except UnicodeEncodeError:
        return False
    return True


def as_unicode(values: np.ndarray) -> np.ndarray:
    """(records,) the same texts, with lone surrogates written as escapes such as ``\\ud800``."""
    if is_unicode(values):
        return values
    escaped = (text.encode("utf-8", "backslashreplace").decode() for text in values)
    return np.fromiter(escaped, dtype=object, count=len(values))


def is_free(column: pd.Series) -> bool:
    """Return whether a column holds free text: long, mostly distinct strings rather than categories."""
    if not (column.dtype == object or isinstance(column.dtype, pd.StringDtype)):
        return False
    some = column.dropna().iloc[:LOOKED_AT]
    if not len(some) or not all(isinstance(value, str) for value in some):
        return False
    return bool(2 * some.nunique() > len(some) and some.str.len().mean() >= SHORT)


def grams(texts: Iterable) -> np.ndarray:
    """(texts, WIDTH) which sequences of three characters a text has, each counted in one of so many columns, with a sign.

    Two texts are near if they share much. Rows have unit length; a missing text is a row of zeros.

    >>> same, near, far = grams(["a quiet day", "a quiet days", "all is well"])
    >>> bool(same @ near > 0.7 > 0.2 > same @ far)
    True
    """
    documents = list(texts)
    vectors = np.zeros((len(documents), WIDTH))
    for row, text in enumerate(documents):
        if not isinstance(text, str):
            continue
        # A number per character, whatever the script; blanks around it, so that short texts have sequences too.
        letters = f" {text[:LONGEST].lower()} ".encode("utf-32-le", "surrogatepass")
        code = np.frombuffer(letters, dtype=np.uint32).astype(np.uint64)
        mixed = np.zeros(max(len(code) - GRAM + 1, 0), dtype=np.uint64)
        for offset in range(GRAM):
            mixed = (mixed ^ code[offset : offset + len(mixed)]) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        sign = np.where(mixed >> np.uint64(63), 1.0, -1.0)
        vectors[row] = np.bincount((mixed % np.uint64(WIDTH)).astype(np.int64), sign, minlength=WIDTH)
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(length > 0, length, 1.0)


def _missing(value) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value))
