"""``python -m papers.data_dependencies figure6``: a command per figure, ``page`` for the docs, ``all`` for everything.

Every run is stored in ``audits/papers/data_dependencies``, so that a stopped figure resumes. Each command first prints
its expected duration.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import guestlist as gl
from papers.data_dependencies import page
from papers.data_dependencies.bounds import bounds
from papers.data_dependencies.data import TABLES
from papers.data_dependencies.figures import GAMES, rows
from papers.data_dependencies.results import expected, write

REPEATS = 10
ALL = ("figure1", *GAMES)


def main(arguments: list[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    for name in ALL:
        if options.command in (name, "all"):
            print(expected(name), flush=True)
            limits = {"games": options.games, "epsilons": options.epsilons}
            run(name, options.repeats, Path(options.folder), options.jobs, **limits)
    if options.command in ("page", "all"):
        page.page().write()


def run(
    name: str,
    repeats: int = REPEATS,
    folder: Path = Path(),
    jobs: int = 1,
    *,
    games: int | None = None,
    epsilons: Sequence[float] | None = None,
    **options,
) -> None:
    """Run a figure and write its result after every game.

    Args:
        games: number of games of the figure, from the first; None for all.
        epsilons: values of epsilon; None for the paper's.
        options: options of ``ExperimentSetting``, and ``smaller``, for tests.
    """
    start, smaller, runs_before = time.process_time(), options.pop("smaller", 1), _runs(folder / name)
    if name == "figure1":
        write(
            name, f"python -m papers.data_dependencies {name}", {}, 1, time.process_time() - start, {"bounds": bounds()}
        )
        return
    result_rows, sizes = [], {}
    tables = {table: TABLES[table]() for table in {played.table for played in GAMES[name]}}
    command = f"python -m papers.data_dependencies {name} --repeats {repeats}"
    if games:
        command += f" --games {games}"
    if epsilons:
        command += f" --epsilons {' '.join(f'{epsilon:g}' for epsilon in epsilons)}"
        options["epsilons"] = tuple(epsilons)
    for played in GAMES[name][:games]:
        table = tables[played.table]
        sizes[played.table] = {"records": len(table.frame), "features": table.features}
        setting = gl.ExperimentSetting(
            repeats=repeats, shadows=played.shadows, shadow_training=played.shadow_training, **options
        )
        result_rows += rows(played, table, setting, folder / name, jobs, smaller)
        seconds, every = time.process_time() - start, _runs(folder / name)
        # A figure that resumes counts its earlier runs at the mean time of the new ones.
        seconds *= every / max(every - runs_before, 1)
        write(name, command, sizes, repeats, seconds, {"rows": result_rows})


def _runs(folder: Path) -> int:
    return len(list(folder.glob("*/runs/*.npz")))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m papers.data_dependencies", description=__doc__)
    parser.add_argument("command", choices=[*ALL, "page", "all"])
    parser.add_argument("--repeats", type=int, default=REPEATS, help="repeats of every game (default: %(default)s)")
    parser.add_argument("--games", type=int, help="number of games of a figure, from the first (default: all)")
    parser.add_argument(
        "--epsilons", type=float, nargs="+", help="values of epsilon, such as 0.1 inf (default: the paper's)"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: %(default)s)")
    parser.add_argument(
        "--folder", default="audits/papers/data_dependencies", help="keeps every run (default: %(default)s)"
    )
    return parser


if __name__ == "__main__":
    main()
