"""Reproduce the tables and figures of Duddu et al. (2022) on SHAPr.

Trained models are stored, so that a stopped run resumes. Each run prints its expected duration and writes its result to
papers/shapr/results.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from threadpoolctl import threadpool_limits

import guestlist as gl
from papers.shapr import attribution, backdoors, effectiveness, noise, page, regularisation, removal, times
from papers.shapr.data import SOURCES, available, load
from papers.shapr.distributions import distributions
from papers.shapr.groups import groups
from papers.shapr.measures import repeat
from papers.shapr.models import Setting, train_models
from papers.shapr.results import expected, others, write

FOLDER = Path("audits") / "papers" / "shapr"


def main(arguments: list[str] | None = None, setting: Setting | None = None) -> None:
    """Run a command.

    Args:
        setting: smaller models than the paper's, for tests.
    """
    import torch

    torch.set_num_threads(1)  # on shared cores, several threads are slower
    options = _parser().parse_args(arguments)
    setting = setting or Setting()
    if options.repeats:
        setting = replace(setting, repeats=options.repeats)
    for name in SOURCES:
        if options.command in (name, "all"):
            print(expected(name), flush=True)
            _dataset(name, setting, options)
    for name, run in ALONE.items():
        if options.command in (name, "all"):
            print(expected(name), flush=True)
            run(name, setting, options)
    if options.command in ("page", "all"):
        page.page().write()


def _dataset(name: str, setting: Setting, options: argparse.Namespace) -> None:
    """Compute Tables III to V, VIII and IX and Figures 3 to 5 of one dataset."""
    source = SOURCES[name]
    with threadpool_limits(1):
        models = train_models(load(name), source, setting, options.folder)
        start = time.perf_counter()
        repeats = [repeat(models, k) for k in range(setting.repeats)]
        tables = {
            "accuracy": [effectiveness.accuracy(repeats)],
            "called": effectiveness.called(repeats),
            "effects": effectiveness.effects(repeats),
            "groups": groups(repeats, models.pool.groups),
            "distributions": distributions(repeats[0]),
        }
    size = setting.members(source)
    sizes = {name: {"members": size, "nonmembers": size, "features": models.pool.x.shape[1]}}
    count = {"count": setting.repeats, "unit": f"targets, {len(models.member) - 1} references each"}
    write(name, _spelt(name, options), sizes, count, models.seconds + time.perf_counter() - start, tables)


def _times(name: str, setting: Setting, options: argparse.Namespace) -> None:
    """Compute Table VI, for the datasets that are available."""
    start = time.perf_counter()
    rows = times.timings(available(SOURCES), max_records=options.max_records)
    with threadpool_limits(1):
        naive = times.leave_one_out(load("location30"), setting)
    tables = {"timings": rows, "leave_one_out": [naive]}
    write(name, _spelt(name, options), {}, {"count": 1, "unit": "run"}, time.perf_counter() - start, tables)


def _attribution(name: str, setting: Setting, options: argparse.Namespace) -> None:
    """Compute Table VII."""
    setting = setting.for_targets(attribution.REPEATS)
    datasets = options.datasets or list(SOURCES)
    sizes, tables, seconds = _earlier(name, datasets, setting, options)
    start = time.perf_counter()
    rows = tables["recalls"]
    count = {"count": setting.repeats, "unit": "targets of each dataset"}
    with threadpool_limits(1):
        for dataset in datasets:
            models = train_models(load(dataset), SOURCES[dataset], setting, options.folder)
            rows += attribution.recalls(models, setting)
            sizes[dataset] = {"members": int(models.member[0].sum())}
            took = seconds + time.perf_counter() - start
            write(name, _spelt(name, options, sizes), sizes, count, took, {"recalls": rows})


def _sweep(name: str, setting: Setting, options: argparse.Namespace) -> None:
    """Compute Figure 1, Figure 2, Figures 6 and 7 with Table X, or section X-B: targets with changed training."""
    defence = SWEEPS[name]
    setting = setting.for_sweeps(defence.REPEATS)
    datasets = options.datasets or defence.DATASETS
    sizes, tables, seconds = _earlier(name, datasets, setting, options)
    count = {"count": setting.repeats, "unit": "targets of each dataset"}
    with threadpool_limits(1):
        for dataset in datasets:
            models = train_models(load(dataset), SOURCES[dataset], setting, options.folder)
            networks, took = defence.train_networks(models, setting)
            start = time.perf_counter()
            for table, rows in defence.tables(models, setting, networks).items():
                tables[table] += rows
            seconds += took + time.perf_counter() - start
            sizes[dataset] = {"members": int(models.member[0].sum())}
            write(name, _spelt(name, options, sizes), sizes, count, seconds, tables)


def _earlier(
    name: str, datasets: Sequence[str], setting: Setting, options: argparse.Namespace
) -> tuple[dict, defaultdict[str, list], float]:
    """Return sizes, rows and seconds to which a run adds: with ``--add`` those of the committed result."""
    if not options.add:
        return {}, defaultdict(list), 0.0
    sizes, tables, seconds = others(name, datasets, setting.repeats)
    return sizes, defaultdict(list, tables), seconds


SWEEPS = {"regularisation": regularisation, "removal": removal, "noise": noise, "backdoors": backdoors}
ALONE = {"times": _times, "attribution": _attribution} | dict.fromkeys(SWEEPS, _sweep)


COMMANDS = f"""commands:
  DATASET         Tables III to V, VIII and IX and Figures 3 to 5 of one dataset:
                  {", ".join(list(SOURCES)[:4])},
                  {", ".join(list(SOURCES)[4:])}
  times           Table VI
  attribution     Table VII
  regularisation  Figure 1
  removal         Figure 2
  noise           Table X, Figures 6 and 7
  backdoors       section X-B
  page            write the page of the docs from the committed results
  all             run all of these, which takes hours
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m papers.shapr",
        description=__doc__,
        epilog=COMMANDS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "command", metavar="COMMAND", choices=[*SOURCES, *ALONE, "page", "all"], help="command from the list below"
    )
    parser.add_argument(
        "--repeats", type=int, metavar="N", help="targets of each dataset (default: 3 to 10, by command)"
    )
    parser.add_argument(
        "--datasets",
        nargs="+",
        choices=list(SOURCES),
        metavar="DATASET",
        help="datasets of attribution, regularisation, removal, noise or backdoors (default: all that the paper has)",
    )
    parser.add_argument(
        "--add", action="store_true", help="with --datasets: keep the other datasets of the committed result"
    )
    parser.add_argument(
        "--max-records", type=int, metavar="N", help="members and non-members in Table VI (default: the paper's)"
    )
    parser.add_argument(
        "--folder", type=Path, default=FOLDER, metavar="PATH", help="folder of trained models (default: %(default)s)"
    )
    return parser


def _spelt(name: str, options: argparse.Namespace, datasets: Iterable[str] = ()) -> str:
    """Return the command that computes only this result, with its datasets if they were chosen."""
    fewer = f" --repeats {options.repeats}" if options.repeats else ""
    some = f" --datasets {' '.join(datasets)}" if options.datasets and datasets else ""
    return f"python -m papers.shapr {name}{fewer}{some}"


if __name__ == "__main__":
    try:
        main()
    except gl.AuditError as error:
        sys.exit(f"{error}")
