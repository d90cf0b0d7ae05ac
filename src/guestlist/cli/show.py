"""Commands ``show`` and ``selftest``."""

import sys
from dataclasses import MISSING, Field, fields

import click

from guestlist import _store, defences, evidence, games, models
from guestlist._util import single_line
from guestlist.cli.common import as_json, print_json, progress_bar, quiet
from guestlist.cli.options import NumberRange
from guestlist.errors import InputError

TABLES = (
    "attacks",
    "signals",
    "evidence",
    "games",
    "defences",
    "risks",
    "findings",
    "checks",
    "exports",
    "datasets",
)


@click.command()
@click.argument("what", type=click.Choice(TABLES))
@as_json
def show(what, as_json):
    """List what guestlist knows, one table at a time."""
    rows = globals()[f"_{what}"]()
    if as_json:
        print_json(rows)
        return
    show_table(rows)


def show_table(rows: list[dict]) -> None:
    """Print rows in a terminal under the names of their columns."""
    from rich.console import Console
    from rich.table import Column, Table
    from rich.text import Text

    def safe_text(cell) -> Text:  # a str would be read as markup
        return Text(single_line(str(cell)))

    columns = [Column(safe_text(name), no_wrap=position == 0) for position, name in enumerate(rows[0])]
    table = Table(*columns, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*map(safe_text, row.values()))
    Console(width=max(120, Console().width)).print(table)


def _attacks() -> list[dict]:
    from guestlist.attacks import ATTACKS

    return [
        {
            "attack": name,
            "references": attack.references,
            "reads": ", ".join(filter(None, (*attack.needs, attack.evidence))),
            "by default": "yes" if attack.default else "by name",
            "what it looks at": attack.summary,
            "paper": attack.paper,
        }
        for name, attack in ATTACKS.items()
    ]


def _signals() -> list[dict]:

    tables = {"classes": models.SIGNALS, "values": models.VALUE_SIGNALS}
    return [
        {"signal": name, "of": outputs, "what it is": _first_line(function.__doc__)}
        for outputs, table in tables.items()
        for name, function in table.items()
    ]


def _evidence() -> list[dict]:
    from guestlist.attacks import ATTACKS
    from guestlist.risks import RISKS

    return [
        {
            "evidence": name,
            "what it is": kind.summary,
            "of": kind.target or "any target",
            "takes": kind.access,
            "cost": kind.cost,
            "collected": "by default" if kind.default else "when asked for",
            "options": ", ".join(f"{field.name}={field.default}" for field in fields(kind.plan)),
            "attacks": ", ".join(a for a, attack in ATTACKS.items() if attack.evidence == name),
            "risks": ", ".join(r for r, risk in RISKS.items() if risk.evidence == name),
        }
        for name, kind in evidence.EVIDENCE.items()
    ]


def _defences() -> list[dict]:

    return [
        {
            "defence": name,
            "trains": defence.trains,
            "what it does": defence.summary,
            "in Python": defence.written,
            "cost": defence.cost,
            "paper": defence.paper,
        }
        for name, defence in defences.DEFENCES.items()
    ]


def _games() -> list[dict]:

    return [
        {
            "game": name,
            "what it is": row.summary,
            "options": ", ".join(_option(field) for field in fields(row.game)),
            "cost": row.cost,
            "paper": row.paper,
        }
        for name, row in games.GAMES.items()
    ]


def _option(field: Field) -> str:
    if field.default is MISSING:
        return field.name
    return f"{field.name}={field.default}"


def _risks() -> list[dict]:
    from guestlist.risks import RISKS

    return [
        {
            "risk": name,
            "references": row.references,
            "by default": row.default,
            "recommended": "yes" if row.recommended else "",
            "reads": ", ".join([*row.needs, *(["answers"] if row.answers else []), row.evidence]).strip(", "),
            "what it is": row.summary,
            "cost": row.cost,
            "paper": row.paper,
        }
        for name, row in RISKS.items()
    ]


def _findings() -> list[dict]:
    from guestlist._audit.evaluate import FINDINGS

    return [{"finding": name, "what it is": _first_line(find.__doc__)} for name, find in FINDINGS.items()]


