"""Tables of ``results.json``; ``python -m benchmarks.neighbours.tables`` puts them in docs/neighbours.md."""

from __future__ import annotations

import json
import re
from pathlib import Path

RESULTS = Path(__file__).with_name("results.json")
PAGE = Path(__file__).parents[2] / "docs" / "neighbours.md"

NAMES = {
    "ours": "guestlist",
    "ours_fast": 'guestlist, `precision="fast"`',
    "ours_index": 'guestlist, `ties="index"`',
    "distances": "only the distances",
    "numpy_loop": "a loop in numpy",
    "opendataval": "OpenDataVal",
    "pydvl": "pyDVL",
    "art": "ART (K = 1 only)",
    "ours_waka": "`waka`",
    "waka_algorithm": "Algorithm 1",
    "ours_self_waka": "`self_waka`",
    "ours_likelihood_ratio": "`knn_likelihood_ratio`",
}


def peers(rows: list[dict]) -> str:
    """Return methods by sizes: CPU seconds, and their ratio to ours on one thread."""
    sizes = list(dict.fromkeys((row["n"], row["features"]) for row in rows))
    cells = {}
    for row in rows:
        cell = f"{_seconds(row)} ({row['times_ours_cpu']:.3g} ×)"
        if row["threads"] > 1:
            cell = f"{row['wall_s']:.3g} s on the clock"
        cells.setdefault(_name(row), {})[row["n"], row["features"]] = cell
    head = ["", *(f"{n:,} × {n:,}, {features} features" for n, features in sizes)]
    return _table(head, [[name, *(by_size[size] for size in sizes)] for name, by_size in cells.items()])


def large(rows: list[dict]) -> str:
    head = ["", "features", "CPU s", "wall s", "peak GiB"]
    cells = [
        [_name(row), row["features"], _seconds(row), f"{row['wall_s']:.1f}", f"{row['peak_gib']:.2f}"] for row in rows
    ]
    return _table(head, cells)


def growth(rows: dict[str, list[dict]]) -> str:
    by_n = [[f"{r['n']:,}", _seconds(r), r["ns_per_pair"]] for r in rows["by_n"]]
    by_classes = [[r.get("classes", 10), _seconds(r), r["ns_per_pair"]] for r in rows["by_classes"]]
    head = ["CPU s", "ns per pair"]
    return _table(["records", *head], by_n) + "\n" + _table(["classes", *head], by_classes)


def waka(rows: list[dict]) -> str:
    cells = [[_name(row), _seconds(row), f"{row['times_ours_cpu']:.3g} ×"] for row in rows]
    return _table(["", "CPU s", "times `waka`"], cells)


def likelihood_ratio(rows: list[dict]) -> str:
    cells = [
        [
            row["attack"],
            f"{row['shadow_models']:,}",
            f"{row['auc']:.3f} ± {row['auc_se']:.3f}",
            f"{row['tpr_at_5_percent_fpr']:.3f} ± {row['tpr_se']:.3f}",
        ]
        for row in rows
    ]
    return _table(["attack", "shadow models", "AUC ± standard error", "TPR at 5 % FPR"], cells)


SECTIONS = {table.__name__: table for table in (peers, large, growth, waka, likelihood_ratio)}


def page(text: str, results: dict) -> str:
    """Return the page with each table between its two marks."""
    for name, table in SECTIONS.items():
        if name in results:
            block = f"<!-- {name} -->\n\n{table(results[name])}\n<!-- end -->"
            text = re.sub(rf"<!-- {name} -->.*?<!-- end -->", lambda _, b=block: b, text, flags=re.DOTALL)
    return text


def _name(row: dict) -> str:
    threads = f", {row['threads']} threads" if row["threads"] > 1 else ""
    return NAMES[row["method"]] + threads


def _seconds(row: dict) -> str:
    return f"{row['cpu_s']:.3g}" + ("*" if "extrapolated_from_tests" in row else "")


def _table(head: list, rows: list[list]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(map(str, line)) + " |\n" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(), json.loads(RESULTS.read_text())))
