"""Available datasets of the paper, as pools of records from which members are drawn.

Numbers have mean 0 and variance 1, categories are one-hot, grey levels in [0, 1] or, for USPS, [-1, 1]. FLOWER is 256
principal components of a network's features where the paper has 2,048 features; MEPS is panel 21 where the paper has
panel 19.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

import guestlist as gl
from guestlist.datasets import DATA_VARIABLE, local
from papers.waka.data import encoded

Groups = Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Pool:
    """Records, half of which are members of a model; ``groups`` maps a column name to the group of each record."""

    name: str
    x: np.ndarray
    y: np.ndarray
    groups: Groups = field(default_factory=dict)

    def take(self, rows: np.ndarray) -> Pool:
        groups = {name: values[rows] for name, values in self.groups.items()}
        return Pool(self.name, self.x[rows], self.y[rows], groups)

    @property
    def classes(self) -> int:
        return int(self.y.max()) + 1


@dataclass(frozen=True)
class Source:
    """A file of $GUESTLIST_DATA, its name in the paper, and the paper's sizes.

    Args:
        read: function from the path to (x, y, groups).
        members, tests: numbers of training and test records in the paper.
    """

    file: str
    paper: str
    read: Callable
    members: int
    tests: int

    @property
    def most_members(self) -> int:
        """Largest number of members, up to the paper's, that leaves the same number of non-members."""
        return min(self.members, (self.members + self.tests) // 2)


def load(name: str) -> Pool:
    """Load all records of a dataset."""
    path = local(SOURCES[name].file)
    if path is None:
        raise gl.InputError(
            f"{SOURCES[name].file} is not in ${DATA_VARIABLE}. Set it to the folder that holds the file."
        )
    x, y, groups = SOURCES[name].read(path)
    return Pool(name, x.astype(np.float32), np.unique(y, return_inverse=True)[1], groups)


def available(names: Iterable[str]) -> list[str]:
    """Return the datasets whose files are available."""
    return [name for name in names if local(SOURCES[name].file)]


def drawn(pool: Pool, records: int, seed: int = 0) -> Pool:
    """Draw some of the records, or all if there are no more."""
    return pool.take(np.random.default_rng(seed).permutation(len(pool.y))[:records])


def _location30(path):
    with np.load(path, allow_pickle=False) as file:
        return np.unpackbits(file["x_packed"], axis=1, count=int(file["n_features"])), file["y"], {}


def _images(path):
    with np.load(path, allow_pickle=False) as file:
        x, y = (np.concatenate([file[f"{name}_train"], file[f"{name}_test"]]) for name in "xy")
    return x.reshape(len(x), -1) / (255 if x.dtype == np.uint8 else 1), y, {}


def _flowers(path):
    with np.load(path, allow_pickle=False) as file:
        return file["x"], file["y"], {}


def _meps(path):
    table = pd.read_parquet(path)
    # The meaning of the codes is inferred from the usual preparation of these data; the publisher does not document it.
    sex = np.where(table["SEX"] == 1, "Male", "Female")
    return encoded(table.drop(columns="label")), table["label"], {"sex": sex}


def _credit(path):
    table = pd.read_parquet(path)
    label, sex = table["default.payment.next.month"], np.where(table["SEX"] == 1, "Male", "Female")
    return encoded(table.drop(columns=["ID", label.name])), label, {"sex": sex}


def _census(path):
    table = pd.read_parquet(path)
    race = np.where(table["race"] == "White", "White", "Others")
    groups = {"sex": table["sex"].to_numpy(object), "race": race}
    return encoded(table.drop(columns=["split", "income"])), table["income"], groups


SOURCES: dict[str, Source] = {
    "location30": Source("location30.npz", "LOCATION", _location30, 1_000, 1_000),
    "mnist": Source("mnist.npz", "MNIST", _images, 60_000, 10_000),
    "fashion_mnist": Source("fashion_mnist.npz", "FMNIST", _images, 60_000, 10_000),
    "usps": Source("usps.npz", "USPS", _images, 3_000, 3_000),
    "flowers": Source("flowers_features.npz", "FLOWER", _flowers, 1_500, 1_500),
    "meps": Source("meps21.parquet", "MEPS", _meps, 7_500, 7_500),
    "credit": Source("credit_default.parquet", "CREDIT", _credit, 15_000, 15_000),
    "census": Source("adult.parquet", "CENSUS", _census, 24_000, 24_000),
}
