"""``python -m benchmarks.judging --before PATH``: CPU seconds of an audit beside training, here and in another checkout.

Both run in turn in one go, as the machine's speed changes from minute to minute; the ratio is what counts.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def seconds(checkout: Path, references: int, repeats: int) -> float:
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    command = [sys.executable, str(HERE / "child.py"), str(references), str(repeats)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return float(done.stdout.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, required=True, help="a checkout of the commit to compare with")
    parser.add_argument("--references", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=3, help="audits per round; the quickest counts")
    options = parser.parse_args()
    rounds = [
        [seconds(place, options.references, options.repeats) for place in (ROOT, options.before)]
        for _ in range(options.rounds)
    ]
    ratio = statistics.median(now / before for now, before in rounds)
    commit = subprocess.run(
        ["git", "-C", str(options.before), "rev-parse", "--short", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()
    now, before = (round(statistics.median(column), 3) for column in zip(*rounds, strict=True))
    found = {
        "command": "python -m benchmarks.judging",
        "references": options.references,
        "records": 2000,
        "rounds": options.rounds,
        "compared with": commit,
        "CPU seconds": now,
        "CPU seconds before": before,
        "now / before": round(ratio, 3),
    }
    print(found)
    (HERE / "results.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
