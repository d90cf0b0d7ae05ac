"""``python -m benchmarks.waiting``: time of the commands that people wait for, as multiples of ``guestlist --help``.

All commands run in turn in each round, because the speed of the machine changes from minute to minute.
The first audit after an installation has an empty cache of compiled loops. Python's bytecode exists, since pip writes it.
A process that only imports scikit-learn and fits the same number of models is the limit of an audit.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import guestlist as gl

HERE = Path(__file__).parent
SIZES = (1_000, 200_000)
GUESTLIST = [sys.executable, "-m", "guestlist.cli"]


def seconds(command: list[str], cache: Path) -> tuple[float, float]:
    """Return elapsed and CPU seconds of a command with all of its processes."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment = {**inherited, "OMP_NUM_THREADS": "1", "NUMBA_CACHE_DIR": str(cache)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run(command, env=environment, check=True, capture_output=True)
    elapsed = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return elapsed, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def audited(folder: Path, records: int) -> Path:
    """Write an audit folder with this number of members, and of non-members."""
    rng = np.random.default_rng(0)
    member = np.repeat([True, False], records)
    labels = np.tile([0, 1], records)
    margin = rng.normal(size=2 * records) + 0.3 * member + 0.5  # more often right than wrong
    logits = np.c_[np.where(labels == 0, margin, -margin), np.zeros(2 * records)]
    predictions = gl.Predictions(logits, labels, member, scale="logits")
    gl.audit_predictions(predictions, folder=folder / str(records))
    return folder / str(records)


def commands(folder: Path) -> dict[str, list[str]]:
    """Return the commands by name, in the order in which a round runs them."""
    limits = ["--max-auc", "0.9", "--without-references"]
    gates = {f"gate, {n:,} + {n:,} records": [*GUESTLIST, "gate", str(audited(folder, n)), *limits] for n in SIZES}
    audit = [sys.executable, str(HERE / "child.py")]
    return {
        "guestlist --help": [*GUESTLIST, "--help"],
        **gates,
        "scikit-learn only: 33 fits": [*audit, "fits"],
        "first audit": [*audit, "1"],
        "next audit, one job": [*audit, "1"],
        "next audit, default jobs": [*audit, "default"],
        "demo": [*GUESTLIST, "demo", "--quiet", "--out", str(folder / "demo")],
    }


def one_round(named: dict[str, list[str]], cache: Path) -> dict[str, tuple[float, float]]:
    shutil.rmtree(cache, ignore_errors=True)
    shutil.rmtree(cache.parent / "demo", ignore_errors=True)  # A complete folder would not train again.
    return {name: seconds(command, cache) for name, command in named.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    compileall.compile_dir(Path(gl.__file__).parent, quiet=1)
    with tempfile.TemporaryDirectory() as folder:
        named = commands(Path(folder))
        rounds = [one_round(named, Path(folder) / "cache") for _ in range(options.rounds)]
    rows = {}
    for name in named:
        elapsed, cpu = (statistics.median(each[name][part] for each in rounds) for part in (0, 1))
        ratio = statistics.median(each[name][1] / each["guestlist --help"][1] for each in rounds)
        rows[name] = {"seconds": round(elapsed, 2), "CPU seconds": round(cpu, 2), "CPU / --help": round(ratio, 2)}
    measured = {
        "command": "python -m benchmarks.waiting",
        "rounds": options.rounds,
        "cores": os.cpu_count(),
        "medians": rows,
    }
    (HERE / "results.json").write_text(json.dumps(measured, indent=1) + "\n", "utf-8")
    print(json.dumps(measured, indent=1))


if __name__ == "__main__":
    main()
