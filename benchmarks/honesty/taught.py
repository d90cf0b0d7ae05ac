"""``python -m benchmarks.honesty.taught``: what it changes that classes are taught by some of very many records."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from guestlist.arrays.ranks import aucs
from guestlist.attacks import ATTACKS
from guestlist.selfcheck.worlds import gaussian_world
from guestlist.views import signals as views

RESULTS = Path(__file__).with_suffix(".json")
NAMES = ("class_mentr", "class_confidence", "shadow")
RARE = 0.2  # share of the second class
ENOUGH = views.ENOUGH


def changes(records: int, references: int, enough: int, seed: int) -> dict[str, float]:
    """By how much the AUC of each attack changes, from all records to some."""
    world = gaussian_world(1.0, records=records, models=1 + references, seed=seed)
    labels = (np.random.default_rng(seed).random(records) < RARE).astype(np.int64)
    found = {}
    for name in NAMES:
        both = []
        for limit in (2**62, enough):
            views.ENOUGH = limit
            view = replace(world.facing(0), labels=labels)
            both.append(aucs(ATTACKS[name].score(view)[None], world.member[:1])[0])
            assert (view.taught_by is None) == (limit > enough)
        found[name] = float(both[1] - both[0])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=300_000)
    parser.add_argument("--references", type=int, default=32)
    parser.add_argument("--worlds", type=int, default=20)
    options = parser.parse_args()
    rows = []
    for seed in range(options.worlds):
        rows.append(changes(options.records, options.references, ENOUGH, seed))
        print(seed, rows[-1], flush=True)
    figures = {
        name: {
            "mean change of the AUC": float(f"{np.mean([row[name] for row in rows]):.2g}"),
            "largest": float(f"{max(abs(row[name]) for row in rows):.2g}"),
            "beyond .001": sum(abs(row[name]) > 0.001 for row in rows),
        }
        for name in NAMES
    }
    command = {"command": "python -m benchmarks.honesty.taught", **vars(options), "values of a class": ENOUGH}
    RESULTS.write_text(json.dumps({**command, **figures}, indent=1) + "\n")
    print(figures)


if __name__ == "__main__":
    main()
