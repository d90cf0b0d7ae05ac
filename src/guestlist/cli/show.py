"""Commands ``show`` and ``selftest``."""

import sys
from dataclasses import MISSING, Field, fields

import click

from guestlist import _audit, _report, _store, defences, evidence, games, models
from guestlist._util import single_line
from guestlist.cli.common import ATTACKS, RUN, Command, NumberRange, as_json, option, print_json, progress_bar, quiet
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


@click.command(cls=Command)
@click.argument("table", type=click.Choice(TABLES), metavar="TABLE")
@as_json
def show(table, as_json):
    """List attacks, defences, risks, checks and other tables.

    TABLE is one of attacks, signals, evidence, games, defences, risks, findings, checks, exports and datasets.
    """
    rows = globals()[f"_{table}"]()
    if as_json:
        print_json(rows)
        return
    show_table(rows)


def show_table(rows: list[dict], drop: tuple[str, ...] = ()) -> None:
    """Print rows as a table that fits the terminal; columns in ``drop`` are omitted first."""
    click.echo(_report.text_table(rows, width=_report.terminal_width(), drop=drop))


def _attacks() -> list[dict]:
    from guestlist.attacks import ATTACKS

    return [
        {
            "attack": name,
            "score": attack.summary,
            "references": attack.references,
            "run": "by default" if attack.default else "opt-in",
            "needs": ", ".join(filter(None, (*attack.needs, attack.evidence))),
            "paper": attack.paper,
        }
        for name, attack in ATTACKS.items()
    ]


def _signals() -> list[dict]:
    return [
        {"signal": name, "description": description, "outputs": outputs}
        for outputs, table in (("classes", models.SIGNALS), ("values", models.VALUE_SIGNALS))
        for name, description in table.items()
    ]


def _evidence() -> list[dict]:
    from guestlist.attacks import ATTACKS
    from guestlist.risks import RISKS

    return [
        {
            "evidence": name,
            "description": kind.summary,
            "collected": "by default" if kind.default else "opt-in",
            "cost": kind.cost,
            "target": kind.target or "any target",
            "access": kind.access,
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
            "description": defence.summary,
            "trains": defence.trains,
            "cost": defence.cost,
            "in Python": defence.written,
            "paper": defence.paper,
        }
        for name, defence in defences.DEFENCES.items()
    ]


def _games() -> list[dict]:
    return [
        {
            "game": name,
            "description": row.summary,
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
            "description": row.summary,
            "references": row.references,
            "recommended": "yes" if row.recommended else "",
            "by default": row.default,
            "needs": ", ".join([*row.needs, *(["outputs"] if row.outputs else []), row.evidence]).strip(", "),
            "cost": row.cost,
            "paper": row.paper,
        }
        for name, row in RISKS.items()
    ]


def _findings() -> list[dict]:
    return [{"finding": name, "description": _first_line(find.__doc__)} for name, find in _audit.FINDINGS.items()]


def _first_line(doc: str | None) -> str:
    """Return the first line of a docstring."""
    return (doc or "").strip().partition("\n")[0]


def _checks() -> list[dict]:
    from guestlist._diagnostics.table import CHECKS

    return [
        {"check": code, "title": row.title, "fails the gate": _first_line(row.undermines.__doc__)}
        for code, row in CHECKS.items()
    ]


def _exports() -> list[dict]:
    return [{"export": name, "description": row.summary, "file": row.suffix} for name, row in _report.EXPORTS.items()]


def _datasets() -> list[dict]:
    from guestlist.datasets import DATASETS  # imports pandas

    return [
        {"dataset": name, "description": row.summary, "label": row.label, "source": row.source}
        for name, row in DATASETS.items()
    ]


NOT_CALIBRATED = 1
CALIBRATED = {True: "yes", False: "NO"}
QUICK = 0.1


@click.command(cls=Command)
@option(
    ATTACKS,
    "--attack",
    "attacks",
    multiple=True,
    metavar="NAME",
    help="Attack to test; see guestlist show attacks. Repeatable.  [default: all, and the intervals]",
)
@option(
    ATTACKS,
    "--custom",
    multiple=True,
    metavar="MODULE:FUNCTION",
    help="Your own attack to test, a function (signals) -> scores. Repeatable.",
)
@option(
    RUN,
    "--scale",
    type=NumberRange(0, 1000, "(]"),
    help="Factor for the number of simulations and samples, and so for the time.  [default: 1]",
)
@option(RUN, "--quick", is_flag=True, help=f"Short for --scale {QUICK:g}: detects large errors in about a minute.")
@quiet
@as_json
def selftest(attacks, custom, scale, quick, quiet, as_json):
    """Test attacks and intervals on simulations.

    The simulations have known ground truth. The exit status is 1 if an attack or interval is not calibrated. All tests take
    about three minutes, and one attack takes seconds. With --attack or --custom, only those attacks are tested, and no
    intervals.
    """
    from guestlist.selfcheck.contract import selftest

    selected = [*attacks, *map(_load_attack, custom)]
    if scale is not None and quick:
        raise click.UsageError("--quick and --scale cannot be combined. Omit one of them.")
    if scale is None:
        scale = QUICK if quick else 1.0
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
        raise click.UsageError(f"--custom {text!r} is not of the form MODULE:FUNCTION, for example my_attacks:score.")
    sys.path.insert(0, "")  # a module in the current folder, as with python -m
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InputError(
            f"Cannot load --custom {text!r}: {error}. Check that Python can import the module and that it has this function."
        ) from error
    finally:
        sys.path.remove("")


def _show_selftest(result) -> None:
    from guestlist.selfcheck.trials import BEST_AUC

    if result.attacks:
        show_table([_selftest_cells(row, BEST_AUC) for row in result.attacks])
    for row in result.attacks:
        for problem in row.problems:
            click.echo(single_line(f"{row.name}: {problem}"))
    if result.intervals:
        click.echo()
        show_table(
            [
                {
                    "interval": row.name,
                    "calibrated": CALIBRATED[row.calibrated],
                    "coverage": f"{row.share:.1%} of {row.repeats}",
                    "nominal": f"{row.nominal:.0%}",
                }
                for row in result.intervals
            ]
        )
    verdict = "All attacks and intervals are calibrated." if result.calibrated else "Not everything is calibrated."
    click.echo(f"\n{verdict}")


def _selftest_cells(row, best: float) -> dict[str, str]:
    noise, in_count, known = (f"{mean.value:.4f} ± {mean.error:.4f}" for mean in (row.noise, row.in_count, row.known))
    return {
        "attack": row.name,
        "calibrated": CALIBRATED[row.calibrated],
        "AUC on noise": noise,
        "AUC from in-counts": in_count,
        f"AUC with a leak (best {best:.3f})": known,
        "share of comparator": f"{row.share.value:.0%} of {row.comparator}",
    }
