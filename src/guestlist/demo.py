"""A whole audit on embedded data: an overfitted network on handwritten digits."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

from guestlist.collecting.engines.engine import Progress
from guestlist.report.readable import Results

FULL, QUICK = 32, 8


def demo(
    folder: str | Path | None = None, *, quick: bool = False, jobs: int | None = None, progress: Progress | bool = True
) -> Results:
    """Train a small network on half of the digits and audit it with the other half."""
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler

    from guestlist.auditing import audit
    from guestlist.datasets import DATASETS, load

    table, label = load("digits"), DATASETS["digits"].label
    order = np.random.default_rng(0).permutation(len(table))
    members, nonmembers = (table.iloc[part].reset_index(drop=True) for part in np.array_split(order, 2))
    model = make_pipeline(
        MinMaxScaler(), MLPClassifier((64,), learning_rate_init=0.01, max_iter=200, tol=1e-7, random_state=0)
    )
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # it stops after 200 epochs on purpose, which scikit-learn finds worth a warning
        model.fit(members.drop(columns=label), members[label])
    references = QUICK if quick else FULL
    return audit(
        model, members, nonmembers, label=label, references=references, folder=folder, jobs=jobs, progress=progress
    )
