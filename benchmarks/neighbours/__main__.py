"""Run all measurements and write ``results.json``: ``python -m benchmarks.neighbours``.

Every measurement runs in a separate process on the same data. CPU seconds are compared, since other work may
share the machine; our own numbers are medians of three runs, those of slow peers single runs.
"""

from __future__ import annotations

import argparse
import json
import platform
from pathlib import Path

import numpy as np

from benchmarks.neighbours import lira
from benchmarks.neighbours.peers import measure

RESULTS = Path(__file__).with_name("results.json")
SIZES = [(2_000, 10), (2_000, 128), (10_000, 10), (10_000, 128)]
# Python loops over test records: their time is linear in the number of records, so a part is enough.
TESTS_AT_10_000 = {"pydvl": 1_000, "art": 500}
ONCE = ("pydvl", "art", "opendataval", "numpy_loop", "waka_algorithm")


def timed(method: str, *, tests: int, measured_tests: int | None = None, **size) -> dict:
    """Return a measurement; with fewer test records it is scaled up linearly, and marked."""
    part = measured_tests or tests
    runs = [measure(method, tests=part, **size) for _ in range(1 if method in ONCE else 3)]
    run = sorted(runs, key=lambda run: run["cpu_s"])[len(runs) // 2]
    scale = tests / part
    row = run | {
        "tests": tests,
        "cpu_s": round(run["cpu_s"] * scale, 3),
        "wall_s": round(run["wall_s"] * scale, 3),
    }
    if scale > 1:
        row |= {"extrapolated_from_tests": part, "peak_gib": None}
    print(f"{method:22} {row['cpu_s']:9.2f} CPU s {row['wall_s']:9.2f} s  {size} tests={tests}", flush=True)
    return row


def against_peers() -> list[dict]:
    """Return all methods at all sizes, their time relative to ours, and the error of their values."""
    rows = []
    for n, features in SIZES:
        size = {"n": n, "tests": n, "features": features}
        first = timed("ours", **size)
        expected = np.load(first["values"])
        group = [
            first,
            timed("ours", threads=2, **size),
            timed("ours_fast", **size),
            timed("ours_index", **size),
            timed("distances", **size),
        ]
        for method in ("numpy_loop", "opendataval", "pydvl", "art"):
            part = TESTS_AT_10_000.get(method) if n == 10_000 else None
            row = timed(method, measured_tests=part, **size)
            if part is None:
                row["largest_difference"] = float(np.abs(np.load(row["values"]) - expected).max())
            group.append(row)
        rows += [row | {"times_ours_cpu": round(row["cpu_s"] / first["cpu_s"], 2)} for row in group]
    return rows


def large() -> list[dict]:
    """Return our measurement at 60,000 x 10,000."""
    sizes = [{"n": 60_000, "tests": 10_000, "features": features} for features in (10, 128)]
    rows = [timed("ours", threads=threads, **size) for size in sizes for threads in (1, 2)]
    return rows + [timed(method, **sizes[1]) for method in ("ours_fast", "distances")]


def growth() -> dict[str, list[dict]]:
    """Return nanoseconds per pair of records by n and number of classes."""
    by_n = [timed("ours", n=n, tests=2_000, features=10) for n in (2_500, 5_000, 10_000, 20_000, 40_000, 80_000)]
    by_classes = [timed("ours", n=10_000, tests=10_000, features=10, classes=c) for c in (2, 10, 100)]
    for row in by_n + by_classes:
        row["ns_per_pair"] = round(1e9 * row["cpu_s"] / (row["n"] * row["tests"]), 2)
    return {"by_n": by_n, "by_classes": by_classes}


def waka() -> list[dict]:
    """Compare test-WaKA on 10,000 records with a literal Algorithm 1, and measure other uses of the lists."""
    size = {"n": 10_000, "tests": 10_000, "features": 10}
    first = timed("ours_waka", **size)
    slow = timed("waka_algorithm", measured_tests=100, **size)
    others = [timed("ours_self_waka", **size), timed("ours_likelihood_ratio", **size)]
    return [row | {"times_ours_cpu": round(row["cpu_s"] / first["cpu_s"], 2)} for row in (first, slow, *others)]


def limits() -> dict[str, list[dict]]:
    """Compare ``fast`` values with a plain matrix product, and measure likelihood ratios of improbable losses."""
    fast = []
    for features in (128, 256):
        size = {"n": 10_000, "tests": 10_000, "features": features}
        product = timed("product", **size)
        ours = [timed(method, **size) for method in ("sorted_distances", "ours_fast", "ours_fast_overlapping")]
        fast += [product, *(row | {"times_product_cpu": round(row["cpu_s"] / product["cpu_s"], 2)} for row in ours)]
    improbable = timed("ours_improbable", n=10_000, tests=2_000, features=10)
    return {"fast": fast, "improbable": [improbable | {"us_per_record": round(1e6 * improbable["cpu_s"] / 2_000)}]}


SECTIONS = {
    "peers": against_peers,
    "large": large,
    "growth": growth,
    "waka": waka,
    "limits": limits,
    "likelihood_ratio": lira.compare,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", help=f"any of {', '.join(SECTIONS)}; default: all")
    chosen = parser.parse_args().sections or list(SECTIONS)
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results["about"] = {
        "command": "python -m benchmarks.neighbours",
        "machine": f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}",
        "compared": "CPU seconds after a warm-up, k = 5, float64; one thread and 10 classes "
        "unless stated otherwise. Rows with extrapolated_from_tests were measured at that number of test records "
        "and scaled up linearly. OpenDataVal computes in float32, here in batches of 1,024 instead of 32.",
    }
    for name in chosen:
        results[name] = _without_paths(SECTIONS[name]())
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")


def _without_paths(rows):
    if isinstance(rows, dict):
        return {name: _without_paths(value) for name, value in rows.items() if name != "values"}
    return [_without_paths(row) for row in rows] if isinstance(rows, list) else rows


if __name__ == "__main__":
    main()
