"""Error rate of "unusual for its training procedure": ``python -m benchmarks.error_rates.prediction_interval``, a few minutes.

The demo's network is trained on random halves of the handwritten digits. Each of these models is a target that is compared with
32 others, as in a report. Then the members stay the same and only the seed changes. The report does not compare with such models,
and for single sets of members more of them may be outside the interval.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from guestlist._audit.demo import SPLIT_SEED, network, split
from guestlist._findings.headline import SameRecipe, same_recipe
from guestlist._views import Rotation
from guestlist.attacks import ATTACKS, score_every_target
from guestlist.datasets import DATASETS, load
from guestlist.metrics import auc
from guestlist.models import Probabilities

HERE = Path(__file__).parent
ATTACK, REFERENCES = "lira_bayes", 32
UNUSUAL_SEED = 0  # seed of a split whose network is near the lower end of the prediction interval


def trained(member: np.ndarray, seeds: Sequence[int]) -> Rotation:
    """Return outputs of networks for all digits, each trained on its members with its seed."""
    table, label = load("digits"), DATASETS["digits"].label
    x, y = table.drop(columns=label), table[label].to_numpy()
    outputs = []
    for rows, seed in zip(member, seeds, strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the network stops after 60 epochs on purpose
            outputs.append(network(seed).fit(x[rows], y[rows]).predict_proba(x))
    labels = np.unique(y, return_inverse=True)[1]
    scale = Probabilities().resolved(outputs[0], labels)
    margin = np.stack([scale.signals(result, labels)["margin"] for result in outputs])
    return Rotation({"margin": margin}, member, labels)


def compared(models: Rotation, target: int, references: np.ndarray) -> tuple[float, SameRecipe]:
    """Return the AUC of a target, and the reference models that the report compares it with."""
    target_scores = score_every_target(ATTACKS[ATTACK], models.take(np.r_[target, references]))[0]
    others = models.take(references)
    results = same_recipe(
        score_every_target(ATTACKS[ATTACK], others), others.member, target_scores, models.member[target]
    )
    return auc(target_scores, models.member[target]).value, results


def outside(models: Rotation, targets: Sequence[int], references: np.ndarray) -> list[bool]:
    """Return whether each target's AUC is outside the prediction interval."""
    results = []
    for target in targets:
        target_scores, others = compared(models, target, references)
        if others.prediction_interval is None:
            raise ValueError("The reference models do not differ.")
        results.append(not others.prediction_interval.low <= target_scores <= others.prediction_interval.high)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=48, help="number of models trained on random halves")
    parser.add_argument(
        "--sets",
        type=int,
        default=2,
        help="number of random sets of members, in addition to two splits",
    )
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds for each of these sets")
    options = parser.parse_args()
    rng = np.random.default_rng(24)
    records = len(load("digits"))
    random = rng.random((options.models, records)) < 0.5
    splits = [np.isin(np.arange(records), split(records, seed)[0]) for seed in (SPLIT_SEED, UNUSUAL_SEED)]
    repeated = np.vstack([*splits, random[: options.sets]])
    member = np.vstack([random, np.repeat(repeated, options.seeds, axis=0)])
    models = trained(member, range(100, 100 + len(member)))
    random_targets: list[bool] = []
    rounds = 12
    for _ in range(rounds):
        order = rng.permutation(options.models)
        random_targets += outside(models, order[REFERENCES:], order[:REFERENCES])
    sets = []
    for number in range(len(repeated)):
        targets = options.models + number * options.seeds + np.arange(options.seeds)
        allowed = np.setdiff1d(np.arange(options.models), [number - 2])  # excludes the model with the same members
        results = [outside(models, targets, rng.permutation(allowed)[:REFERENCES]) for _ in range(rounds // 2)]
        sets.append(round(float(np.mean(results)), 4))
    content = {
        "command": "python -m benchmarks.error_rates.prediction_interval",
        "attack": ATTACK,
        "references": REFERENCES,
        "models": options.models,
        "targets": len(random_targets),
        "outside, other members and seeds": round(float(np.mean(random_targets)), 4),
        "seeds for each set of members": options.seeds,
        "outside, the demo's members and other seeds": sets[0],
        f"outside, members of split seed {UNUSUAL_SEED} and other seeds": sets[1],
        "outside, the same members and other seeds, for each of the random sets": sets[2:],
        "outside, the same members and other seeds, mean over the random sets": round(float(np.mean(sets[2:])), 4),
    }
    print(json.dumps(content, indent=1))
    (HERE / "typical.json").write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
