"""Share of the TPR with 128 reference models that a budget of minutes reaches: ``python -m benchmarks.minutes``.

The clock is simulated: one training counts as 30 seconds, with two processes, as for a model that is expensive to retrain. An
audit with a budget equals an audit with the number of references that fits (tests/collect/test_within_minutes.py), so the
models of each dataset are small, and trained once. Training takes about 3 minutes of CPU time.
"""

import argparse
import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from benchmarks.attacks.models import DATASETS, RECIPES, Models, trained
from benchmarks.attacks.strength import rates
from guestlist import WithinMinutes
from guestlist._collect import train_within
from guestlist._findings.headline import PREFERRED
from guestlist._views import Signals
from guestlist.attacks import ATTACKS

HERE = Path(__file__).parent
CHOSEN = ("digits", "adult", "cifar10")
MINUTES = (1, 5, 15)
SECONDS = 30.0  # of one training, on the simulated clock
JOBS = 2
TARGETS = 8
AT_MOST = 128


def references_within(minutes: float, seconds: float = SECONDS, jobs: int = JOBS, at_most: int = AT_MOST) -> int:
    """Return the number of reference models that fit into some minutes, on a simulated clock."""
    elapsed = 0.0
    count = 0

    def train(total: int) -> int:
        nonlocal elapsed, count
        size = total - count
        elapsed += seconds * -(-size // jobs)
        count = total
        return size

    budget = WithinMinutes(minutes, at_most)
    spent = train_within(budget, train, lambda expected: count, existing=0, jobs=jobs, elapsed=lambda: elapsed)
    return spent.references


def headline(references: int) -> str:
    """Return the attack that an audit with this number of references prefers."""
    return next(name for name in PREFERRED if ATTACKS[name].references <= references)


def mean_tpr(models: Models, references: int, targets: int = TARGETS) -> float:
    """Return the mean TPR at 1 % FPR over targets, with the first of the other models as references."""
    signals = models.signals()
    group = np.arange(targets, targets + references)
    score = ATTACKS[headline(references)].score
    tprs = []
    for target in range(targets):
        rows = np.r_[target, group]
        view = Signals({name: matrix[rows] for name, matrix in signals.items()}, models.member[group], models.labels)
        tprs.append(rates(score(view), models.member[target])[1])
    return float(np.mean(tprs))


def shares(
    models: Models, counts: Iterable[int], *, targets: int = TARGETS, at_most: int = AT_MOST
) -> dict[int, float]:
    """Return the TPR with each number of references, and with the largest one."""
    return {count: round(mean_tpr(models, count, targets), 4) for count in (*counts, at_most)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recipe", choices=tuple(RECIPES), default="network", help="Type of model.")
    recipe = parser.parse_args().recipe
    counts = {minutes: references_within(minutes) for minutes in MINUTES}
    results = {}
    for dataset in CHOSEN:
        assert dataset in DATASETS
        tprs = shares(trained(dataset, RECIPES[recipe], TARGETS + AT_MOST), counts.values())
        results[dataset] = {
            "tpr@0.01 with 128 references": tprs[AT_MOST],
            "budgets": [
                {
                    "minutes": minutes,
                    "references": count,
                    "attack": headline(count),
                    "tpr@0.01": tprs[count],
                    "share": round(tprs[count] / tprs[AT_MOST], 3),
                }
                for minutes, count in counts.items()
            ],
        }
        print(dataset, results[dataset], flush=True)
    document = {
        "command": "python -m benchmarks.minutes",
        "recipe": recipe,
        "seconds of one training, simulated": SECONDS,
        "jobs": JOBS,
        "targets": TARGETS,
        "datasets": results,
    }
    (HERE / "results.json").write_text(json.dumps(document, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
