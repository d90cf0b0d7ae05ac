"""Attacks with 0 to 4 reference models on three datasets: ``python -m benchmarks.minutes.few``, about 10 minutes of CPU time.

Each target trains on 500 records and is evaluated on them and 500 others. A population of 500 records is known not to be in the
training set: quantile regression is fitted on it, and reference and distilled models train on it too. The numbers are
TPRs at 1 % FPR, means over the targets.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path

import numpy as np

import guestlist as gl
from benchmarks.attacks.models import DATASETS, RECIPES
from guestlist._findings.headline import mean_tpr

HERE = Path(__file__).parent
CHOSEN = ("digits", "adult", "cifar10")
SIZE = 500  # records of each set
TARGETS = 4
DISTILLED = 8  # models
# Columns: the attack, and the number of reference models that it gets.
COLUMNS = {
    "0 (loss)": ("loss", 0),
    "0 (quantile)": ("quantile", 0),
    "0 (distillation)": ("distillation", 0),
    "1 (base)": ("base", 1),
    "2 (lira_bayes)": ("lira_bayes", 2),
    "4 (lira_bayes)": ("lira_bayes", 4),
}


def sets_of(dataset: str, seed: int, size: int = SIZE) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return members, non-members and a population of a dataset."""
    x, y = DATASETS[dataset]()
    rows = np.random.default_rng(seed).permutation(len(y))[: 3 * size]
    return [(x[part], y[part]) for part in np.array_split(rows, 3)]


def rates(dataset: str, recipe: str, seed: int, *, size: int = SIZE, distilled: int = DISTILLED) -> dict[str, float]:
    """Audit one target; return the TPR of each column."""
    sets = sets_of(dataset, seed, size)
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")  # networks that stop early, and references without a rare class
        model = RECIPES[recipe](seed).fit(*sets[0])
        evidence = [gl.evidence.Quantiles(), gl.evidence.Distilled(models=distilled, records="pool")]
        gl.collect(model, *sets, folder=folder, references=4, evidence=evidence, seed=seed, jobs=1, baseline=False)
        cases = {count: gl.read_case(folder, references=count) for count in (0, 1, 2, 4)}
    measured = {}
    for column, (attack, count) in COLUMNS.items():
        scores = np.nan_to_num(cases[count].evaluated_scores[attack], nan=-np.inf)
        measured[column] = mean_tpr(scores[None], cases[count].truth.member_evaluated[None])
    return measured


def mean_rates(targets: list[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean TPR of each column over targets."""
    return {column: round(float(np.mean([rate[column] for rate in targets])), 4) for column in targets[0]}


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    results = {}
    for dataset in CHOSEN:
        for recipe in RECIPES:
            results.setdefault(dataset, {})[recipe] = mean_rates([rates(dataset, recipe, k) for k in range(TARGETS)])
            print(dataset, recipe, results[dataset][recipe], flush=True)
    document = {"command": "python -m benchmarks.minutes.few", "targets": TARGETS, "tpr@0.01": results}
    (HERE / "few.json").write_text(json.dumps(document, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
