"""Data, network and training of the paper's configurations that our data allow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import guestlist as gl
from guestlist.datasets import load, local


@dataclass(frozen=True)
class Configuration:
    """One row of the paper's tables.

    Args:
        dataset: function that loads (x, y).
        network: function that returns a module with new parameters.
        fit: training recipe.
        members: number of training records of a model.
        pool: number of records from which all models draw their members.
    """

    dataset: Callable[[], tuple[np.ndarray, np.ndarray]]
    network: Callable
    fit: gl.defences.Fit
    members: int
    pool: int


def location30() -> tuple[np.ndarray, np.ndarray]:
    table = load("location30")
    y = table.pop("cluster").to_numpy()
    return table.to_numpy(dtype=np.float32), y


def mnist() -> tuple[np.ndarray, np.ndarray]:
    path = local("mnist.npz")
    if path is None:
        raise gl.InputError("mnist.npz is not in $GUESTLIST_DATA: arrays x_train (60000, 28, 28) and y_train.")
    with np.load(Path(path), allow_pickle=False) as archive:
        x, y = archive["x_train"], archive["y_train"]
    return (x.astype(np.float32) / 255)[:, None], y.astype(np.int64)


def cifar100() -> tuple[np.ndarray, np.ndarray]:
    """Load all 5,500 available images, each channel with mean 0 and variance 1."""
    path = local("cifar100_subset.npz")
    if path is None:
        raise gl.InputError("cifar100_subset.npz is not in $GUESTLIST_DATA: arrays x_train, y_train, x_test, y_test.")
    with np.load(Path(path), allow_pickle=False) as archive:
        x, y = (np.concatenate([archive[f"{name}_train"], archive[f"{name}_test"]]) for name in "xy")
    x = x.astype(np.float32)
    standard = (x - x.mean(axis=(0, 1, 2))) / x.std(axis=(0, 1, 2))
    return np.ascontiguousarray(standard.transpose(0, 3, 1, 2)), y.astype(np.int64)


def _mlp():
    return gl.defences.mlp(446, 30)


def _shallow():
    return gl.defences.mlp(446, 30, hidden=(128,))


def _cnn():
    return gl.defences.cnn(28, 10)


def _colour_cnn():
    return gl.defences.cnn(32, 100, channels=3)


# Attack L trains thousands of models for single records: with one hidden layer they take a fifth of the time.
# Momentum, which the paper uses only on CIFAR-10, reaches its training accuracy in a few epochs; twice the records
# need fewer of them.
_SGD = {"optimizer": "sgd", "momentum": 0.9, "batch_size": 32}
_PLAIN = gl.defences.Fit(epochs=3, learning_rate=0.05, **_SGD)
_L2 = gl.defences.Fit(epochs=4, learning_rate=0.01, weight_decay=0.05, **_SGD)

CONFIGURATIONS: dict[str, Configuration] = {
    "location30": Configuration(location30, _mlp, gl.defences.Fit(epochs=20), members=1000, pool=5010),
    "location30 shallow": Configuration(
        location30, _shallow, gl.defences.Fit(epochs=10, learning_rate=0.003), members=1000, pool=5010
    ),
    "mnist Ia": Configuration(mnist, _cnn, _PLAIN, members=2500, pool=7500),
    "mnist Ib": Configuration(mnist, _cnn, _L2, members=2500, pool=7500),
    "mnist IIa": Configuration(mnist, _cnn, replace(_PLAIN, epochs=2), members=5000, pool=12500),
    "mnist IIb": Configuration(mnist, _cnn, replace(_L2, epochs=2), members=5000, pool=12500),
    "cifar100 Ia": Configuration(
        cifar100, _colour_cnn, replace(_PLAIN, epochs=10, learning_rate=0.01), members=2500, pool=5500
    ),
}
