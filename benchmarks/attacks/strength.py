"""Compare the default attacks on six datasets and four types of model: ``python -m benchmarks.attacks.strength``.

Forty models of each, trained on random halves of the records: 8 targets, and 32 references that are never targets. With fewer
references each target is attacked with two groups of them in turn. A record without a score counts as the least likely
member. Standard errors are over targets. Training takes about 7 minutes of CPU time, the comparison one or two.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np

from benchmarks.attacks.models import DATASETS, RECIPES, REFERENCES, TARGETS, Models, collected
from guestlist._findings.headline import FPR, mean_tpr
from guestlist._kernels import aucs
from guestlist._views import Signals
from guestlist.attacks import ATTACKS

HERE = Path(__file__).parent
COUNTS = (1, 2, 4, 8, 32)
HELD_OUT = slice(TARGETS // 2, None)  # targets; three constants of lira_bayes were chosen on the others
GROUPS = 2  # of references, with which a target is attacked in turn
RUN = {name: attack for name, attack in ATTACKS.items() if attack.default and not attack.evidence}


def metrics_by_attack(
    models: Models, signals: dict[str, np.ndarray], references: int, run: Mapping[str, Callable]
) -> dict[str, np.ndarray]:
    """Return attack to (targets, 3): AUC, TPR at 1 % FPR, and AUC where membership is random and nothing leaks.

    Args:
        models: their outputs.
        signals: signals that an audit computes from them.
        references: number of references.
        run: attack to its scores.
    """
    rng, member = np.random.default_rng(references), models.member
    results: dict[str, list] = {name: [] for name in run}
    for target in range(TARGETS):
        random_membership = rng.random(member.shape) < 0.5
        runs: dict[str, list] = {name: [] for name in run}
        for first, group in enumerate(groups(references, target)):
            rows = np.r_[target, group]
            outputs = {name: matrix[rows] for name, matrix in signals.items()}
            view, null = (Signals(outputs, truth[group], models.labels) for truth in (member, random_membership))
            for name, score in run.items():
                auc, tpr = rates(score(view), member[target])
                runs[name].append((auc, tpr, np.nan if first else rates(score(null), random_membership[target])[0]))
        for name, rows_of in runs.items():
            results[name].append(np.nanmean(rows_of, axis=0))
    return {name: np.array(rows) for name, rows in results.items()}


def groups(references: int, target: int) -> Iterator[np.ndarray]:
    """Yield up to ``GROUPS`` disjoint groups of references; other targets begin with others."""
    number = REFERENCES // references
    for k in range(min(GROUPS, number)):
        start = TARGETS + (target + k) % number * references
        yield np.arange(start, start + references)


def rates(scores: np.ndarray, member: np.ndarray) -> tuple[float, float]:
    """Return AUC and TPR at 1 % FPR."""
    scores = np.where(np.isnan(scores), -np.inf, scores)[None]
    return float(aucs(scores, member[None])[0]), mean_tpr(scores, member[None])


def row(results: np.ndarray) -> list[float]:
    """Return AUC, its standard error, TPR, its standard error."""
    means, errors = results.mean(axis=0), results.std(axis=0, ddof=1) / np.sqrt(len(results))
    return [round(float(value), 4) for value in (means[0], errors[0], means[1], errors[1])]


def share_of_best(cells: list[dict[str, np.ndarray]]) -> dict[str, float]:
    """Return attack to its mean TPR over datasets, as a share of the best attack's on each dataset; best first."""
    names = list(cells[0])
    tprs = np.array([[cell[name][:, 1].mean() for name in names] for cell in cells])
    shares = tprs.mean(axis=0) / tprs.max(axis=1).mean()
    order = np.argsort(-shares, kind="stable")
    return {names[k]: round(float(shares[k]), 3) for k in order}


def mean_of_shares(cells: list[dict[str, np.ndarray]]) -> dict[str, float]:
    """Return attack to the mean over datasets of its TPR as a share of the best one's; best first."""
    names = list(cells[0])
    tprs = np.array([[cell[name][:, 1].mean() for name in names] for cell in cells])
    shares = (tprs / tprs.max(axis=1, keepdims=True)).mean(axis=0)
    order = np.argsort(-shares, kind="stable")
    return {names[k]: round(float(shares[k]), 3) for k in order}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, default=Path("audits/strength"), help="Folder of trained models.")
    folder = parser.parse_args().models
    cells: dict[tuple[str, str, int], dict[str, np.ndarray]] = {}
    for dataset in DATASETS:
        for recipe in RECIPES:
            models = collected(dataset, recipe, folder)
            signals = models.signals()
            for references in COUNTS:
                run = {name: attack.score for name, attack in RUN.items() if attack.references <= references}
                cells[dataset, recipe, references] = metrics_by_attack(models, signals, references, run)
            print(dataset, recipe, flush=True)
    by_type = {
        (recipe, references): [cells[dataset, recipe, references] for dataset in DATASETS]
        for recipe in RECIPES
        for references in COUNTS
    }
    null = {name: np.concatenate([cell[name][:, 2] for cell in cells.values() if name in cell]) for name in RUN}
    results = {
        "command": "python -m benchmarks.attacks.strength",
        "targets": TARGETS,
        "references": COUNTS,
        "share of the best attack's TPR, mean over datasets": {
            recipe: {str(count): mean_of_shares(by_type[recipe, count]) for count in COUNTS} for recipe in RECIPES
        },
        "the same on targets that played no part in the design of lira_bayes": {
            recipe: {
                str(count): mean_of_shares(
                    [{name: outcomes[HELD_OUT] for name, outcomes in cell.items()} for cell in by_type[recipe, count]]
                )
                for count in COUNTS
            }
            for recipe in RECIPES
        },
        "mean TPR over datasets, as a share of the best attack's": {
            recipe: {str(count): share_of_best(by_type[recipe, count]) for count in COUNTS} for recipe in RECIPES
        },
        "null AUC": {
            name: {
                "auc": round(float(aucs_.mean()), 4),
                "se": round(float(aucs_.std(ddof=1) / np.sqrt(len(aucs_))), 4),
                "targets": len(aucs_),
            }
            for name, aucs_ in null.items()
        },
        "columns": ["auc", "its standard error", f"tpr@{FPR:g}", "its standard error"],
        "attacks": {
            dataset: {
                recipe: {
                    str(count): {name: row(outcomes) for name, outcomes in cells[dataset, recipe, count].items()}
                    for count in COUNTS
                }
                for recipe in RECIPES
            }
            for dataset in DATASETS
        },
    }
    path = HERE / "strength.json"
    text = re.sub(r"\[[^\[\]]*\]", lambda match: " ".join(match[0].split()), json.dumps(results, indent=1))
    path.write_text(text + "\n", "utf-8")
    print(json.dumps({key: value for key, value in results.items() if key != "attacks"}, indent=1))


if __name__ == "__main__":
    main()
