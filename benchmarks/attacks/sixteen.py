"""Compare LiRA with 64 references to the default attack with 16: ``python -m benchmarks.attacks.sixteen``.

Boosted trees of five types on Adult: 8 targets and 64 references, each trained on a random half of 2,000 records. Each
target is attacked with all references, and with four groups of 16 in turn. It takes about a minute of CPU time.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier

from benchmarks.attacks.models import RECIPES, TARGETS, trained
from benchmarks.attacks.strength import rates
from guestlist._views import Signals
from guestlist.attacks import ATTACKS

HERE = Path(__file__).parent
DATASET = "adult"
MANY, FEW = 64, 16
ATTACK_WITH_MANY, ATTACK_WITH_FEW = "lira", "lira_bayes"


def _xgboost(seed: int, **options):
    from xgboost import XGBClassifier

    return XGBClassifier(n_jobs=1, random_state=seed, **options)


MODELS: dict[str, Callable[[int], object]] = {
    "XGBoost, 50 trees of depth 4": RECIPES["boosting"],
    "XGBoost, default": _xgboost,
    "XGBoost, 200 trees of depth 6": lambda seed: _xgboost(seed, n_estimators=200, max_depth=6, subsample=0.8),
    "histogram boosting, default": lambda seed: HistGradientBoostingClassifier(random_state=seed),
    "gradient boosting, 200 trees of depth 5": lambda seed: GradientBoostingClassifier(
        n_estimators=200, max_depth=5, random_state=seed
    ),
}


def tprs(recipe: Callable[[int], object], *, few: int = FEW, many: int = MANY) -> dict[str, np.ndarray]:
    """Return (targets,) the TPR at 1 % FPR of LiRA with many references, and of the default attack with few."""
    models = trained(DATASET, recipe, number=TARGETS + many)
    signals = models.signals()
    outcomes: dict[str, list[float]] = {"many": [], "few": []}
    for target in range(TARGETS):
        for key, attack, size in (("many", ATTACK_WITH_MANY, many), ("few", ATTACK_WITH_FEW, few)):
            groups = np.arange(TARGETS, TARGETS + many).reshape(-1, size)
            outcomes[key].append(float(np.mean([_tpr(attack, models, signals, target, group) for group in groups])))
    return {key: np.array(rows) for key, rows in outcomes.items()}


def _tpr(attack: str, models, signals: dict[str, np.ndarray], target: int, group: np.ndarray) -> float:
    rows = np.append(target, group)
    outputs = {name: matrix[rows] for name, matrix in signals.items()}
    view = Signals(outputs, models.member[group], models.labels)
    return rates(ATTACKS[attack].score(view), models.member[target])[1]


def compare(recipe: Callable[[int], object], **sizes: int) -> dict[str, float]:
    """Return both TPRs, and their mean difference over targets with its standard error."""
    outcomes = tprs(recipe, **sizes)
    difference = outcomes["few"] - outcomes["many"]
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    results = {key: rows.mean() for key, rows in outcomes.items()}
    results |= {"difference": difference.mean(), "its standard error": error}
    return {key: round(float(value), 4) for key, value in results.items()}


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    results = {
        "command": "python -m benchmarks.attacks.sixteen",
        "dataset": DATASET,
        "targets": TARGETS,
        "many": {"attack": ATTACK_WITH_MANY, "references": MANY},
        "few": {"attack": ATTACK_WITH_FEW, "references": FEW},
        "models": {},
    }
    for name, recipe in MODELS.items():
        results["models"][name] = compare(recipe)
        print(name, results["models"][name], flush=True)
    (HERE / "sixteen.json").write_text(json.dumps(results, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
