"""A learned combination of attacks, as an experiment: ``python -m benchmarks.attacks.learned``.

Boosted trees on statistics of the references are compared with the best single attack.

Every reference in turn is a stand-in target of the other references. Trees are fitted to the statistics of stand-ins, whose
members are known, and then score the target. The target is no reference of a stand-in, and a record is scored by trees that
were fitted to other records.
"""

from __future__ import annotations

import argparse
import json
import re
import warnings
from pathlib import Path

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from benchmarks.attacks.models import REFERENCES, TARGETS, collected
from benchmarks.attacks.strength import RUN, rates
from guestlist._findings.headline import FPR
from guestlist._views import Signals, View
from guestlist.attacks import ATTACKS

SCORES = ("loss", "entropy", "difficulty", "rmia", "rmia_offline", "base", "lira", "lira_bayes", "lira_bayes_offline")
FOLDS = 2
MOST_ROWS = 12_000  # to fit to


def learned(view: Signals, seed: int = 0) -> np.ndarray:
    """Return (records,) log-odds of membership.

    Args:
        view: the adversary's view of the target.
        seed: random seed of the folds and of the rows that are fitted to.
    """
    rng = np.random.default_rng(seed)
    of_stand_ins, member = _statistics(view.stand_ins), view.reference_member
    of_target = _statistics(view)
    fold = rng.integers(0, FOLDS, len(view.labels))
    scores = np.empty(len(view.labels))
    for k in range(FOLDS):
        model, record = np.nonzero(np.broadcast_to(fold != k, member.shape))
        chosen = rng.permutation(len(model))[:MOST_ROWS]
        model, record = model[chosen], record[chosen]
        trees = HistGradientBoostingClassifier(
            max_iter=60, learning_rate=0.1, max_leaf_nodes=12, min_samples_leaf=40, random_state=seed
        )
        trees.fit(of_stand_ins[model, record], member[model, record])
        scores[fold == k] = trees.decision_function(of_target[fold == k])
    return scores


def _statistics(view: View) -> np.ndarray:
    """Return (records, statistics), or (stand-ins, records, statistics)."""
    inside, outside = view.inside("margin"), view.outside("margin")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        columns = [view.target("margin"), inside.mean, outside.mean, inside.variance, outside.variance]
        columns += [ATTACKS[name].score(view) for name in SCORES]
    return np.stack(columns, axis=-1)


DATASETS_COMPARED = ("location30", "digits", "adult", "bank", "cifar10")
RECIPES_COMPARED = ("logistic", "forest", "boosting")
LEARNED = "learned combination"


def compared(dataset: str, recipe: str, folder: Path, targets: int) -> dict[str, object]:
    """Return the learned combination minus the attack with the best TPR, paired by target, and its AUC on null data."""
    models = collected(dataset, recipe, folder)
    signals, member = models.signals(), models.member
    references = np.arange(TARGETS, TARGETS + REFERENCES)
    random_membership = np.random.default_rng(1).random(member.shape) < 0.5
    results: dict[str, list] = {name: [] for name in (*RUN, LEARNED)}
    null = []
    for target in range(targets):
        values = {name: matrix[np.r_[target, references]] for name, matrix in signals.items()}
        view = Signals(values, member[references], models.labels)
        for name, attack in RUN.items():
            results[name].append(rates(attack.score(view), member[target]))
        results[LEARNED].append(rates(learned(view), member[target]))
        null.append(
            rates(learned(Signals(values, random_membership[references], models.labels)), random_membership[target])[0]
        )
    best = max(RUN, key=lambda name: float(np.mean(results[name], axis=0)[1]))
    difference = np.array(results[LEARNED]) - np.array(results[best])
    means = difference.mean(axis=0)
    errors = difference.std(axis=0, ddof=1) / np.sqrt(targets)
    return {
        "dataset": dataset,
        "recipe": recipe,
        "best attack": best,
        "auc": round(float(means[0]), 4),
        "auc_se": round(float(errors[0]), 4),
        f"tpr@{FPR:g}": round(float(means[1]), 4),
        f"tpr@{FPR:g}_se": round(float(errors[1]), 4),
        "null_aucs": [round(value, 4) for value in null],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, default=Path("audits/strength"), help="Folder of trained models.")
    parser.add_argument("--targets", type=int, default=4, help="Number of targets.")
    options = parser.parse_args()
    rows = []
    for dataset in DATASETS_COMPARED:
        for recipe in RECIPES_COMPARED:
            rows.append(compared(dataset, recipe, options.models, options.targets))
            print(rows[-1], flush=True)
    null = np.concatenate([row["null_aucs"] for row in rows])
    results = {
        "command": "python -m benchmarks.attacks.learned",
        "targets": options.targets,
        "references": REFERENCES,
        "null AUC": {
            "auc": round(float(null.mean()), 4),
            "se": round(float(null.std(ddof=1) / np.sqrt(len(null))), 4),
            "targets": len(null),
        },
        "learned combination minus the best attack": rows,
    }
    text = re.sub(r"\[[^\[\]{}]*\]", lambda match: " ".join(match[0].split()), json.dumps(results, indent=1))
    Path(__file__).with_name("learned.json").write_text(text + "\n", "utf-8")
    print(results["null AUC"])


if __name__ == "__main__":
    main()
