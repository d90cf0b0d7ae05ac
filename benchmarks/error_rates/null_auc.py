"""Mean AUC on trees that were not trained on the records: ``python -m benchmarks.error_rates.null_auc``, a few minutes.

A review measured a mean AUC of .5145 (standard error .0054) over null audits of a single decision tree. If the model was trained
on neither set, members and non-members are exchangeable. The AUC of every attack is then 0.5 on average, unless the audit treats
the two sets differently. Each audit is therefore run twice, the second time with members and non-members exchanged. Sampling
errors of the two runs cancel, so the mean of both estimates a bias of the audit far more precisely than the mean of one run.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from sklearn.tree import DecisionTreeClassifier

import guestlist as gl

HERE = Path(__file__).parent
ATTACKS = ("loss", "shadow", "rmia", "lira_bayes", "leaf_shares")
REVIEWED = {"mean": 0.5145, "standard_error": 0.0054}


def aucs(model: DecisionTreeClassifier, both_sets: list, references: int, seed: int) -> dict[str, float]:
    """Return the AUC of every attack in one audit, and of the headline attack."""
    results = gl.audit(
        model,
        *both_sets,
        references=references,
        attacks=list(ATTACKS),
        seed=seed,
        jobs=1,
        progress=False,
        baseline=False,
    )
    if results.headline is None:
        raise ValueError("The audit has no headline attack.")
    each = {name: results.attack(name).auc.value for name in ATTACKS}
    return {**each, "headline": each[results.headline.name]}


def pair(seed: int, size: int = 100, references: int = 8) -> list[dict[str, float]]:
    """Audit the same records twice, with the two sets exchanged in the second audit."""
    rng = np.random.default_rng([777, seed])
    x = rng.normal(size=(3 * size, 5))
    y = (x[:, 0] + 0.7 * rng.normal(size=3 * size) > 0).astype(int)
    model = DecisionTreeClassifier(random_state=seed).fit(x[:size], y[:size])
    both_sets = [(x[part], y[part]) for part in (slice(size, 2 * size), slice(2 * size, None))]
    return [aucs(model, order, references, seed) for order in (both_sets, both_sets[::-1])]


def mean_aucs(audits: int) -> dict[str, dict[str, float]]:
    """Return means over audits with standard errors: in the given order, and over both orders of the two sets."""
    pairs = [pair(seed) for seed in range(audits)]
    results = {}
    for name in (*ATTACKS, "headline"):
        first_order = np.array([first[name] for first, _ in pairs])
        both_orders = np.array([(first[name] + second[name]) / 2 for first, second in pairs])
        results[name] = {
            "mean": first_order.mean(),
            "standard_error": first_order.std(ddof=1) / np.sqrt(audits),
            "mean of both orders": both_orders.mean(),
            "standard error of both orders": both_orders.std(ddof=1) / np.sqrt(audits),
        }
    return {name: {key: round(float(value), 5) for key, value in row.items()} for name, row in results.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--audits", type=int, default=16)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    content = {
        "command": "python -m benchmarks.error_rates.null_auc",
        "audits": options.audits,
        "records": [100, 100],
        "references": 8,
        "review": REVIEWED,
        "trees": mean_aucs(options.audits),
    }
    print(json.dumps(content, indent=1))
    (HERE / "null_auc.json").write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
