"""Reproduce Ye et al. (2022).

Trained models are stored in audits/papers/hypothesis_tests, so that a stopped command resumes.
Each command first prints its expected duration, which is that of the committed run on two cores.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import guestlist as gl
from papers.hypothesis_tests import audits, comparison, figures, page, tables
from papers.hypothesis_tests.configurations import CONFIGURATIONS
from papers.hypothesis_tests.published import AGREEMENT_LEVEL, LOCATION30
from papers.listing import CommandParser
from papers.results import LIBRARIES, expected, write

RESULTS = Path(__file__).parent / "results"
COMPARED = "location30 shallow"  # configuration of table2 and figure2
DOTTED = "location30 shallow 2500"  # configuration of figure5
TABLES = {
    "table1": ["location30", "mnist Ia", "mnist Ib", "mnist IIa", "mnist IIb"],
    "table1_location30": list(LOCATION30),
    "momentum": ["mnist Ia, no momentum"],
    "large_pool": ["mnist Ia, large pool"],
    "table3": [name for name in CONFIGURATIONS if name.startswith("cifar10 ")],
    "table4": [name for name in CONFIGURATIONS if name.startswith("cifar100")],
}
TARGETS = {"table1": 3, "table1_location30": 3, "momentum": 3, "large_pool": 3, "table3": 2, "table4": 3}
MODELS = {
    "table1": 64,
    "table1_location30": 24,
    "momentum": 16,
    "large_pool": 32,
    "table3": 6,
    "table4": 64,
    "figure5": 128,  # half of them lack a member
}
LEFT_OUT = gl.evidence.LeftOut(records=100, models=32)
OPTIONS = ("targets", "models", "left_out", "left_out_models")  # that change numbers


def main(arguments: list[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    for name, run in COMMANDS.items():
        if options.command in (name, "all"):
            print(expected(name, RESULTS / f"{name}.json"), flush=True)
            run(name, options)
    if options.command in ("page", "all"):
        page.page().write()


def _strengths(table: str, options: argparse.Namespace) -> None:
    start, rows, sizes = time.perf_counter(), [], {}
    targets, models = options.targets or TARGETS[table], options.models or MODELS[table]
    for name in options.configurations or TABLES[table]:
        configuration = CONFIGURATIONS[name]
        rows.append(tables.strength(name, _cases(name, options, targets, models)))
        sizes[name] = {
            "members": configuration.members,
            "nonmembers": configuration.members,
            "pool": configuration.pool,
            "models": models,
        }
        repeats = {"count": targets, "unit": f"targets, {models} references and distilled models each"}
        _write(_spelt(table, options), table, sizes, repeats, time.perf_counter() - start, {"strengths": rows})


def _agreement(name: str, options: argparse.Namespace) -> None:
    start = time.perf_counter()
    left_out = gl.evidence.LeftOut(records=options.left_out, models=options.left_out_models)
    case = _cases(COMPARED, options, 1, options.models or MODELS["table1"], left_out)[0]
    agreed = comparison.agreement(case, level=AGREEMENT_LEVEL, models=left_out.models)
    rows = {
        "agreement": [agreed],
        "closeness": comparison.closeness(case, left_out.models),
        "nearer": comparison.nearer(case, left_out.models),
    }
    sizes = {COMPARED: {"members": agreed.records[0], "nonmembers": agreed.records[1]}}
    repeats = {"count": left_out.models, "unit": "models of R, of D and of L for each record"}
    _write(_spelt(name, options), name, sizes, repeats, time.perf_counter() - start, rows)


def _differences(name: str, options: argparse.Namespace) -> None:
    start = time.perf_counter()
    rows = figures.pairs(_dotted(options))
    sizes = {DOTTED: {"members": rows[0].members, "nonmembers": 0}}
    _write(
        _spelt(name, options), name, sizes, {"count": 1, "unit": "target"}, time.perf_counter() - start, {"pairs": rows}
    )


def _curves(name: str, options: argparse.Namespace) -> None:
    start = time.perf_counter()
    models = options.models or MODELS["table1"]
    cases = {
        configuration: _cases(configuration, options, 1, models)[0] for configuration in ("location30", "mnist Ia")
    }
    rows = {
        "curves": figures.curves(cases),
        "losses": figures.losses(cases["location30"]),
        "dots": figures.differences(_dotted(options)),
    }
    sizes = {
        configuration: {
            "members": CONFIGURATIONS[configuration].members,
            "nonmembers": CONFIGURATIONS[configuration].members,
        }
        for configuration in (*cases, DOTTED)
    }
    repeats = {"count": 1, "unit": "target of each configuration"}
    _write(_spelt(name, options), name, sizes, repeats, time.perf_counter() - start, rows)


def _second_target(name: str, options: argparse.Namespace) -> None:
    start = time.perf_counter()
    models = options.models or MODELS["table1"]
    first, second = _cases(COMPARED, options, 2, models)
    losses, concentration = figures.second_target(first, second)
    sizes = {COMPARED: {"members": CONFIGURATIONS[COMPARED].members, "nonmembers": CONFIGURATIONS[COMPARED].members}}
    repeats = {"count": 2, "unit": f"targets, {models} references and distilled models each"}
    rows = {"losses": losses, "concentration": concentration}
    _write(_spelt(name, options), name, sizes, repeats, time.perf_counter() - start, rows)


COMMANDS = {
    "table1": _strengths, "table1_location30": _strengths, "momentum": _strengths,
    "large_pool": _strengths, "table2": _agreement,
    "table3": _strengths, "table4": _strengths, "figure2": _second_target, "figure5": _differences, "figures": _curves
}  # fmt: skip


def _dotted(options: argparse.Namespace) -> gl.Case:
    return _cases(DOTTED, options, 1, options.models or MODELS["figure5"])[0]


def _cases(
    name: str, options: argparse.Namespace, targets: int, models: int, left_out: gl.evidence.LeftOut | None = None
) -> list[gl.Case]:
    return audits.collect(
        name,
        CONFIGURATIONS[name],
        targets=targets,
        models=models,
        left_out=left_out,
        folder=options.folder,
        jobs=options.jobs,
        progress=gl.show_progress,
    )


def _spelt(name: str, options: argparse.Namespace) -> str:
    """Return the command with the options that change its numbers, where they are not the defaults."""
    defaults = _parser().parse_args([name])
    changed = [option for option in OPTIONS if getattr(options, option) != getattr(defaults, option)]
    options_given = "".join(f" --{option.replace('_', '-')} {getattr(options, option)}" for option in changed)
    return f"python -m papers.hypothesis_tests {name}{options_given}"


def _write(command: str, name: str, sizes: dict, repeats: dict, seconds: float, rows: dict) -> None:
    write(RESULTS / f"{name}.json", command, sizes, repeats, seconds, rows, libraries=(*LIBRARIES, "torch"))


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        page.page,
        COMMANDS,
        {"page": "Write the page of the docs from committed results.", "all": "Run every command, and write the page."},
        prog="python -m papers.hypothesis_tests",
        description=__doc__,
    )
    parser.add_argument(
        "--configurations",
        nargs="+",
        choices=list(CONFIGURATIONS),
        metavar="NAME",
        help=f"configurations of a table of AUCs, all of the table by default: {', '.join(CONFIGURATIONS)}",
    )
    parser.add_argument("--targets", type=int, help="number of targets per configuration, in tables of AUCs")
    parser.add_argument("--models", type=int, help="number of references, and of distilled models per target")
    parser.add_argument(
        "--left-out",
        type=int,
        default=LEFT_OUT.records,
        help=f"number of members, and of non-members, for attack L (default: {LEFT_OUT.records})",
    )
    parser.add_argument(
        "--left-out-models",
        type=int,
        default=LEFT_OUT.models,
        help=f"number of models without each of them (default: {LEFT_OUT.models})",
    )
    parser.add_argument("--folder", type=Path, default=audits.FOLDER, help="folder of trained models")
    parser.add_argument("--jobs", type=int, default=-1, help="processes that train models (default: one per core)")
    return parser


if __name__ == "__main__":
    try:
        main()
    except gl.AuditError as error:
        sys.exit(f"{error}")
