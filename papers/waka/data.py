"""The paper's four datasets as pools of records: those that may be members, and a validation and a test set.

Tables are one-hot encoded and their numbers standardised. The embeddings of images and texts differ from the paper's:
EfficientNet features pretrained on ImageNet (not a ResNet trained on CIFAR-10 itself for K-NN), and MiniLM sentence
embeddings of 5,000 reviews (not of 25,000).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

import guestlist as gl
from guestlist.datasets import DATA_VARIABLE, local


@dataclass(frozen=True, eq=False)
class Pool:
    """Records that may be members, and two sets that never are: a validation set and a test set.

    Pools are compared by identity, so that they can be keys of caches.
    """

    name: str
    x: np.ndarray
    y: np.ndarray
    x_valid: np.ndarray
    y_valid: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray

    @property
    def sizes(self) -> dict[str, int]:
        return {
            "records": len(self.x),
            "validation": len(self.x_valid),
            "test": len(self.x_test),
            "features": self.x.shape[1],
            "classes": len(np.unique(self.y)),
        }


@dataclass(frozen=True)
class Source:
    """A file of $GUESTLIST_DATA, its reader, and the paper's sizes (training, test), if available.

    Args:
        read: function from the path to (x, y, is_train); ``is_train`` is None if the source has no split.
        balanced: draw the same number of records of every class, for the pool and for the test set.
    """

    file: str
    read: Callable
    training: int
    test: int
    balanced: bool = False


def load(name: str, *, records: int | None = None, seed: int = 0) -> Pool:
    """Load a dataset at the paper's size, or with at most ``records`` in the pool and in the test set."""
    source = SOURCES[name]
    path = local(source.file)
    if path is None:
        raise gl.InputError(f"{source.file} is not in ${DATA_VARIABLE}. Set it to the folder that holds the file.")
    x, y, is_train = source.read(path)
    training, test = (min(size, records or size) for size in (source.training, source.test))
    rng = np.random.default_rng(seed)
    return pool_of(name, x, y, is_train, training, test, rng, balanced=source.balanced)


def available(names: Iterable[str]) -> list[str]:
    """Return the datasets whose files are available."""
    return [name for name in names if local(SOURCES[name].file)]


def pool_of(
    name: str, x, y, is_train, training: int, test: int, rng: np.random.Generator, *, balanced: bool = False
) -> Pool:
    """Draw a pool of ``training`` records, and ``test`` others: half validation set, half test set."""
    rows = rng.permutation(len(x))
    if balanced:
        rows = even(rows, y, is_train)
    if is_train is None:
        inside, outside = rows[:training], rows[training:]
    else:
        inside, outside = rows[is_train[rows]][:training], rows[~is_train[rows]]
    valid, held = np.array_split(outside[:test], 2)
    parts = (part for rows in (inside, valid, held) for part in (x[rows], y[rows]))
    return Pool(name, *parts)


def even(rows: np.ndarray, y: np.ndarray, is_train: np.ndarray | None) -> np.ndarray:
    """Return some of the rows, with alternating classes in training and in test rows; other rows are excluded."""
    parts = [rows] if is_train is None else [rows[is_train[rows]], rows[~is_train[rows]]]
    turns = []
    for part in parts:
        by_class = [part[y[part] == label] for label in np.unique(y)]
        fewest = min(map(len, by_class))
        turns.append(np.stack([of_class[:fewest] for of_class in by_class], axis=1).ravel())
    return np.concatenate(turns)


def encoded(table: pd.DataFrame) -> np.ndarray:
    """Return (records, features): one-hot columns of the categories, then the numbers with mean 0 and variance 1."""
    numbers = table.select_dtypes("number")
    scaled = ((numbers - numbers.mean()) / numbers.std().replace(0, 1)).to_numpy(np.float64)
    categories = table.drop(columns=numbers.columns).astype(str)
    if categories.empty:  # pandas would raise an error
        return scaled
    return np.hstack([pd.get_dummies(categories, dtype=np.float64).to_numpy(), scaled])


def _adult(path):
    table = pd.read_parquet(path)
    is_train = (table["split"] == "train").to_numpy()
    return encoded(table.drop(columns=["split", "income"])), _codes(table["income"]), is_train


def _bank(path):
    table = pd.read_parquet(path)
    return encoded(table.drop(columns="y")), _codes(table["y"]), None


def _cifar10(path):
    with np.load(path, allow_pickle=False) as file:
        x = np.concatenate([file["x_train"], file["x_test"]]).astype(np.float64)
        y = np.concatenate([file["y_train"], file["y_test"]]).astype(int)
        return x, y, np.arange(len(x)) < len(file["x_train"])


def _imdb(path):
    with np.load(path, allow_pickle=False) as file:
        return file["x"].astype(np.float64), file["y"].astype(int), file["is_train"].astype(bool)


def _codes(labels: pd.Series) -> np.ndarray:
    return pd.factorize(labels, sort=True)[0]


# The paper prints Adult's training size as "11,0874"; 11,087 is assumed here.
SOURCES: dict[str, Source] = {
    "adult": Source("adult.parquet", _adult, 11_087, 3_200),
    "bank": Source("bank_marketing.parquet", _bank, 36_168, 9_043),
    "cifar10": Source("cifar10_features.npz", _cifar10, 25_000, 4_000),
    "imdb": Source("imdb_embeddings.npz", _imdb, 5_000, 5_000),
    "adult balanced": Source("adult.parquet", _adult, 11_087, 3_200, balanced=True),
    "bank balanced": Source("bank_marketing.parquet", _bank, 8_462, 2_116, balanced=True),
}
PAPER = ("adult", "bank", "cifar10", "imdb")  # as the paper describes them
