"""``python -m benchmarks.evaluation``: CPU seconds of an audit without training, now and at an earlier commit.

It is measured with all present findings, and without the findings that were added since. Both versions run alternately, because
the machine's speed varies; only the ratio is meaningful.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
# Last commit at which an audit read the pool, queried the target and summed the references repeatedly.
BEFORE = "89a5f6e"


def seconds(checkout: Path, references: int, repeats: int) -> tuple[float, float]:
    """Return seconds of a whole audit, and of the part that existed at the earlier commit."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    command = [sys.executable, str(HERE / "child.py"), str(references), str(repeats)]
    result = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    total, comparable = map(float, result.stdout.split()[-2:])
    return total, comparable


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", default=BEFORE, help="commit to compare with")
    parser.add_argument("--references", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=3, help="audits per round, of which the fastest counts")
    options = parser.parse_args()
    with checkout(options.before) as before:
        rounds = [
            [seconds(folder, options.references, options.repeats) for folder in (ROOT, before)]
            for _ in range(options.rounds)
        ]
    median = statistics.median
    now, comparable = (round(median(here[part] for here, _ in rounds), 3) for part in (0, 1))
    then = round(median(before for _, (before, _) in rounds), 3)
    results = {
        "command": "python -m benchmarks.evaluation",
        "references": options.references,
        "records": 2000,
        "rounds": options.rounds,
        "compared with": options.before,
        "CPU seconds": now,
        "CPU seconds before": then,
        "now / before": round(median(here[0] / before[0] for here, before in rounds), 3),
        "CPU seconds of earlier findings": comparable,
        "earlier findings: now / before": round(median(here[1] / before[0] for here, before in rounds), 3),
    }
    print(results)
    (HERE / "results.json").write_text(json.dumps(results, indent=1) + "\n")


@contextmanager
def checkout(commit: str) -> Iterator[Path]:
    """Yield a folder with the files of a commit."""
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "-C", str(ROOT), "archive", commit], check=True, capture_output=True)
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        yield Path(folder)


if __name__ == "__main__":
    main()
