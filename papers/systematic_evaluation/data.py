"""Data: the records of Location30, outputs of a published model with and without MemGuard, and features of CIFAR100."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import guestlist as gl
from guestlist.datasets import DATA_VARIABLE, load, local
from papers.hypothesis_tests import configurations

PREDICTIONS = "location30_predictions.npz"
FEATURES = "cifar100_features.npz"
# Files of Shokri et al. (2017), as their authors published them; we have no copies.
PURCHASE = ("dataset_purchase",)
TEXAS = ("texas/100/feats", "texas/100/labels")


@dataclass(frozen=True)
class Records:
    """All records, with classes as positions."""

    x: np.ndarray
    y: np.ndarray

    def sides(self, size: int, seed: int) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
        """Return ``(x, y)`` of ``size`` random members and of the same number of non-members."""
        if 2 * size > len(self.x):
            raise gl.InputError(f"Expected size={size} to be at most half of the {len(self.x)} records.")
        rows = np.random.default_rng(seed).permutation(len(self.x))
        return tuple((self.x[part], self.y[part]) for part in (rows[:size], rows[size : 2 * size]))


def location30() -> Records:
    """Load 5,010 people by the 446 places that they visited, in 30 clusters."""
    table = load("location30")
    y = np.unique(table.pop("cluster"), return_inverse=True)[1]
    return Records(table.to_numpy(np.float32), y)


def cifar100() -> Records:
    """Load 60,000 images of 100 classes, as 64 features from a network trained on other images."""
    with np.load(_path(FEATURES), allow_pickle=False) as file:
        x, y = (np.concatenate([file[f"{part}_train"], file[f"{part}_test"]]) for part in "xy")
    x = x.astype(np.float32)
    return Records(x / x.std(), y.astype(int))


def cifar100_images() -> Records:
    """Load all available CIFAR100 images, each channel with mean 0 and variance 1."""
    return Records(*configurations.cifar100())


def purchase100() -> Records:
    """Load shopping records with 600 items and 100 classes: one line per record, the class (from 1), then 0 or 1 per item."""
    table = pd.read_csv(_path(PURCHASE[0]), header=None).to_numpy()
    return Records(table[:, 1:].astype(np.float32), table[:, 0].astype(int) - 1)


def texas100() -> Records:
    """Load hospital stays with 6,169 features and 100 procedures: one line per record in each of two files, classes from 1."""
    features, labels = (pd.read_csv(_path(name), header=None).to_numpy() for name in TEXAS)
    return Records(features.astype(np.float32), labels[:, 0].astype(int) - 1)


def published_outputs(which: str, *, defended: bool) -> gl.Predictions:
    """Return the outputs of the authors' "target" or "shadow" model, with or without MemGuard."""
    with np.load(_path(PREDICTIONS), allow_pickle=False) as file:
        return gl.Predictions(
            file[f"{which}_{'defended_' if defended else ''}probs"].astype(np.float64),
            file[f"{which}_labels"].astype(int),
            file[f"{which}_member"].astype(bool),
        )


def _path(name: str) -> Path:
    path = local(name)
    if path is None:
        raise gl.InputError(f"{name} is not in ${DATA_VARIABLE}. Set it to the folder that holds the file.")
    return Path(path)
