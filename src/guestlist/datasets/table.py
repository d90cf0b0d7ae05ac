"""Table of the datasets that can be loaded by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from guestlist.datasets.fetch import DATA_VARIABLE, fetched, local
from guestlist.errors import InputError


@dataclass(frozen=True)
class Dataset:
    """A dataset: its loader, label column, summary and source."""

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
            f"location30.npz is not where ${DATA_VARIABLE} points, and its source publishes no checksum to fetch it by. "
            "It is Shokri et al.'s (2017) preparation of Foursquare check-ins: arrays x_packed (np.packbits), n_features "
            "and y."
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
    """Load a dataset by name, as a table with its label in a column."""
    if name not in DATASETS:
        raise InputError(f"There is no dataset {name!r}; there are {', '.join(DATASETS)}.")
    return DATASETS[name].load()
