"""``python -m benchmarks.load``: CPU time and memory of audits of a model without cost, by records, models and classes.

Each size runs in a separate process, and its peak memory counts. CPU time is that of one process and one thread. The time of
queries is reported separately; the remainder is the audit: drawing, signals, files, every attack, every finding.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
# records, references, classes
SIZES = {
    "records": [(50_000, 16, 2), (200_000, 16, 2), (1_000_000, 16, 2)],
    "references": [(200_000, 8, 2), (200_000, 32, 2), (200_000, 64, 2)],
    "classes": [(20_000, 4, 10), (20_000, 4, 1000), (20_000, 4, 10_000)],
    "the goal": [(1_000_000, 64, 2)],
}


def measured(records: int, references: int, classes: int) -> dict:
    command = [sys.executable, str(HERE / "child.py"), *map(str, (records, references, classes))]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    result = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return json.loads(result.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--only", choices=SIZES, action="append", help="parts to measure; the others keep their results"
    )
    chosen = parser.parse_args().only or list(SIZES)
    path = HERE / "results.json"
    results = json.loads(path.read_text()) if path.exists() else {"command": "python -m benchmarks.load"}
    for name in chosen:
        rows = []
        for size in SIZES[name]:
            rows.append(dict(zip(("records", "references", "classes"), size, strict=True)) | measured(*size))
            print(name, rows[-1], flush=True)
        results[name] = rows
        path.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
