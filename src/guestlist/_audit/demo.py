"""Complete audit on embedded data: an overfitted network on handwritten digits."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from guestlist._collect import Progress
from guestlist._findings import Results

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

FULL = 32
QUICK = 8
# A typical split: the AUC of its network is near the middle of the prediction interval for networks trained on other
# halves. With seed 0 it is near the lower end, and the first report of a new user might explain a rare event
# (benchmarks/error_rates/prediction_interval.py trains both).
SPLIT_SEED = 5


def demo(
    folder: str | Path | None = None, *, quick: bool = False, jobs: int | None = None, progress: Progress | bool = True
) -> Results:
    """Train a small network on half of the digits and audit it with the other half."""
    from guestlist._audit.flow import audit

    return audit(
        **demo_inputs(),
        references=QUICK if quick else FULL,
        folder=folder,
        jobs=jobs,
        progress=progress,
        # The folder notes that it belongs to the demo: later commands create the model and the records again.
        about={"demo": True},
    )


def demo_inputs() -> dict[str, Any]:
    """Return the model and the records of the demo, as arguments of ``audit``."""
    from guestlist.datasets import DATASETS, load

    table = load("digits")
    label = DATASETS["digits"].label
    members, nonmembers = (table.iloc[part].reset_index(drop=True) for part in split(len(table)))
    model = network(seed=0)
    with warnings.catch_warnings():
        # The network stops after 60 epochs on purpose, and scikit-learn warns about it.
        warnings.simplefilter("ignore")
        model.fit(members.drop(columns=label), members[label])
    return {"model": model, "members": members, "nonmembers": nonmembers, "label": label}


def split(records: int, seed: int = SPLIT_SEED) -> list[np.ndarray]:
    """Return the rows of the members and of the non-members."""
    return np.array_split(np.random.default_rng(seed).permutation(records), 2)


def network(seed: int) -> Pipeline:
    """Return the untrained network of the demo: small, with large steps, so that it memorises within seconds."""
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler

    return make_pipeline(
        MinMaxScaler(),
        MLPClassifier((32,), learning_rate_init=0.03, max_iter=60, tol=1e-7, random_state=seed),
    )
