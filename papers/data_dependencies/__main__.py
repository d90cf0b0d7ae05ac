"""Reproduce the figures of Humphries et al. (2023) on data dependencies.

Every run is stored, so that a stopped figure resumes. Each command prints its expected duration and writes its result to
papers/data_dependencies/results after every game.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import guestlist as gl
from papers.data_dependencies import page
from papers.data_dependencies.bounds import bounds
from papers.data_dependencies.data import TABLES
from papers.data_dependencies.figures import GAMES, Played, rows
from papers.data_dependencies.results import NOTHING, committed, expected, in_order, joined, write

REPEATS = 10
ALL = ("figure1", *GAMES)


def main(arguments: list[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    for name in ALL:
        if options.command in (name, "all"):
            print(expected(name), flush=True)
            limits = {"games": options.games, "epsilons": options.epsilons, "add": options.add}
            run(name, options.repeats, Path(options.folder), options.jobs, **limits)
    if options.command in ("page", "all"):
        page.page().write()


def run(
    name: str,
    repeats: int = REPEATS,
    folder: Path = Path(),
    jobs: int = 1,
    *,
    games: Sequence[str] | None = None,
    epsilons: Sequence[float] | None = None,
    add: bool = False,
    **options,
) -> None:
    """Run a figure and write its result after every game.

    Args:
        games: names of games of the figure; None for all.
        epsilons: values of epsilon; None for the paper's.
        add: keep the rows of the committed result that this run does not compute.
        options: options of ``ExperimentSetting``, and ``smaller``, for tests.

    Raises:
        InputError: a game is not one of the figure, or the committed result has different repeats or sizes.
    """
    start, smaller = time.process_time(), options.pop("smaller", 1)
    if name == "figure1":
        write(
            name, f"python -m papers.data_dependencies {name}", {}, 1, time.process_time() - start, {"bounds": bounds()}
        )
        return
    command = f"python -m papers.data_dependencies {name} --repeats {repeats}"
    # A folder holds one list of epsilons, because the position of an epsilon chooses the random numbers of its models.
    root = folder / name
    if games:
        command += f" --games {shlex.join(games)}"
    if epsilons:
        chosen = [f"{epsilon:g}" for epsilon in epsilons]
        command += f" --epsilons {' '.join(chosen)}"
        root = folder / "-".join([name, *chosen])
        options["epsilons"] = tuple(epsilons)
    played_games = _chosen(name, games)
    tables = {table: TABLES[table]() for table in {played.table for played in played_games}}
    sizes = {table: {"records": len(content.frame), "features": content.features} for table, content in tables.items()}
    earlier = committed(name, repeats, sizes) if add else NOTHING
    runs_before, result_rows = _runs(root), []
    for played in played_games:
        setting = gl.ExperimentSetting(
            repeats=repeats, shadows=played.shadows, shadow_training=played.shadow_training, **options
        )
        result_rows += map(asdict, rows(played, tables[played.table], setting, root, jobs, smaller))
        seconds, every = time.process_time() - start, _runs(root)
        # A figure that resumes counts its earlier runs at the mean time of the new ones.
        seconds *= every / max(every - runs_before, 1)
        merged = in_order(joined(earlier.rows, result_rows, repeats), [each.called for each in GAMES[name]])
        commands = earlier.with_command(command)
        write(name, commands, earlier.sizes | sizes, repeats, earlier.seconds + seconds, {"rows": merged})


def _chosen(name: str, games: Sequence[str] | None) -> list[Played]:
    """Return the games of a figure with these names, in the figure's order."""
    names = [played.called for played in GAMES[name]]
    unknown = [game for game in games or () if game not in names]
    if unknown:
        raise gl.InputError(f"{name} has no game {unknown[0]!r}. Choose from {', '.join(map(repr, names))}.")
    return [played for played in GAMES[name] if not games or played.called in games]


def _runs(folder: Path) -> int:
    return len(list(folder.glob("*/runs/*.npz")))


COMMANDS = """commands:
  figure1           bounds on the advantage
  figure2, figure3  clusters (Adult, COMPAS)
  figure4, figure5  share p of members of one gender, of low education (Adult)
  figure6, figure7  hospitals, schools
  figure9           census
  figure2_shadow, figure4_shadow, figure9_shadow
                    with plain shadow models, as in the paper
  figure2_shadow_small, figure5_shadow, figure9_shadow_small
                    with plain shadow models and 1,000 members
  figure2_private, figure4_private, figure5_private, figure9_private
                    with shadow models of the target's epsilon and 1,000 members
  figure4_small, figure5_small
                    with 1,000 members
  page              write the page of the docs from the committed results
  all               run all of these, which takes hours

Add games or epsilons to a committed result:
  python -m papers.data_dependencies figure5 --repeats 3 --games "p = 0" "p = 1" --epsilons 1 10 --add
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m papers.data_dependencies",
        description=__doc__,
        epilog=COMMANDS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", metavar="COMMAND", choices=[*ALL, "page", "all"], help="command from the list below")
    parser.add_argument(
        "--repeats", type=int, default=REPEATS, metavar="N", help="repeats of every game (default: %(default)s)"
    )
    parser.add_argument(
        "--games", nargs="+", metavar="NAME", help='games of one figure, such as "p = 0.25" (default: all)'
    )
    parser.add_argument(
        "--epsilons", type=float, nargs="+", metavar="EPSILON", help="values of epsilon (default: 0.1 1 10 100 inf)"
    )
    parser.add_argument(
        "--add", action="store_true", help="keep the rows of the committed result that this run does not compute"
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes (default: %(default)s)")
    parser.add_argument(
        "--folder",
        default="audits/papers/data_dependencies",
        metavar="PATH",
        help="folder of finished runs (default: %(default)s)",
    )
    return parser


if __name__ == "__main__":
    try:
        main()
    except gl.AuditError as error:
        sys.exit(f"{error}")
