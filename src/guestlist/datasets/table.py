"""Datasets that can be loaded by name, from a folder, the cache, or the web with a checksum."""

import hashlib
import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from guestlist._store import write_bytes
from guestlist._util import close_matches
from guestlist.errors import InputError

DATA_VARIABLE = "GUESTLIST_DATA"


def local(name: str) -> Path | None:
    """Return the path of a file in ``$GUESTLIST_DATA``.

    Args:
        name: Name of the file.

    Returns:
        The path; None if it is not there.
    """
    folder = os.environ.get(DATA_VARIABLE)
    if folder and (Path(folder) / name).exists():
        return Path(folder) / name
    return None


def fetched(url: str, sha256: str) -> Path:
    """Return the file at ``url`` from the cache, or download it; raise unless it has this checksum."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    path = cache / "guestlist" / url.rsplit("/", 1)[-1]
    if not path.exists() or _digest(path.read_bytes()) != sha256:
        content = _download(url)
        if _digest(content) != sha256:
            raise InputError(
                f"The checksum of {url} differs from the expected one, so the file was changed. Put a copy of the original "
                f"file where ${DATA_VARIABLE} points."
            )
        write_bytes(path, content)
    return path


def _download(url: str) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return answer.read()
    except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as error:  # refused or interrupted
        raise InputError(
            f"Cannot download {url} ({error}). Go online, or put the file where ${DATA_VARIABLE} points."
        ) from error


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@dataclass(frozen=True)
class Dataset:
    """One row of ``DATASETS``.

    Attributes:
        load: Function that returns the table.
        label: Label column.
        summary: Description for users.
        source: Origin of the data.
    """

    load: Callable[[], pd.DataFrame]
    label: str
    summary: str
    source: str


def digits() -> pd.DataFrame:
    """Load 1,797 handwritten digits of 8 x 8 pixels, shipped with scikit-learn."""
    from sklearn.datasets import load_digits

    return load_digits(as_frame=True).frame


ADULT_FILES = {
    "train": ("adult.data", "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"),
    "test": ("adult.test", "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05"),
}
ADULT_COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship",
    "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
)  # fmt: skip


def adult() -> pd.DataFrame:
    """Load 48,842 people of the 1994 US census, with ``income`` above or below 50,000 dollars and a ``split`` column."""
    here = local("adult.parquet")
    if here:
        return pd.read_parquet(here)
    parts = []
    for split, (name, sha256) in ADULT_FILES.items():
        path = fetched(f"https://archive.ics.uci.edu/ml/machine-learning-databases/adult/{name}", sha256)
        part = pd.read_csv(path, names=ADULT_COLUMNS, sep=", ", engine="python", skiprows=int(split == "test"))
        parts.append(part.assign(income=part["income"].str.rstrip("."), split=split))
    return pd.concat(parts, ignore_index=True)


def location30() -> pd.DataFrame:
    """Load 5,010 people of Bangkok by the 446 places they checked in at, in 30 clusters (column ``cluster``)."""
    here = local("location30.npz")
    if here is None:
        raise InputError(
            f"location30.npz is not where ${DATA_VARIABLE} points, and guestlist cannot download it because its source "
            "publishes no checksum. Prepare it from the Foursquare check-ins of Shokri et al. (2017): arrays x_packed "
            "(np.packbits), n_features and y."
        )
    with np.load(here, allow_pickle=False) as archive:
        x = np.unpackbits(archive["x_packed"], axis=1, count=int(archive["n_features"]))
        y = archive["y"]
    return pd.DataFrame(x, columns=[f"place_{i}" for i in range(x.shape[1])]).assign(cluster=y)


DATASETS: dict[str, Dataset] = {
    "digits": Dataset(digits, "target", "handwritten digits, 1,797 x 64, 10 classes", "shipped with scikit-learn"),
    "adult": Dataset(adult, "income", "US census 1994, 48,842 x 14, 2 classes", "UCI, doi:10.24432/C5XW20, CC BY 4.0"),
    "location30": Dataset(
        location30, "cluster", "check-ins in Bangkok, 5,010 x 446, 30 classes", "Yang et al. 2016; Shokri et al. 2017"
    ),
}


def load(name: str) -> pd.DataFrame:
    """Load a dataset by name.

    Args:
        name: Name from ``DATASETS``.

    Returns:
        A table with the label in a column.

    Raises:
        InputError: If there is no such dataset, or it cannot be loaded.
    """
    if name not in DATASETS:
        raise InputError(f"There is no dataset {name!r}. Available names: {close_matches(name, DATASETS)}.")
    return DATASETS[name].load()


def as_numbers(table: pd.DataFrame) -> pd.DataFrame:
    """Convert every column to numbers from 0 to 1.

    Numbers are scaled from the smallest to the largest value; missing numbers become the mean. A categorical column with two
    values becomes one column of 0 and 1; with more values, one column per value. Missing categories become the most frequent.

    Args:
        table: Numeric and categorical columns; text is categorical.

    Returns:
        A table of floats with the same index.

    Examples:
        >>> import pandas as pd
        >>> gl.datasets.as_numbers(pd.DataFrame({"age": [20, 30, 40], "sex": ["f", "m", "f"]})).to_numpy().tolist()
        [[0.0, 0.0], [0.5, 1.0], [1.0, 0.0]]
    """
    columns: dict[str, np.ndarray] = {}
    for name in table.columns:
        values = table[name]
        if pd.api.types.is_numeric_dtype(values):
            columns[str(name)] = _scaled(values)
        else:
            columns |= _indicators(str(name), values)
    return pd.DataFrame(columns, index=table.index)


def _scaled(values: pd.Series) -> np.ndarray:
    numbers = values.astype("float64")
    numbers = numbers.fillna(numbers.mean() if numbers.notna().any() else 0.0).to_numpy()
    low = numbers.min()
    high = numbers.max()
    if high > low:
        return (numbers - low) / (high - low)
    return np.zeros(len(numbers))


def _indicators(name: str, values: pd.Series) -> dict[str, np.ndarray]:
    values = values.astype(object)
    known = values.dropna()
    filled = (values.fillna(known.mode().iloc[0]) if len(known) else values.fillna("")).astype(str)
    categories = sorted(filled.unique())
    columns = categories[1:] if len(categories) == 2 else categories
    return {f"{name}={value}": (filled == value).to_numpy(dtype=float) for value in columns}
