"""``python -m papers.systematic_evaluation table3``: a command per table, ``page`` for the docs, ``all`` for both."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from threadpoolctl import threadpool_limits

import guestlist as gl
from papers.systematic_evaluation import memguard, page, thresholds, white_box
from papers.systematic_evaluation.data import location30
from papers.systematic_evaluation.models import Setting
from papers.systematic_evaluation.results import write

REPEATS = 3


@dataclass(frozen=True)
class Command:
    """What a table is made by.

    Args:
        of: ``(records, setting, place, repeats=)`` to the lists of rows that ``tables`` names.
    """

    of: Callable
    tables: tuple[str, ...]


COMMANDS = {
    # In this order: the white box keeps more of what references answer, and the thresholds need no others.
    "table5": Command(white_box.outcomes, ("outcomes", "fitted")),
    "table3": Command(thresholds.comparison, ("accuracies", "fitted")),
}


def main(arguments: list[str] | None = None, setting: Setting | None = None) -> None:
    """Run a command.

    Args:
        setting: smaller models than the paper's, to try things out.
    """
    options = _parser().parse_args(arguments)
    setting = setting or Setting()
    if options.command in ("table4", "all"):
        start = time.perf_counter()
        rows = memguard.accuracies()
        sizes = {"Location30": {"members": 1000, "nonmembers": 1000}}
        once = {"count": 1, "of": "target and its shadow model"}
        write("table4", _spelt("table4"), sizes, once, time.perf_counter() - start, {"accuracies": rows})
    with tempfile.TemporaryDirectory() as fleeting:
        for name, command in COMMANDS.items():
            if options.command in (name, "all"):
                _train(name, command, setting, options.folder or Path(fleeting), options.repeats)
    if options.command in ("page", "all"):
        page.write()


def _train(name: str, command: Command, setting: Setting, place: Path, repeats: int) -> None:
    import torch

    torch.set_num_threads(1)  # threads wait for each other where cores are shared, and models would take minutes
    records, start = location30(), time.perf_counter()
    with threadpool_limits(1):
        found = command.of(records, setting, place, repeats=repeats)
    sizes = {"Location30": {"members": setting.records, "nonmembers": setting.records}}
    count = {"count": repeats, "of": f"targets, {setting.references} references each"}
    tables = dict(zip(command.tables, found, strict=True))
    write(name, _spelt(name, repeats), sizes, count, time.perf_counter() - start, tables)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m papers.systematic_evaluation", description=__doc__)
    parser.add_argument("command", choices=["table4", *COMMANDS, "page", "all"])
    parser.add_argument("--repeats", type=int, default=REPEATS, help="targets to train; fewer is quicker")
    parser.add_argument("--folder", type=Path, help="keeps the audits: what was trained is not trained again")
    return parser


def _spelt(name: str, repeats: int = REPEATS) -> str:
    """The command that makes this result alone."""
    return f"python -m papers.systematic_evaluation {name}" + ("" if repeats == REPEATS else f" --repeats {repeats}")


if __name__ == "__main__":
    try:
        main()
    except gl.AuditError as error:
        sys.exit(f"{error}")
