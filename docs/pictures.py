"""Draw the pictures of the benchmarks from their measurements: ``python -m docs.pictures``."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

from papers.pictures import Axes, Panel, Series, picture

from docs.error_rates import Row, topic_rows

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "images"


def first_audit() -> str:
    """Draw the AUC and TPR of the first audit against its CPU time, next to SACRO-ML."""
    runs = _measured("newcomer/results.json")
    counts = list(runs[0]["guestlist"])
    times = [
        median(run["guestlist"][count]["CPU seconds"] / run["sacroml"]["CPU seconds"] for run in runs)
        for count in counts
    ]
    panels = []
    for title, metric in (("AUC", "auc"), ("TPR at 1 % FPR", "tpr@0.01")):
        headlines = [median(_headline(run["guestlist"][count])[metric] for run in runs) for count in counts]
        best = median(max(attack[metric] for attack in run["sacroml"]["attacks"].values()) for run in runs)
        series = [Series("guestlist, 8 to 100 references", times, headlines)]
        series.append(Series("SACRO-ML, 100 references", [1.0], [best], style="points"))
        axes = Axes(y_label=title, x_label="CPU time / SACRO-ML's")
        panels.append(Panel(title, series, axes))
    return picture([panels], "AUC and TPR of a first audit against its time, guestlist and SACRO-ML")


def _headline(run: Mapping) -> Mapping[str, float]:
    return run["attacks"][run["headline"]]


def waiting() -> str:
    """Draw the CPU time of commands that people wait for."""
    medians = _measured("waiting/results.json")["medians"]
    seconds = [row["CPU seconds"] for row in medians.values()]
    names = [name.partition(" +")[0].removeprefix("guestlist ") for name in medians]
    series = Series("CPU seconds", range(len(names)), seconds, style="points")
    axes = Axes(names=names, log_y=True, y_label="CPU seconds")
    return picture([[Panel("Commands", [series], axes)]], "CPU seconds of commands that people wait for")


def collection() -> str:
    """Draw the time of collection next to a plain loop and two of them."""
    rows = _measured("collection/results.json")["rows"]
    names = [f"{row['models']}, {row['references']}" for row in rows]
    series = [
        Series(ratio, range(len(rows)), [row[ratio] for row in rows], style="points")
        for ratio in ("one job / plain loop", "two jobs / one job", "two plain loops / one")
    ]
    axes = Axes(names=names, y=(0, 1.2), y_label="ratio of times")
    return picture([[Panel("Collection of references", series, axes)]], "Time of collection next to plain loops")


def training() -> str:
    """Draw the cost of private training and of many references next to plain training."""
    measured = _measured("training/results.json")
    private = [
        _ratios(
            "DP-SGD, network",
            measured,
            {"batches of 64": "private, batches of 64", "of 256": "private, batches of 256"},
        ),
        _ratios(
            "DP-SGD, convolutions",
            measured,
            {"batches of 64": "convolutions, batches of 64", "of 256": "convolutions, batches of 256"},
        ),
        _ratios("64 references", measured, {"446-256-128-30": "references", "64-64-10": "small references"}, log=False),
    ]
    return picture([private], "CPU time of training as a share of plain training")


def _ratios(title: str, measured: Mapping, rows: Mapping[str, str], *, log: bool = True) -> Panel:
    ways = [way for way in measured[next(iter(rows.values()))] if not way.startswith("plain")]
    series = [
        Series(way, range(len(rows)), [measured[row][way] for row in rows.values()], style="points") for way in ways
    ]
    y_range = None if log else (0, 1)
    return Panel(title, series, Axes(names=list(rows), y=y_range, log_y=log, y_label="CPU time / plain training"))


def load() -> str:
    """Draw the CPU time and memory of audits against records, references and classes."""
    measured = _measured("load/results.json")
    panels = []
    for growing, fixed in (
        ("records", "16 references"),
        ("references", "200,000 records"),
        ("classes", "20,000 records"),
    ):
        rows = [row for row in measured[growing] if growing != "records" or row["references"] == 16]
        sizes = [row[growing] for row in rows]
        series = [Series("CPU seconds", sizes, [row["CPU seconds"] for row in rows])]
        series.append(Series("memory in GiB", sizes, [row["peak memory, GiB"] for row in rows]))
        axes = Axes(x_label=growing, log_x=True, log_y=True, ticks=[(size, f"{size:,}") for size in sizes])
        panels.append(Panel(f"{growing.capitalize()} ({fixed})", series, axes))
    return picture([panels], "CPU time and memory of audits for growing numbers of records, references and classes")


def strength() -> str:
    """Draw each attack's share of the best attack's TPR against the number of references."""
    shares = _measured("attacks/strength.json")["share of the best attack's TPR, mean over datasets"]
    attacks = ("lira_bayes", "rmia", "rmia_offline", "base", "lira", "loss")
    panels = []
    for model, counts in shares.items():
        axes = Axes(y=(0, 1), log_x=True, x_label="references", ticks=[(int(count), count) for count in counts])
        panels.append(Panel(model.capitalize(), _by_references(counts, attacks), axes))
    return picture(
        [panels[:2], panels[2:]], "Share of the best attack's TPR at 1 % FPR by attack and number of references"
    )


def _by_references(counts: Mapping[str, Mapping[str, float]], attacks: Sequence[str]) -> list[Series]:
    series = []
    for attack in attacks:
        shares = {int(count): values[attack] for count, values in counts.items() if attack in values}
        series.append(Series(attack, list(shares), list(shares.values())))
    return series


def minutes() -> str:
    """Draw the share of the TPR with 128 references that a budget of minutes reaches."""
    datasets = _measured("minutes/results.json")["datasets"]
    series = [
        Series(name, [row["minutes"] for row in dataset["budgets"]], [row["share"] for row in dataset["budgets"]])
        for name, dataset in datasets.items()
    ]
    axes = Axes(x=(0, 16), y=(0, 1), x_label="minutes", y_label="share of the TPR with 128 references")
    return picture([[Panel("Budget of time", series, axes)]], "Share of the TPR with 128 references by minutes")


def error_rates() -> str:
    """Draw each measured error rate as a share of its limit, by topic."""
    rows = {topic: [row for row in rows if row.share is not None] for topic, rows in topic_rows().items()}
    topics = list(rows)
    highest = max(row.share or 0 for part in rows.values() for row in part)
    halves = topics[: len(topics) // 2], topics[len(topics) // 2 :]
    panels = [
        _shares({topic: rows[topic] for topic in half}, 0.2 * math.ceil((highest + 0.2) / 0.2)) for half in halves
    ]
    return picture([[panel] for panel in panels], "Measured error rates as shares of their limits, by topic")


def _shares(topics: Mapping[str, Sequence[Row]], top: float) -> Panel:
    """Return a panel in which the rows of each topic are sorted and placed around its position.

    The largest rate above a limit is labelled in each topic.
    """
    notes = []
    points: dict[str, list[tuple[float, float]]] = {"within the limit": [], "above the limit": []}
    for position, rows in enumerate(topics.values()):
        for number, row in enumerate(sorted(rows, key=lambda row: row.share or 0)):
            x = position + 0.8 * ((number + 0.5) / len(rows) - 0.5)
            points["above the limit" if row.exceeds else "within the limit"].append((x, row.share or 0))
        worst = max(rows, key=lambda row: row.share or 0)
        if worst.exceeds:
            notes.append((position, (worst.share or 0) + 0.08, f"{worst.measured} ({worst.limit})"))
    series = [
        Series(name, [x for x, _ in drawn], [y for _, y in drawn], style="points") for name, drawn in points.items()
    ]
    series.append(Series("limit", [-0.5, len(topics) - 0.5], [1.0, 1.0], style="curve"))
    return Panel("", series, Axes(names=list(topics), y=(0, top), y_label="share of the limit"), notes)


PICTURES: dict[str, Callable[[], str]] = {
    "first_audit": first_audit,
    "waiting": waiting,
    "collection": collection,
    "training": training,
    "load": load,
    "strength": strength,
    "minutes": minutes,
    "error_rates": error_rates,
}


def path_of(name: str) -> Path:
    """Return the file of a picture."""
    return FOLDER / f"benchmarks_{name}.svg"


def page_of(name: str) -> Path:
    """Return the page that shows a picture."""
    page = "error_rates.md" if name == "error_rates" else "benchmarks.md"
    return ROOT / "docs" / page


def _measured(name: str):
    return json.loads((ROOT / "benchmarks" / name).read_text("utf-8"))


if __name__ == "__main__":
    for name, draw in PICTURES.items():
        path_of(name).write_text(draw(), "utf-8")
