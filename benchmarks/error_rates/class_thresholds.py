"""``python -m benchmarks.error_rates.class_thresholds``: effect of fitting class thresholds on a sample of the records."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from guestlist._kernels import aucs
from guestlist._views import Signals
from guestlist._views import signals as views
from guestlist.attacks import ATTACKS
from guestlist.selfcheck.simulations import gaussian_simulation

RESULTS = Path(__file__).with_suffix(".json")
NAMES = ("class_mentr", "class_confidence", "shadow")
RARE = 0.2  # share of the second class
SAMPLED = views.ENOUGH  # outputs of a class that attacks are fitted on
UNLIMITED = 2**62


def changes(records: int, references: int, seed: int) -> dict[str, dict[str, float]]:
    """Return the changes of each attack's AUC if it is fitted on a sample of the records, or on half of the references."""
    simulation = gaussian_simulation(1.0, records=records, models=1 + references, seed=seed)
    labels = (np.random.default_rng(seed).random(records) < RARE).astype(np.int64)
    halves = [simulation.take(np.r_[0, 1 + half : 1 + references : 2]) for half in (0, 1)]

    def auc_of(view: Signals, name: str, at_most: int) -> float:
        views.ENOUGH = at_most
        view = replace(view, labels=labels)
        assert (view.estimation_rows is None) == (at_most > SAMPLED)
        return float(aucs(ATTACKS[name].score(view)[None], simulation.member[:1])[0])

    rows = {}
    for name in NAMES:
        full_auc = auc_of(simulation.facing(0), name, UNLIMITED)
        first, second = (auc_of(half.facing(0), name, UNLIMITED) - full_auc for half in halves)
        sampled = auc_of(simulation.facing(0), name, SAMPLED) - full_auc
        rows[name] = {"sample of the records": sampled, "half of the references": first, "the other half": second}
    return rows


def _summary(values: list[float]) -> dict[str, float]:
    """Summarise changes of an AUC, to two digits."""
    metrics = {
        "mean": np.mean(values),
        "standard_deviation": np.std(values, ddof=1),
        "largest_change": np.abs(values).max(),
    }
    return {name: float(f"{value:.2g}") for name, value in metrics.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--references", type=int, default=32)
    parser.add_argument("--simulations", type=int, default=20)
    options = parser.parse_args()
    rows = []
    for seed in range(options.simulations):
        rows.append(changes(options.records, options.references, seed))
        print(seed, rows[-1], flush=True)
    metrics = {
        name: {change: _summary([row[name][change] for row in rows]) for change in rows[0][name]} for name in NAMES
    }
    command = {
        "command": "python -m benchmarks.error_rates.class_thresholds",
        **vars(options),
        "values of a class": SAMPLED,
    }
    RESULTS.write_text(json.dumps({**command, **metrics}, indent=1) + "\n")
    print(metrics)


if __name__ == "__main__":
    main()
