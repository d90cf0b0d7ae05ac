"""``selftest``: are the attacks and intervals calibrated?"""

from __future__ import annotations

import json
import sys

import click

from guestlist.cli.common import as_json, progress_bar, quiet
from guestlist.cli.kinds import NumberRange
from guestlist.errors import InputError

NOT_CALIBRATED = 1
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
    from guestlist.store.jsonable import to_json

    chosen = [*attacks, *map(_own_attack, custom)]
    if scale is not None and quick:
        raise click.UsageError("Give --quick or --scale, not both.")
    scale = QUICK if quick else 1.0 if scale is None else scale
    found = selftest(chosen or None, intervals=not chosen, scale=scale, progress=progress_bar(quiet, "Checking"))
    if as_json:
        click.echo(json.dumps({**to_json(found), "calibrated": found.calibrated}, indent=1))
    else:
        _show_selftest(found)
    sys.exit(0 if found.calibrated else NOT_CALIBRATED)


def _own_attack(text: str):
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


def _show_selftest(found) -> None:
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
    for one in found.attacks:
        means = [f"{mean.value:.4f} ± {mean.error:.4f}" for mean in (one.noise, one.in_count, one.known)]
        share = f"{one.share.value:.0%} of {one.comparator}"
        attacks.add_row(escape(one.name), *means, share, "yes" if one.calibrated else "[bold red]no[/]")
    console.print(attacks)
    for one in found.attacks:
        for problem in one.problems:
            console.print(f"{escape(one.name)}: {escape(problem)}")
    if found.intervals:
        intervals = Table("interval", "holds the truth", "of nominal", "calibrated", box=None, pad_edge=False)
        for one in found.intervals:
            verdict = "yes" if one.calibrated else "[bold red]no[/]"
            intervals.add_row(escape(one.name), f"{one.share:.1%} of {one.repeats}", f"{one.nominal:.0%}", verdict)
        console.print()
        console.print(intervals)
    console.print("\nEverything is calibrated." if found.calibrated else "\nSomething is not calibrated.")
