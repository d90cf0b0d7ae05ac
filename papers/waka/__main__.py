"""Reproduce Mesana et al. (2024).

Each command first prints its expected duration. Nothing is stored between commands.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from threadpoolctl import threadpool_limits

import guestlist as gl
from papers.listing import CommandParser
from papers.waka import attack, correlation, minimisation, onion, page, rates, roc, shapes, synthetic, times, variants
from papers.waka.data import PAPER, SOURCES, Pool, available, load
from papers.waka.results import expected, write


@dataclass(frozen=True)
class Command:
    """Command that computes a table.

    Args:
        run: function (pool, repeats=) that returns a list of rows, or several such lists.
        tables: names of the lists in the result.
        repeats: number of repeats of a full run.
        unit: name of the repeated unit.
        datasets: datasets of a run by default.
    """

    run: Callable
    tables: tuple[str, ...]
    repeats: int
    unit: str
    datasets: tuple[str, ...] = PAPER


def _balanced(pool: Pool, *, repeats: int) -> tuple[list[rates.Rate], list[onion.Layer]]:
    """Compute Tables II, III and IV on one pool."""
    return rates.rates(pool, repeats=repeats), onion.layers(pool, repeats=repeats)[0]


BATCH = "batches of 18 games"
COMMANDS = {
    "table1": Command(correlation.correlations, ("correlations",), 112, BATCH),
    "table2": Command(rates.rates, ("rates",), 3, BATCH),
    "table3": Command(onion.layers, ("layers", "influences"), 4, BATCH),
    "figure4": Command(onion.success_distributions, ("success",), 4, BATCH),
    "figure6": Command(minimisation.curves, ("curves",), 2, "random orders"),
    "table5": Command(attack.outcomes, ("outcomes",), 48, "games"),
    "figure1": Command(shapes.shapes, ("shapes",), 8, BATCH),
    "figure3": Command(roc.curves, ("curves",), 1, BATCH),
    "balanced": Command(_balanced, ("rates", "layers"), 3, BATCH, ("adult balanced",)),
    "figure6_balanced": Command(
        minimisation.curves, ("curves",), 2, "random orders", ("adult balanced", "bank balanced")
    ),
    "variants": Command(variants.variants, ("variants",), 48, "games"),
    "times": Command(times.timings, ("timings",), 4, "games"),
}
SYNTHETIC, SYNTHETIC_DATASETS = "figure7", 10


def run(name: str, pools: list[Pool], repeats: int | None = None) -> dict[str, list]:
    """Return the rows of a command over several pools, by the names of its tables."""
    command = COMMANDS[name]
    rows_by_table = {table: [] for table in command.tables}
    for pool in pools:
        # With more BLAS threads than free cores, logistic regression took 20 times as long.
        with threadpool_limits(1):
            rows = command.run(pool, repeats=repeats or command.repeats)
        for table, part in zip(command.tables, [rows] if len(command.tables) == 1 else rows, strict=True):
            rows_by_table[table] += part
        print(f"{name}: {pool.name} done", file=sys.stderr, flush=True)
    return rows_by_table


def main(arguments: list[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    for name, command in COMMANDS.items():
        if options.command in (name, "all"):
            print(expected(name), flush=True)
            start, pools = time.perf_counter(), _pools(options, command.datasets)
            rows = run(name, pools, options.repeats)
            repeats = {"count": options.repeats or command.repeats, "unit": command.unit}
            write(name, _spelt(name, options), pools, repeats, time.perf_counter() - start, rows)
    if options.command in (SYNTHETIC, "all"):
        print(expected(SYNTHETIC), flush=True)
        _synthetic(options)
    if options.command in ("page", "all"):
        page.page().write()


def _synthetic(options: argparse.Namespace) -> None:
    """Run Figure 7, whose datasets are generated."""
    start, count = time.perf_counter(), options.repeats or SYNTHETIC_DATASETS
    pools = list(synthetic.blobs(count))
    removals, drawn = synthetic.removals(pools)
    repeats = {"count": count, "unit": "synthetic datasets"}
    tables = {"removals": removals, "drawn": drawn}
    write(SYNTHETIC, _spelt(SYNTHETIC, options), pools[:1], repeats, time.perf_counter() - start, tables)


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        page.page,
        [*COMMANDS, SYNTHETIC],
        {"page": "Write the page of the docs from committed results.", "all": "Run every command, and write the page."},
        prog="python -m papers.waka",
        description=__doc__,
    )
    parser.add_argument("--repeats", type=int, help="number of games, batches or random orders; fewer is quicker")
    parser.add_argument("--records", type=int, help="largest number of records of a pool (default: the paper's)")
    parser.add_argument(
        "--datasets",
        nargs="+",
        choices=list(SOURCES),
        metavar="NAME",
        help=f"datasets, by default all available ones of the command: {', '.join(SOURCES)}",
    )
    return parser


def _pools(options: argparse.Namespace, default: tuple[str, ...]) -> list[Pool]:
    return [_pool(name, options.records) for name in _datasets(options.datasets, default)]


@cache
def _pool(name: str, records: int | None) -> Pool:
    """Return the same pool for all commands of a run, because caches use its identity as a key."""
    return load(name, records=records)


def _datasets(wanted: list[str] | None, default: tuple[str, ...]) -> list[str]:
    available_names = available(default)
    for name in default if wanted is None else ():
        if name not in available_names:
            print(f"{name} is left out: there is no {SOURCES[name].file} in $GUESTLIST_DATA.", file=sys.stderr)
    if not (wanted or available_names):
        raise gl.AuditError("None of the datasets is there. Set GUESTLIST_DATA to the folder that holds them.")
    return wanted or available_names


def _spelt(name: str, options: argparse.Namespace) -> str:
    """Return the command that computes only this result."""
    words = ["python -m papers.waka", name]
    words += [f"--{option} {value}" for option in ("repeats", "records") if (value := getattr(options, option))]
    return " ".join([*words, *(["--datasets", *options.datasets] if options.datasets else [])])


if __name__ == "__main__":
    try:
        main()
    except gl.AuditError as error:
        sys.exit(f"{error}")
