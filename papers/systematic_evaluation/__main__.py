"""Reproduce Song & Mittal (2021).

Trained models are stored in audits/papers/systematic_evaluation, so that a stopped command resumes.
Each command first prints its expected duration; without stored models, some take longer.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from threadpoolctl import threadpool_limits

import guestlist as gl
from guestlist.datasets import DATA_VARIABLE, local
from papers.listing import CommandParser
from papers.systematic_evaluation import (
    attack_networks,
    calibrations,
    class_gaps,
    confident,
    data,
    defended,
    difficulty,
    distributions,
    embeddings,
    epochs,
    images,
    memguard,
    page,
    recipe,
    references,
    rises,
    sensitivity,
    thresholds,
    uneven,
    white_box,
)
from papers.systematic_evaluation.models import Setting
from papers.systematic_evaluation.pairs import (
    CIFAR,
    CIFAR_IMAGES,
    LOCATION,
    PUBLIC,
    PUBLIC_500,
    PUBLIC_ADV_REG,
    PURCHASE,
    STUDIES,
    TEXAS,
    Study,
)
from papers.systematic_evaluation.results import expected, write

REPEATS = 3


@dataclass(frozen=True)
class Command:
    """Command that computes a table.

    Args:
        run: function ``(records, setting, cache, repeats=)`` that returns one list of rows per name in ``tables``.
    """

    run: Callable
    tables: tuple[str, ...]


COMMANDS = {
    "table5": Command(white_box.outcomes, ("outcomes", "fitted")),
    "difficulty": Command(difficulty.difficulty, ("changed", "levels")),
}


@dataclass(frozen=True)
class PairCommand:
    """Command that computes a table or figure of a target and its shadow model.

    Args:
        run: function ``(study, records, cache, repeats=)`` that returns one list of rows per name in ``tables``.
        repeats: number of repeats of a full run, by dataset.
        unit: name of the repeated unit, in the singular and plural.
    """

    run: Callable
    tables: tuple[str, ...]
    repeats: dict[str, int]
    unit: tuple[str, str] = ("target", "targets")


BOTH = {LOCATION: 3, CIFAR: 1}
WITHOUT = ("model without each member", "models without each member")
PAIR_COMMANDS = {
    "table2": PairCommand(defended.defended, ("attacked", "fitted"), {LOCATION: 5, CIFAR: 1}),
    "table3": PairCommand(thresholds.comparison, ("trained",), {LOCATION: 3}),
    "rises": PairCommand(rises.rises, ("rises",), {LOCATION: 3}),
    "figure3": PairCommand(calibrations.validation, ("calibrated",), BOTH),
    "figure5": PairCommand(distributions.spreads, ("spreads",), BOTH),
    "figure8": PairCommand(class_gaps.class_gaps, ("gaps",), BOTH),
    "figure8_averages": PairCommand(class_gaps.averages, ("averaged",), {LOCATION: 8}),
    "figure9": PairCommand(embeddings.embeddings, ("shown", "ends"), {LOCATION: 3}),
    "figure10": PairCommand(distributions.priors, ("priors", "steps"), BOTH),
    "table6": PairCommand(confident.confident, ("calls",), BOTH),
    "table7": PairCommand(images.attacked, ("attacked", "fitted"), {CIFAR: 1}),
    "cifar100_images": PairCommand(images.attacked, ("attacked", "fitted"), {CIFAR_IMAGES: 3}),
    "memguard_network": PairCommand(memguard.naive, ("naive",), {LOCATION: 5}),
    "figure2": PairCommand(epochs.epochs, ("epochs",), {LOCATION: 3}),
    "attack_networks": PairCommand(attack_networks.attack_networks, ("networks",), {LOCATION: 1, CIFAR: 1}),
    "references": PairCommand(references.references, ("learnt",), {LOCATION: 1}),
    "figure4": PairCommand(calibrations.architectures, ("calibrated", "aligned"), {LOCATION: 1}),
    "figure12": PairCommand(calibrations.defended_architectures, ("adv_reg", "memguard"), {LOCATION: 1}),
    "recipe": PairCommand(recipe.recipe, ("trained", "calibrated", "gaps", "calls"), {PUBLIC: 3, PUBLIC_500: 3}),
    "uneven": PairCommand(uneven.uneven, ("trained", "calibrated", "gaps", "calls"), {LOCATION: 3, PUBLIC: 3}),
    "released_adv_reg": PairCommand(defended.defended, ("attacked", "fitted"), {PUBLIC_ADV_REG: 5}),
    "purchase100": PairCommand(defended.defended, ("attacked", "fitted"), {PURCHASE: 1}),
    "texas100": PairCommand(defended.defended, ("attacked", "fitted"), {TEXAS: 1}),
    "figure7": PairCommand(sensitivity.sensitivity, ("removed", "ranked"), {LOCATION: 1}, WITHOUT),
}


# Data that few users have: without these files "all" omits the command.
FILES = {"purchase100": data.PURCHASE, "texas100": data.TEXAS}


def main(
    arguments: list[str] | None = None, setting: Setting | None = None, studies: dict[str, Study] | None = None
) -> None:
    """Run a command.

    Args:
        setting, studies: smaller models than the paper's, for tests.
    """
    options = _parser().parse_args(arguments)
    setting = setting or Setting()
    if options.command in ("table4", "all"):
        print(expected("table4"), flush=True)
        start = time.perf_counter()
        tables = {
            "accuracies": memguard.accuracies(),
            "thresholds": thresholds.authors(),
            "sources": class_gaps.authors(),
            "networks": memguard.networks(),
        }
        sizes = {"Location30": {"members": 1000, "nonmembers": 1000}}
        once = {"count": 1, "unit": "target and its shadow model"}
        write("table4", _spelt("table4"), sizes, once, time.perf_counter() - start, tables)
    for name, command in COMMANDS.items():
        if options.command in (name, "all"):
            print(expected(name), flush=True)
            _train(name, command, setting, options.folder, options.repeats or REPEATS)
    for name, pair_command in PAIR_COMMANDS.items():
        missing = [file for file in FILES.get(name, ()) if local(file) is None]
        if options.command == "all" and missing:
            print(f"{name}: omitted, because {missing[0]} is not in ${DATA_VARIABLE}.")
        elif options.command in (name, "all"):
            print(expected(name), flush=True)
            _pairs(name, pair_command, studies or STUDIES, options.folder, options.repeats)
    if options.command in ("page", "all"):
        page.page().write()


def _train(name: str, command: Command, setting: Setting, cache: Path, repeats: int) -> None:
    _one_thread()
    records, start = data.location30(), time.perf_counter()
    with threadpool_limits(1):
        parts = command.run(records, setting, cache, repeats=repeats)
    sizes = {"Location30": {"members": setting.records, "nonmembers": setting.records}}
    count = {"count": repeats, "unit": f"targets, {setting.references} references each"}
    tables = dict(zip(command.tables, parts, strict=True))
    write(
        name, _spelt(name, None if repeats == REPEATS else repeats), sizes, count, time.perf_counter() - start, tables
    )


def _pairs(name: str, command: PairCommand, studies: dict[str, Study], cache: Path, repeats: int | None) -> None:
    _one_thread()
    start, tables = time.perf_counter(), {table: [] for table in command.tables}
    counts = {dataset: repeats or count for dataset, count in command.repeats.items()}
    for dataset, count in counts.items():
        study = studies[dataset]
        with threadpool_limits(1):
            parts = command.run(study, study.load(), cache / "pairs", repeats=count)
        for table, rows in zip(command.tables, parts, strict=True):
            tables[table] += rows
    sizes = {
        dataset: {"members": studies[dataset].members, "nonmembers": studies[dataset].members} for dataset in counts
    }
    others = "".join(f", {count} of {dataset}" for dataset, count in list(counts.items())[1:])
    dataset, count = next(iter(counts.items()))
    repeated = {"count": count, "unit": f"{command.unit[count > 1]} of {dataset}{others}"}
    write(name, _spelt(name, repeats), sizes, repeated, time.perf_counter() - start, tables)


def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)  # on shared cores, several threads take minutes per model


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        page.page,
        ["table4", *COMMANDS, *PAIR_COMMANDS],
        {"page": "Write the page of the docs from committed results.", "all": "Run every command, and write the page."},
        prog="python -m papers.systematic_evaluation",
        description=__doc__,
    )
    parser.add_argument("--repeats", type=int, help="number of targets; fewer is quicker")
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path("audits/papers/systematic_evaluation"),
        help="folder of trained models, which are not trained again",
    )
    return parser


def _spelt(name: str, repeats: int | None = None) -> str:
    """Return the command that computes only this result."""
    return f"python -m papers.systematic_evaluation {name}" + (f" --repeats {repeats}" if repeats else "")


if __name__ == "__main__":
    try:
        main()
    except gl.AuditError as error:
        sys.exit(f"{error}")
