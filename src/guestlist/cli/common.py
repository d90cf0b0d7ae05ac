"""What commands share: options, progress, notices, and how they end."""

from __future__ import annotations

import json
import warnings
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import click

from guestlist.errors import AuditError, AuditWarning

USER_ERROR = 2


class Commands(click.Group):
    """Commands whose errors, where a user can act on them, are one line and exit status 2."""

    def invoke(self, context):
        try:
            return super().invoke(context)
        except AuditError as error:
            click.echo(f"Error: {error}", err=True)
            context.exit(USER_ERROR)


def _jobs(value: int | None) -> int | None:
    if value == 0:
        raise click.BadParameter("Give a number of processes, or -1 for one per core.")
    return value


def engine_of(engine: str | None, jobs: int | None, address: str | None):
    """Where models are trained, as asked for with ``--engine``, ``--jobs`` and ``--address``."""
    from guestlist.collecting.engines.engine import Here
    from guestlist.collecting.engines.local import ALL_CORES, Local
    from guestlist.collecting.engines.on_ray import Ray

    if address is not None and engine != "ray":
        raise click.UsageError("--address is that of a Ray cluster: give --engine ray with it.")
    if jobs is not None and engine not in (None, "local"):
        raise click.UsageError(f"--jobs is for --engine local; leave it out with --engine {engine}.")
    if engine == "ray":
        return Ray(address)
    if engine == "here":
        return Here()
    return ALL_CORES if jobs is None else Local(jobs)


as_json = click.option("--json", "as_json", is_flag=True, help="Print the results as JSON on stdout.")
jobs = click.option(
    "--jobs",
    type=int,
    callback=lambda context, option, value: _jobs(value),
    help="Processes; -1 for one per core. Results do not depend on it.  [default: -1]",
)
engine = click.option(
    "--engine",
    type=click.Choice(["local", "here", "ray"]),
    help="Where models are trained: in processes on this machine, in this one, or on a Ray cluster.  [default: local]",
)
address = click.option(
    "--address",
    help="Of the Ray cluster: host:port, ray://host:port, or auto.  [default: $RAY_ADDRESS, or a new one on this machine]",
)
quiet = click.option("--quiet", is_flag=True, help="No progress.")
attacks = click.option(
    "--attack",
    "attacks",
    multiple=True,
    help="Run only these; see: guestlist show attacks. union(loss,lira), majority(…) and intersection(…) combine them.",
)
evidence = click.option(
    "--evidence",
    multiple=True,
    help="What some attacks need beyond references, such as distilled or distilled:models=32; see: guestlist show evidence.",
)
ignore = click.option(
    "--ignore",
    multiple=True,
    metavar="CODE",
    help="A check that you do not want to hear about, such as GL104; the report says that it was ignored.",
)
trust = click.option("--trust", multiple=True, help="Type in a .skops file, beyond scikit-learn's, that may be built.")
allow_pickle = click.option(
    "--allow-pickle", is_flag=True, help="Open a pickle, which can run any code that its maker put into it."
)


def conclude(results, out: Path, as_json: bool) -> None:
    path = results.to_html(out / "report.html")
    if as_json:
        click.echo(json.dumps(results.document(), indent=1))
    else:
        click.echo(results.summary())
        click.echo(f"Report: {path}")


def progress_bar(quiet: bool, what: str = "Training"):
    from guestlist.collecting.progress import show_progress

    return None if quiet else partial(show_progress, what=what)


@contextmanager
def notices():
    """Show what the audit has to say on stderr, one line each, and leave other warnings as they are."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", AuditWarning)
        usual = warnings.showwarning

        def show(message, category, *rest, **more):
            if issubclass(category, AuditWarning):
                click.echo(f"Note: {message}", err=True)
            else:
                usual(message, category, *rest, **more)

        warnings.showwarning = show
        yield
