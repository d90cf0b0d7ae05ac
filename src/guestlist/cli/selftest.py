"""``selftest``: check the calibration of attacks and intervals."""

import sys

import click

from guestlist import _store
from guestlist.cli.common import as_json, print_json, progress_bar, quiet
from guestlist.cli.options import NumberRange
from guestlist.errors import InputError

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
