"""Run time of all attacks with every model as the target, by size: python -m benchmarks.attacks

Each size is timed several times and the best time counts; the growth compares sizes measured in one run. One
target at a time (``facing(k)``) is timed on two targets and scaled up, for comparison.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from guestlist._views import Rotation
from guestlist.attacks import ATTACKS
from guestlist.selfcheck.simulations import gaussian_simulation

SIZES = [(5_000, 64), (10_000, 64), (20_000, 16), (20_000, 32), (20_000, 64), (20_000, 128), (40_000, 64)]
REPEATS = 3
# Attacks on K-NN targets need K-NN models, and have a separate benchmark.
RUN = {name: attack for name, attack in ATTACKS.items() if not attack.evidence}


def main() -> None:
    argparse.ArgumentParser(prog="python -m benchmarks.attacks", description=__doc__).parse_args()
    _all(gaussian_simulation(1.0, records=100, models=8))  # compiles the kernels
    rows = [_row(records, models) for records, models in SIZES]
    at = {(row["records"], row["models"]): row["seconds"] for row in rows}
    results = {
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "attacks": len(RUN),
        "sizes": rows,
        "growth": {
            "records x 2 (20,000 to 40,000, 64 models)": round(at[40_000, 64] / at[20_000, 64], 2),
            "models x 2 (64 to 128, 20,000 records)": round(at[20_000, 128] / at[20_000, 64], 2),
        },
    }
    path = Path(__file__).with_name("results.json")
    path.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    print(path.read_text("utf-8"))


def _row(records: int, models: int) -> dict:
    simulation = gaussian_simulation(1.0, records=records, models=models, log_deviation_sd=0.5)
    row = {"records": records, "models": models, "seconds": _best(lambda: _all(_fresh(simulation)))}
    if (records, models) == (20_000, 64):
        row["seconds_per_attack"] = {name: _best(lambda n=name: ATTACKS[n].score(_fresh(simulation))) for name in RUN}
        result = _best(lambda: [attack.score(simulation.facing(0)) for attack in RUN.values()])
        row["seconds_one_target_at_a_time"] = round(result * models, 3)
    print(records, models, row["seconds"], flush=True)
    return row


def _all(simulation: Rotation) -> None:
    for name, attack in RUN.items():
        assert attack.score(simulation).shape == simulation.member.shape, name


def _fresh(simulation: Rotation) -> Rotation:
    """Return the same simulation with an empty cache."""
    return Rotation(simulation.values, simulation.member, simulation.labels)


def _best(work: Callable[[], object]) -> float:
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return round(float(np.min(times)), 3)


if __name__ == "__main__":
    main()
