"""``python -m benchmarks.error_rates.defend``: false claims that one of many ineffective defences leaks less."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from guestlist._audit.defence_results import together
from guestlist.metrics import auc_difference

HERE = Path(__file__).parent
RECORDS, DEFENCES = 400, 12

# Functions that draw scores of members and of non-members; all models of a simulation have the same distribution.
DISTRIBUTIONS: dict[str, Callable[[np.random.Generator, np.ndarray], np.ndarray]] = {
    "nothing leaks": lambda rng, member: rng.normal(size=len(member)),
    "some leak": lambda rng, member: rng.normal(size=len(member)) + 0.8 * member,
    "two values": lambda rng, member: (rng.random(len(member)) < np.where(member, 0.7, 0.5)).astype(float),
    "mostly equal": lambda rng, member: np.where(
        rng.random(len(member)) < 0.9, 0.0, rng.normal(size=len(member)) + member
    ),
    "separated": lambda rng, member: member + 0.1 * rng.random(len(member)),
}


def simulate(
    distribution: str, repeats: int, *, records: int = RECORDS, defences: int = DEFENCES, seed: int = 0
) -> dict[str, float]:
    """Return the share of repeats in which any defence is reported, and the mean change of the AUC by the best one."""
    rng = np.random.default_rng(seed)
    reported = 0
    best = 0.0
    member = np.arange(records) % 2 == 0
    for _ in range(repeats):
        plain, *others = (DISTRIBUTIONS[distribution](rng, member) for _ in range(1 + defences))
        gaps = [auc_difference(other, plain, member, confidence=together(defences)) for other in others]
        reported += any(gap.high < 0 for gap in gaps)
        best += min(gap.value for gap in gaps) / repeats
    return {"reported": reported / repeats, "best_change": best}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=1000)
    repeats = parser.parse_args().repeats
    results = {distribution: simulate(distribution, repeats) for distribution in DISTRIBUTIONS}
    for distribution, row in results.items():
        print(
            f"{distribution:15} a defence is reported: {row['reported']:.1%}; "
            f"best of {DEFENCES}: mean change of the AUC {row['best_change']:+.3f}"
        )
    command = f"python -m benchmarks.error_rates.defend --repeats {repeats}"
    content = {"command": command, "repeats": repeats, "records": RECORDS, "defences": DEFENCES, "simulations": results}
    (HERE / "defend.json").write_text(json.dumps(content, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
