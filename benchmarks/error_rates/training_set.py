"""Audits of models that were not trained on the "members": ``python -m benchmarks.error_rates.training_set``, about ten minutes.

Each simulated audit has two targets with the same reference models: one was trained on the members, the other on the
same number of other records of the population. For both the simulation counts how often the audit doubts that the members
are the training set (GL129), flags a record as exposed, or reports the model as unusual for its training procedure.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from benchmarks.error_rates.claims import case_of, signal_attacks
from guestlist._findings import exposure, headline, training_set
from guestlist._views import Rotation
from guestlist.models import Probabilities, Values

HERE = Path(__file__).parent
ON_MEMBERS, ON_OTHERS = 0, 1


class NoisyLogisticRegression(LogisticRegression):
    """Logistic regression with noise on its coefficients, as in output perturbation for differential privacy."""

    def __init__(self, seed: int = 0):
        super().__init__(C=0.1)
        self.seed = seed

    def fit(self, x: np.ndarray, y: np.ndarray) -> NoisyLogisticRegression:
        super().fit(x, y)
        self.coef_ = self.coef_ + np.random.default_rng(self.seed).normal(0, 0.15, self.coef_.shape)
        return self


Make = Callable[[int], Any]
MODELS: dict[str, Make] = {
    "forest": lambda seed: RandomForestClassifier(10, random_state=seed),
    "tree": lambda seed: DecisionTreeClassifier(random_state=seed),
    "boosted trees": lambda seed: GradientBoostingClassifier(n_estimators=15, random_state=seed),
    "5 neighbours": lambda seed: KNeighborsClassifier(5),
    "logistic regression": lambda seed: LogisticRegression(C=100.0, max_iter=300),
    "ridge regression": lambda seed: Ridge(1.0),
    "forest, leaves of 20": lambda seed: RandomForestClassifier(10, min_samples_leaf=20, random_state=seed),
    "logistic regression, C = 0.001": lambda seed: LogisticRegression(C=0.001),
    "logistic regression, noise on its coefficients": NoisyLogisticRegression,
}
# Model, records of each set, columns, reference models and audits, by name.
SETTINGS: dict[str, tuple[str, int, int, int, int]] = {
    "forest": ("forest", 200, 8, 16, 60),
    "forest, 100 + 100, 8 references": ("forest", 100, 5, 8, 60),
    "tree": ("tree", 200, 8, 16, 60),
    "tree, 100 + 100, 8 references": ("tree", 100, 5, 8, 60),
    "boosted trees": ("boosted trees", 200, 8, 16, 60),
    "5 neighbours": ("5 neighbours", 200, 8, 16, 60),
    "logistic regression": ("logistic regression", 200, 8, 16, 60),
    "logistic regression, 40 columns": ("logistic regression", 200, 40, 16, 60),
    "ridge regression": ("ridge regression", 200, 20, 16, 60),
    "forest, leaves of 20": ("forest, leaves of 20", 200, 8, 16, 60),
    "logistic regression, C = 0.001": ("logistic regression, C = 0.001", 200, 8, 16, 60),
    "logistic regression, noise on its coefficients": (
        "logistic regression, noise on its coefficients",
        200,
        8,
        16,
        60,
    ),
}


def simulate(model: str, records: int, columns: int, references: int, seed: int) -> Rotation:
    """Train both targets and the reference models; return their outputs for members and non-members.

    Rows 0 and 1 are the targets, with the first half of the records as their members.
    """
    rng = np.random.default_rng([24, records, columns, references, seed])
    x = rng.normal(size=(3 * records, columns))
    signal = x[:, 0] + x[:, 1] * x[:, 2] + rng.normal(size=3 * records)
    regression = isinstance(MODELS[model](0), Ridge)
    y = signal if regression else (signal > 0).astype(np.int64)
    pool = slice(0, 2 * records)
    member = rng.random((2 + references, 2 * records)) < 0.5
    member[:2] = np.arange(2 * records) < records
    outputs = []
    for k, rows in enumerate(member):
        train = np.arange(2 * records, 3 * records) if k == ON_OTHERS else np.flatnonzero(rows)
        fitted = MODELS[model](1000 * seed + k).fit(x[train], y[train])
        outputs.append(fitted.predict(x[pool])[:, None] if regression else fitted.predict_proba(x[pool]))
    scale = (Values() if regression else Probabilities()).resolved(outputs[0], y[pool])
    by_model = [scale.signals(result, y[pool]) for result in outputs]
    labels = np.zeros(2 * records, dtype=np.int64) if regression else y[pool]
    return Rotation({name: np.stack([result[name] for result in by_model]) for name in by_model[0]}, member, labels)


def findings(simulation: Rotation, target: int) -> dict[str, float]:
    """Return the findings of an audit of one of the two targets with the default attacks."""
    models = np.r_[target, 2 : len(simulation.member)]
    attacks = tuple(name for name, attack in signal_attacks().items() if set(attack.needs) <= set(simulation.values))
    case = case_of(simulation.take(models), attacks, np.zeros(len(simulation.labels), int))
    doubt = case.of(training_set.find_training_set_doubt)
    results = case.of(exposure.find_exposure)
    recipe_models = case.of(headline.find).same_recipe
    if doubt is None or results is None or recipe_models is None or recipe_models.prediction_interval is None:
        raise ValueError("The simulation has too few reference models to compare with.")
    return {
        "doubted": doubt.doubted,
        "flags a record": results.flagged > 0,
        "flagged": results.flagged,
        "unusual": not doubt.doubted
        and not recipe_models.prediction_interval.low <= doubt.auc <= recipe_models.prediction_interval.high,
        "auc": doubt.auc,
        "expected_auc": doubt.expected,
    }


def error_rates(setting: str, audits: int | None = None) -> dict[str, Any]:
    """Return means over audits, for the target that was trained on the members and for the other one."""
    *method, at_most = SETTINGS[setting]
    number = at_most if audits is None else audits
    rows: dict[str, list[dict[str, float]]] = {"trained on the members": [], "trained on other records": []}
    for seed in range(number):
        simulation = simulate(*method, seed=seed)
        for (_, results), target in zip(rows.items(), (ON_MEMBERS, ON_OTHERS), strict=True):
            results.append(findings(simulation, target))
    means = {
        name: {key: round(float(np.mean([row[key] for row in results])), 4) for key in results[0]}
        for name, results in rows.items()
    }
    return {"audits": number, "records": [method[1], method[1]], "references": method[3], **means}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", nargs="*", choices=list(SETTINGS), default=list(SETTINGS))
    parser.add_argument("--audits", type=int, help="instead of the number in SETTINGS")
    options, path = parser.parse_args(), HERE / "training_set.json"
    warnings.simplefilter("ignore")
    for setting in options.settings:
        results = error_rates(setting, options.audits)
        print(setting, json.dumps(results), flush=True)
        stored = json.loads(path.read_text())["settings"] if path.exists() else {}
        stored[setting] = results
        content = {
            "command": "python -m benchmarks.error_rates.training_set",
            "level": training_set.LEVEL,
            "q": exposure.Q,
            "settings": {name: stored[name] for name in SETTINGS if name in stored},
        }
        path.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
