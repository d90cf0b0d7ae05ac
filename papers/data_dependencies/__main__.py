"""``python -m papers.data_dependencies figure6``: a command per figure, ``page`` for the docs, ``all`` for everything.

Every run is kept in ``audits/papers/data_dependencies``: a figure that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import guestlist as gl
from papers.data_dependencies import page
from papers.data_dependencies.bounds import bounds
from papers.data_dependencies.data import TABLES
from papers.data_dependencies.figures import FIGURES, rows
from papers.data_dependencies.results import write

REPEATS = 10
ALL = ("figure1", *FIGURES)


def main(arguments: list[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    for name in ALL:
        if options.command in (name, "all"):
            run(name, options.repeats, Path(options.folder), options.jobs)
    if options.command in ("page", "all"):
        page.page().write()


def run(name: str, repeats: int = REPEATS, place: Path = Path(), jobs: int = 1, **more) -> None:
    """Run a figure and write its result.

    Args:
        more: options of ``ExperimentSetting``, and ``smaller``, for a quick try.
    """
    start, smaller, there = time.process_time(), more.pop("smaller", 1), _runs(place / name)
    if name == "figure1":
        write(
            name, f"python -m papers.data_dependencies {name}", {}, 1, time.process_time() - start, {"bounds": bounds()}
        )
        return
    found, sizes = [], {}
    tables = {table: TABLES[table]() for table in {played.table for played in FIGURES[name]}}
    for played in FIGURES[name]:
        table = tables[played.table]
        sizes[played.table] = {"records": len(table.frame), "features": table.features}
        setting = gl.ExperimentSetting(repeats=repeats, shadows=played.shadows, **more)
        found += rows(played, table, setting, place / name, jobs, smaller)
        command = f"python -m papers.data_dependencies {name} --repeats {repeats}"
        seconds, every = time.process_time() - start, _runs(place / name)
        # Of a figure that was stopped and goes on, the runs that were there took as long as those that were made now.
        seconds *= every / max(every - there, 1)
        write(name, command, sizes, repeats, seconds, {"rows": found})


def _runs(folder: Path) -> int:
    return len(list(folder.glob("*/runs/*.npz")))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=[*ALL, "page", "all"])
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--folder", default="audits/papers/data_dependencies")
    return parser


if __name__ == "__main__":
    main()
