"""``python -m papers.hypothesis_tests table1``: a command per table, ``page`` for the docs, ``all`` for everything.

What was trained is kept in ``audits/papers/hypothesis_tests``: a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import guestlist as gl
from papers.hypothesis_tests import audits, figures, page, tables
from papers.hypothesis_tests.configurations import CONFIGURATIONS
from papers.hypothesis_tests.published import AGREEMENT_LEVEL
from papers.results import LIBRARIES, write

RESULTS = Path(__file__).parent / "results"
IMAGES = Path(__file__).parents[2] / "docs" / "images"
TARGETS, MODELS = 3, 64
LEFT_OUT = gl.LeftOut(records=100, models=8)


def main(arguments: list[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    wanted = ("table1", "table2", "figures") if options.command == "all" else (options.command,)
    if "table1" in wanted:
        _table1(options)
    if "table2" in wanted:
        _table2(options)
    if "figures" in wanted:
        _figures(options)
    if options.command in ("page", "all"):
        page.write()


def _table1(options: argparse.Namespace) -> None:
    start, rows, sizes = time.perf_counter(), [], {}
    for name in options.configurations:
        rows.append(tables.strength(name, _cases(name, options)))
        one = CONFIGURATIONS[name]
        sizes[name] = {"members": one.members, "nonmembers": one.members, "pool": one.pool}
        repeats = {"count": options.targets, "of": f"targets, {options.models} references and distilled models each"}
        _write("table1", options, sizes, repeats, time.perf_counter() - start, {"strengths": rows})


def _table2(options: argparse.Namespace) -> None:
    start = time.perf_counter()
    left_out = gl.LeftOut(records=options.left_out, models=options.left_out_models)
    case = _cases("location30", options, left_out=left_out)[0]
    rows = [tables.agreement(case, level=AGREEMENT_LEVEL, empirical=empirical) for empirical in (True, False)]
    near = tables.closeness(case)
    sizes = {"location30": {"members": rows[0].records[0], "nonmembers": rows[0].records[1]}}
    repeats = {"count": rows[0].models, "of": "models without each record"}
    _write("table2", options, sizes, repeats, time.perf_counter() - start, {"agreement": rows, "closeness": near})


def _figures(options: argparse.Namespace) -> None:
    cases = {name: _cases(name, options)[0] for name in ("location30", "mnist Ia") if name in options.configurations}
    (IMAGES / "hypothesis_tests_roc.svg").write_text(figures.curves(cases), "utf-8")
    (IMAGES / "hypothesis_tests_losses.svg").write_text(figures.losses(cases["location30"]), "utf-8")


def _cases(name: str, options: argparse.Namespace, left_out: gl.LeftOut | None = None) -> list[gl.Case]:
    return audits.collect(
        name,
        CONFIGURATIONS[name],
        targets=options.targets,
        models=options.models,
        left_out=left_out,
        folder=options.folder,
        progress=gl.show_progress,
    )


def _write(name: str, options: argparse.Namespace, sizes: dict, repeats: dict, seconds: float, rows: dict) -> None:
    command = f"python -m papers.hypothesis_tests {name}"
    write(RESULTS / f"{name}.json", command, sizes, repeats, seconds, rows, libraries=(*LIBRARIES, "torch"))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m papers.hypothesis_tests", description=__doc__)
    parser.add_argument("command", choices=["table1", "table2", "figures", "page", "all"])
    parser.add_argument("--configurations", nargs="+", choices=list(CONFIGURATIONS), default=list(CONFIGURATIONS))
    parser.add_argument("--targets", type=int, default=TARGETS, help="per configuration")
    parser.add_argument("--models", type=int, default=MODELS, help="references, and distilled models per target")
    parser.add_argument("--left-out", type=int, default=LEFT_OUT.records, help="records on either side for attack L")
    parser.add_argument("--left-out-models", type=int, default=LEFT_OUT.models, help="for each of them")
    parser.add_argument("--folder", type=Path, default=audits.FOLDER, help="where the audits are kept")
    return parser


if __name__ == "__main__":
    try:
        main()
    except gl.AuditError as error:
        sys.exit(f"{error}")
