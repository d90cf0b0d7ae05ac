"""References that train on fewer records than the target: ``python -m benchmarks.minutes.subsample``.

Targets train on half of 2,000 records. References train on the same number of records, on half of it, or on a quarter. Each
row compares numbers of references that take the same time: 1, 2 or 8 of the full size, and two or four times as many smaller
ones. ``corrected`` matches mean and standard deviation of the references' margins to those of the target. The numbers are TPRs
at 1 % FPR, means over the targets, of ``lira_bayes``, or of ``base`` with one reference. It takes about 5 minutes of CPU time.
"""

import argparse
import json
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.attacks.models import DATASETS, RECIPES, RECORDS, Models
from benchmarks.attacks.strength import rates
from benchmarks.minutes.__main__ import headline
from guestlist._views import Signals
from guestlist.attacks import ATTACKS

HERE = Path(__file__).parent
CHOSEN = ("digits", "adult", "cifar10")
TARGETS = 4
SHARES = (1.0, 0.5, 0.25)  # size of a reference's training set as a share of the target's
COSTS = (1, 2, 8)  # of the references, in trainings of the full size


def trained(dataset: str, recipe: Callable, share: float, number: int, seed: int) -> Models:
    """Train models that include each record with probability ``share / 2``."""
    x, y = DATASETS[dataset]()
    pool = np.random.default_rng(0).permutation(len(y))[:RECORDS]
    x, y = x[pool], np.unique(y[pool], return_inverse=True)[1]
    member = np.random.default_rng([seed, int(100 * share)]).random((number, len(y))) < share / 2
    probabilities = np.zeros((number, len(y), y.max() + 1))
    for k, rows in enumerate(member):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # networks and regressions that stop early
            model = recipe(100 * seed + k).fit(x[rows], y[rows])
        probabilities[k][:, model.classes_] = model.predict_proba(x)
    return Models(probabilities, member, y)


def corrected(margins: np.ndarray, member: np.ndarray) -> np.ndarray:
    """Match the references' margins to those of the target, row 0; half of the records are members of the target.

    Args:
        margins: (1 + references, records).
        member: (references, records) membership in the references.
    """
    inside = margins[1:][member]
    outside = margins[1:][~member]
    mean = (inside.mean() + outside.mean()) / 2
    variance = (((inside - mean) ** 2).mean() + ((outside - mean) ** 2).mean()) / 2
    scaled = (margins[1:] - mean) * margins[0].std() / np.sqrt(variance) + margins[0].mean()
    return np.vstack([margins[:1], scaled])


def mean_rate(targets: Models, references: Models, *, correct: bool) -> float:
    """Return the mean TPR at 1 % FPR over the targets."""
    signals = targets.signals()
    of_references = references.signals()
    score = ATTACKS[headline(len(references.member))].score
    tprs = []
    for target, member in enumerate(targets.member):
        matrices = {name: np.vstack([signals[name][target], of_references[name]]) for name in signals}
        if correct:
            matrices["margin"] = corrected(matrices["margin"], references.member)
        tprs.append(rates(score(Signals(matrices, references.member, targets.labels)), member)[1])
    return round(float(np.mean(tprs)), 4)


def rows_of(dataset: str, recipe: str) -> list[dict]:
    """Return the TPR for each size and number of references."""
    targets = trained(dataset, RECIPES[recipe], 1.0, TARGETS, seed=1)
    rows = []
    for share in SHARES:
        references = trained(dataset, RECIPES[recipe], share, int(max(COSTS) / share), seed=2)
        for cost in COSTS:
            count = int(cost / share)
            first = Models(references.probabilities[:count], references.member[:count], references.labels)
            row = {"cost": cost, "share": share, "references": count}
            rows.append(row | {"tpr@0.01": mean_rate(targets, first, correct=False)})
            if count > 1:
                rows[-1]["corrected"] = mean_rate(targets, first, correct=True)
    return rows


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    results = {}
    for dataset in CHOSEN:
        for recipe in RECIPES:
            results.setdefault(dataset, {})[recipe] = rows_of(dataset, recipe)
            print(dataset, recipe, results[dataset][recipe], flush=True)
    document = {"command": "python -m benchmarks.minutes.subsample", "targets": TARGETS, "datasets": results}
    (HERE / "subsample.json").write_text(json.dumps(document, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
