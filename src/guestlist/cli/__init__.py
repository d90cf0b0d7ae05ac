"""Command line: one command per stage. Heavy modules are imported by the command that needs them."""

import atexit
import gc

import click

from guestlist import __version__
from guestlist._util import stoppable
from guestlist.cli.audit import audit, collect, demo
from guestlist.cli.common import Commands
from guestlist.cli.defend import defend
from guestlist.cli.game import game
from guestlist.cli.gate import gate
from guestlist.cli.knn import knn
from guestlist.cli.privacy import dp, epsilon
from guestlist.cli.report import compare, export, index, report
from guestlist.cli.risks import forget, risks, scan, trees
from guestlist.cli.show import selftest, show


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="guestlist")
@click.pass_context
def main(context):
    """Audit the membership privacy of machine-learning models."""
    # Temporary files with people's records are removed on the way.
    context.with_resource(stoppable())


for command in (
    audit,
    collect,
    report,
    index,
    export,
    gate,
    compare,
    defend,
    game,
    epsilon,
    dp,
    risks,
    forget,
    show,
    selftest,
    knn,
    trees,
    scan,
    demo,
):
    main.add_command(command)


def run():
    """Run the command line with fewer garbage collections.

    By default, Python searches for garbage many times while modules load, and again when it exits. Modules hold hardly any.
    """
    gc.set_threshold(50_000, 20, 50)
    atexit.register(gc.freeze)
    main()
