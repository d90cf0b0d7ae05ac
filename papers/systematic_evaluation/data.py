"""The paper's data that we have: Location30's records, and the answers of a model of them with and without MemGuard."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import guestlist as gl
from guestlist.datasets import DATA_VARIABLE, load, local

PREDICTIONS = "location30_predictions.npz"


@dataclass(frozen=True)
class Records:
    """All records, with classes as positions."""

    x: np.ndarray
    y: np.ndarray

    def sides(self, size: int, seed: int) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
        """``(x, y)`` of ``size`` random members and of as many non-members."""
        if 2 * size > len(self.x):
            raise gl.InputError(f"Expected size={size} to be at most half of the {len(self.x)} records.")
        rows = np.random.default_rng(seed).permutation(len(self.x))
        return tuple((self.x[part], self.y[part]) for part in (rows[:size], rows[size : 2 * size]))


def location30() -> Records:
    """5,010 people by the 446 places they went to, in 30 clusters."""
    table = load("location30")
    y = np.unique(table.pop("cluster"), return_inverse=True)[1]
    return Records(table.to_numpy(np.float32), y)


def published_answers(which: str, *, defended: bool) -> gl.Predictions:
    """What the authors' "target" or "shadow" model answered, as MemGuard changed it or not."""
    path = local(PREDICTIONS)
    if path is None:
        raise gl.InputError(f"{PREDICTIONS} is not in ${DATA_VARIABLE}. Set it to the folder that holds the file.")
    with np.load(path, allow_pickle=False) as file:
        return gl.Predictions(
            file[f"{which}_{'defended_' if defended else ''}probs"].astype(np.float64),
            file[f"{which}_labels"].astype(int),
            file[f"{which}_member"].astype(bool),
        )
