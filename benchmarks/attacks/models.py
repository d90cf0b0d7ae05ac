"""Models for the comparison of attacks: six datasets, four types of model, each model trained on a random half of the records.

Probabilities and membership are stored in a folder, so that attacks can be compared again without training.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from guestlist.datasets import load, local
from guestlist.models import Probabilities

TARGETS, REFERENCES = 8, 32
RECORDS = 2000  # in a pool, of which each model trains on half


def _table(frame: pd.DataFrame, label: str, drop: tuple[str, ...] = ()) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers unchanged, categories as one column per value, and the label as an index."""
    y = np.unique(frame[label].to_numpy(), return_inverse=True)[1]
    x = pd.get_dummies(frame.drop(columns=[label, *drop]), dtype=np.float64)
    return x.to_numpy(dtype=np.float64), y


def _location30() -> tuple[np.ndarray, np.ndarray]:
    return _table(load("location30"), "cluster")


def _digits() -> tuple[np.ndarray, np.ndarray]:
    return _table(load("digits"), "target")


def _adult() -> tuple[np.ndarray, np.ndarray]:
    return _table(load("adult"), "income", ("split",))


def _bank() -> tuple[np.ndarray, np.ndarray]:
    return _table(pd.read_parquet(local("bank_marketing.parquet")), "y")


def _credit() -> tuple[np.ndarray, np.ndarray]:
    return _table(pd.read_parquet(local("credit_default.parquet")), "default.payment.next.month", ("ID",))


def _cifar10() -> tuple[np.ndarray, np.ndarray]:
    with np.load(local("cifar10_features.npz"), allow_pickle=False) as archive:
        return archive["x_train"].astype(np.float64), archive["y_train"].astype(np.intp)


DATASETS: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
    "location30": _location30,
    "digits": _digits,
    "adult": _adult,
    "bank": _bank,
    "credit": _credit,
    "cifar10": _cifar10,
}


def _boosting(seed: int):
    from xgboost import XGBClassifier

    return XGBClassifier(
        n_estimators=50,
        max_depth=4,
        learning_rate=0.2,
        subsample=0.8,
        colsample_bytree=0.5,
        n_jobs=1,
        random_state=seed,
    )


RECIPES: dict[str, Callable[[int], object]] = {
    "logistic": lambda seed: make_pipeline(StandardScaler(), LogisticRegression(C=1.0, max_iter=200)),
    "network": lambda seed: make_pipeline(
        StandardScaler(), MLPClassifier((64,), solver="adam", alpha=1e-4, max_iter=40, random_state=seed)
    ),
    "forest": lambda seed: RandomForestClassifier(100, random_state=seed),
    "boosting": _boosting,
}


@dataclass(frozen=True)
class Models:
    """Outputs of models about one pool of records.

    Attributes:
        probabilities: (models, records, classes).
        member: (models, records), true where a model trained on a record.
        labels: (records,) true class.
    """

    probabilities: np.ndarray
    member: np.ndarray
    labels: np.ndarray

    def signals(self) -> dict[str, np.ndarray]:
        """Return name to (models, records) of signals, on the scale that an audit of the first model would choose."""
        scale = Probabilities().resolved(self.probabilities[0], self.labels)
        rows = [scale.signals(probabilities, self.labels) for probabilities in self.probabilities]
        return {name: np.stack([row[name] for row in rows]) for name in rows[0]}


def collected(dataset: str, recipe: str, folder: Path) -> Models:
    """Return the models of a dataset and a recipe, trained if the folder does not contain them yet."""
    path = folder / f"{dataset}-{recipe}.npz"
    if not path.exists():
        models = trained(dataset, RECIPES[recipe])
        folder.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, probabilities=models.probabilities, member=models.member, labels=models.labels)
    with np.load(path, allow_pickle=False) as archive:
        return Models(**{name: archive[name] for name in ("probabilities", "member", "labels")})


def trained(dataset: str, recipe: Callable, number: int = TARGETS + REFERENCES) -> Models:
    """Train a number of models of a dataset and a recipe."""
    x, y = DATASETS[dataset]()
    rng = np.random.default_rng(0)
    pool = rng.permutation(len(y))[:RECORDS]
    x, y = x[pool], np.unique(y[pool], return_inverse=True)[1]
    member = rng.random((number, len(y))) < 0.5
    probabilities = np.zeros((len(member), len(y), y.max() + 1))
    for k, rows in enumerate(member):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # networks and regressions that stop early
            model = recipe(k).fit(x[rows], y[rows])
        probabilities[k][:, model.classes_] = model.predict_proba(x)
    return Models(probabilities, member, y)
