"""``python -m benchmarks.faults``: tens of thousands of wrong inputs, and the number of unclear errors."""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random

from benchmarks.faults.endings import RAW, REPORTED, RETURNED
from benchmarks.faults.entries import ENTRIES, make_inputs

HERE = Path(__file__).parent
# Cases of each entry. All entries take about the same time: a command takes a thousand times as long as a check of arguments.
CASES = {
    "predictions": 78_000,
    "audit_predictions": 4_000,
    "audit": 3_000,
    "neighbours": 10_000,
    "files": 2_500,
    "folders": 2_500,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="share of the cases")
    parser.add_argument("--only", choices=[*ENTRIES], action="append")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    options = parser.parse_args()
    results, faults = {}, Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        inputs = make_inputs(Path(folder) / "inputs")
        for name in options.only or ENTRIES:
            start = time.process_time()
            outcomes = Counter[str]()
            count = max(1, round(CASES[name] * options.share))
            for seed in range(options.first, options.first + count):
                ending = ENTRIES[name](Random(f"{name} {seed}"), inputs)
                outcomes[ending.outcome] += 1
                if ending.outcome == RAW:
                    faults[f"{name}: {ending.detail}"] += 1
                    if faults[f"{name}: {ending.detail}"] == 1:
                        print(f"{name} {seed}: {ending.detail}", flush=True)
            row = {outcome: outcomes[outcome] for outcome in (RETURNED, REPORTED, RAW)}
            results[name] = {"cases": count, **row, "CPU seconds": round(time.process_time() - start)}
            print(name, results[name], flush=True)
            write(results)
    total = sum(row["cases"] for row in results.values())
    print(f"{sum(faults.values())} of {total} cases ended in a raw error.")


def write(results: dict[str, dict[str, int]]) -> None:
    """Write the results of these entries with those of the others, if the sources are the same."""
    path, sources = HERE / "results.json", sources_now()
    stored = json.loads(path.read_text()) if path.exists() else {}
    before = stored.get("entries", {}) if stored.get("sources") == sources else {}
    entries = {name: results.get(name) or before[name] for name in ENTRIES if name in results or name in before}
    cases, raw = (sum(row[key] for row in entries.values()) for key in ("cases", RAW))
    stored = {
        "command": "python -m benchmarks.faults",
        "sources": sources,
        "cases": cases,
        "raw": raw,
        "entries": entries,
    }
    path.write_text(json.dumps(stored, indent=1) + "\n")


def sources_now() -> str:
    """Return git's hash of the sources and these faults, or a note if they were changed since."""
    paths = ["src", "benchmarks/faults/entries.py", "benchmarks/faults/malformed.py", "benchmarks/faults/endings.py"]

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=HERE.parents[1], capture_output=True, text=True).stdout.strip()

    if git("status", "--porcelain", *paths):
        return "changed, and not committed"
    return " ".join(git("rev-parse", "--short", f"HEAD:{path}") for path in paths)


if __name__ == "__main__":
    main()
