"""Comparison of statistics of a residual for attacks: ``python -m benchmarks.regression``, a few minutes.

Six targets of each type of model, with 64 others as references, each trained on a random half of the records. Prints AUC
and TPR at 1 % FPR, mean over targets and models; see ``guestlist.models.scales.value_margin``.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import guestlist as gl
from guestlist.metrics import auc, tpr_at_fpr

TARGETS, REFERENCES = 6, (64, 16)
ATTACKS = ("reference", "difficulty", "lira", "lira_offline", "lira_bayes", "lira_bayes_offline")
MODELS = {
    "forest": lambda seed: RandomForestRegressor(50, random_state=seed),
    "boosting": lambda seed: GradientBoostingRegressor(max_depth=4, subsample=0.8, random_state=seed),
    "network": lambda seed: make_pipeline(
        StandardScaler(),
        MLPRegressor(hidden_layer_sizes=(64,), solver="lbfgs", max_iter=150, random_state=seed),
    ),
    "ridge": lambda seed: make_pipeline(StandardScaler(), Ridge(1e-3)),
}
# Functions of residuals r and the median s2 of the target's squared residuals.
STATISTICS = {
    "-r^2": lambda r, s2: -(r**2),
    "-|r|": lambda r, s2: -np.abs(r),
    "-sqrt|r|": lambda r, s2: -np.sqrt(np.abs(r)),
    "-log(r^2 + s^2 / 100)": lambda r, s2: -np.log(r**2 + s2 / 100),
    "-log(r^2 + s^2 / 10)": lambda r, s2: -np.log(r**2 + s2 / 10),
    "-log(r^2 + s^2)": lambda r, s2: -np.log(r**2 + s2),
    "-log(r^2 + 10 s^2)": lambda r, s2: -np.log(r**2 + 10 * s2),
}


def residuals(x: np.ndarray, y: np.ndarray, make) -> tuple[np.ndarray, np.ndarray]:
    """Return (models, records) residuals and membership."""
    member = np.random.default_rng(1).random((TARGETS + max(REFERENCES), len(y))) < 0.5
    return np.stack([y - make(k).fit(x[rows], y[rows]).predict(x) for k, rows in enumerate(member)]), member


def mean_rates(results: np.ndarray, member: np.ndarray, statistic, references: int) -> dict[str, np.ndarray]:
    """Return attack to (AUC, TPR at 1 % FPR), mean over the targets."""
    rates: dict[str, list] = {name: [] for name in ATTACKS}
    for target in range(TARGETS):
        rows = np.r_[target, TARGETS : TARGETS + references]
        margin = statistic(results[rows], np.median(results[target] ** 2))
        view = gl.attacks.Signals({"margin": margin}, member[rows[1:]], np.zeros(results.shape[1], dtype=int))
        for name, into in rates.items():
            scores = gl.attacks.ATTACKS[name].score(view)
            into.append((auc(scores, member[target]).value, tpr_at_fpr(scores, member[target], 0.01).value))
    return {name: np.mean(pairs, axis=0) for name, pairs in rates.items()}


def main() -> None:
    argparse.ArgumentParser(prog="python -m benchmarks.regression", description=__doc__).parse_args()
    warnings.simplefilter("ignore")  # networks that stop after 150 steps
    datasets = load_diabetes(return_X_y=True), make_friedman1(1000, noise=1.0, random_state=0)
    collected = [residuals(x, y, make) for x, y in datasets for make in MODELS.values()]
    rows = []
    for references in REFERENCES:
        for name, statistic in STATISTICS.items():
            every = [mean_rates(results, member, statistic, references) for results, member in collected]
            means = {attack: np.mean([result[attack] for result in every], axis=0) for attack in ATTACKS}
            row = "  ".join(f"{attack} {a:.3f}/{t:.3f}" for attack, (a, t) in means.items())
            print(f"{references} references  {name:22} {row}", flush=True)
            metrics = {attack: {"auc": round(a, 4), "tpr@0.01": round(t, 4)} for attack, (a, t) in means.items()}
            rows.append({"references": references, "statistic": name, **metrics})
    (Path(__file__).parent / "results.json").write_text(json.dumps({"targets": TARGETS, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