def _first_line(doc: str | None) -> str:
    """Return the first line of a docstring."""
    return (doc or "").strip().partition("\n")[0]


def _checks() -> list[dict]:
    from guestlist._diagnostics.table import CHECKS

    return [
        {"check": code, "what it looks for": row.title, "fails the gate": _first_line(row.undermines.__doc__)}
        for code, row in CHECKS.items()
    ]


def _exports() -> list[dict]:
    from guestlist._report.exports import EXPORTS

    return [{"export": name, "file": row.suffix, "what it is": row.summary} for name, row in EXPORTS.items()]


def _datasets() -> list[dict]:
    from guestlist.datasets import DATASETS

    return [
        {"dataset": name, "what it is": row.summary, "label": row.label, "source": row.source}
        for name, row in DATASETS.items()
    ]


NOT_CALIBRATED = 1
CALIBRATED = {True: "yes", False: "[bold red]no[/]"}
QUICK = 0.1


@click.command()
@click.option("--attack", "attacks", multiple=True, help="Check only these; see: guestlist show attacks.")
@click.option(
    "--custom",
    multiple=True,
    metavar="MODULE:FUNCTION",
    help="Check your own attack, a function (signals) -> scores.",
)
@click.option(
    "--scale", type=NumberRange(0, 1000, "(]"), help="Multiplies the worlds and samples, and the time.  [default: 1]"
)
@click.option("--quick", is_flag=True, help=f"Short for --scale {QUICK:g}: finds large faults, in about a minute.")
@quiet
@as_json
def selftest(attacks, custom, scale, quick, quiet, as_json):
    """Run attacks and intervals on worlds whose answer is known; exit with status 1 if something is not calibrated.

    Takes about three minutes for all, longer on a busy machine, and seconds for one. With --attack or --custom, only those
    attacks are checked, and no intervals.
    """
    from guestlist.selfcheck.contract import selftest

    selected = [*attacks, *map(_load_attack, custom)]
    if scale is not None and quick:
        raise click.UsageError("Give --quick or --scale, not both.")
    if scale is None:
        scale = 1.0
        if quick:
            scale = QUICK
    result = selftest(selected or None, intervals=not selected, scale=scale, progress=progress_bar(quiet, "Checking"))
    if as_json:
        print_json({**_store.to_json(result), "calibrated": result.calibrated})
    else:
        _show_selftest(result)
    sys.exit(0 if result.calibrated else NOT_CALIBRATED)


def _load_attack(text: str):
    from importlib import import_module

    module, _, name = text.partition(":")
    if not module or not name:
        raise click.UsageError(f"Expected --custom {text!r} to be MODULE:FUNCTION.")
    sys.path.insert(0, "")  # a module in the current folder, as with python -m
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InputError(
            f"Cannot load {text!r}: {error}. Give a module that can be imported and a function in it."
        ) from error
    finally:
        sys.path.remove("")


def _show_selftest(result) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from guestlist.selfcheck.trials import BEST_AUC

    console = Console(width=max(100, Console().width), highlight=False)
    columns = (
        "attack",
        "AUC on noise",
        "from the in-count alone",
        f"members stand out (best {BEST_AUC:.3f})",
        "of the comparator",
        "calibrated",
    )
    attacks = Table(*columns, box=None, pad_edge=False)
    for row in result.attacks:
        means = [f"{mean.value:.4f} ± {mean.error:.4f}" for mean in (row.noise, row.in_count, row.known)]
        share = f"{row.share.value:.0%} of {row.comparator}"
        attacks.add_row(escape(row.name), *means, share, CALIBRATED[row.calibrated])
    console.print(attacks)
    for row in result.attacks:
        for problem in row.problems:
            console.print(f"{escape(row.name)}: {escape(problem)}")
    if result.intervals:
        intervals = Table("interval", "holds the truth", "of nominal", "calibrated", box=None, pad_edge=False)
        for row in result.intervals:
            share = f"{row.share:.1%} of {row.repeats}"
            intervals.add_row(escape(row.name), share, f"{row.nominal:.0%}", CALIBRATED[row.calibrated])
        console.print()
        console.print(intervals)
    console.print("\nEverything is calibrated." if result.calibrated else "\nSomething is not calibrated.")
