"""Shared parts of commands: options, progress, warnings and exit statuses."""

import errno
import json
import os
import shlex
import warnings
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import click

from guestlist import _collect, _store
from guestlist._util import EXTRAS, Stopped, for_spreadsheets, missing, path_error, single_line, stop_message
from guestlist.cli.help import ATTACKS, INPUTS, RUN, Group, option
from guestlist.cli.options import JOBS
from guestlist.errors import AuditError, AuditWarning, InputError

USER_ERROR = 2
INTERRUPTED = 130  # exit status of a shell after Ctrl-C


class Commands(Group):
    """Group of commands that reports errors a user can act on as one line, with exit status 2."""

    def invoke(self, context):
        """Run a command, and report its expected errors."""
        try:
            return super().invoke(context)
        except AuditError as error:
            _refuse(context, error)
        except ModuleNotFoundError as error:
            package = (error.name or "").partition(".")[0]
            if package not in EXTRAS:
                raise
            _refuse(context, InputError(missing(error, package, f"This run of guestlist {context.invoked_subcommand}")))
        except OSError as error:
            # An error without a file is a bug. A closed pipe is for click, which ends without a message.
            if error.errno == errno.EPIPE or not isinstance(error.filename, str | bytes | os.PathLike):
                raise
            _refuse(context, path_error(os.fsdecode(error.filename), error))
        except (KeyboardInterrupt, Stopped) as stop:
            click.echo(single_line(stop_message(stop)), err=True)
            context.exit(INTERRUPTED if isinstance(stop, KeyboardInterrupt) else stop.code)


def _refuse(context: click.Context, error: AuditError) -> None:
    click.echo(f"Error: {single_line(str(error))}", err=True)
    context.exit(USER_ERROR)


def build_engine(engine: str | None, jobs: int | None, address: str | None):
    """Build the engine that ``--engine``, ``--jobs`` and ``--address`` describe."""

    if address is not None and engine != "ray":
        raise click.UsageError("--address is the address of a Ray cluster. Add --engine ray, or omit --address.")
    if jobs is not None and engine not in (None, "local"):
        raise click.UsageError(f"--jobs cannot be used with --engine {engine}. Use --engine local, or omit --jobs.")
    if engine == "ray":
        return _collect.Ray(address)
    if engine == "here":
        return _collect.Here()
    if jobs is None:
        return _collect.ALL_CORES
    return _collect.Local(jobs)


as_json = option(RUN, "--json", "as_json", is_flag=True, help="Print the results as JSON on stdout.")
verbose = option(RUN, "--verbose", is_flag=True, help="Print all results, not only the verdict.")
jobs = option(
    RUN,
    "--jobs",
    type=JOBS,
    help="Number of processes; -1 for one per core. Results do not depend on it.  [default: -1]",
)
engine = option(
    RUN,
    "--engine",
    type=click.Choice(["local", "here", "ray"]),
    help="Engine that trains models: local (several processes), here (this process) or ray (a cluster).  [default: local]",
)
address = option(
    RUN,
    "--address",
    help="Address of the Ray cluster: host:port, ray://host:port or auto.  [default: $RAY_ADDRESS, or a new local cluster]",
)
quiet = option(RUN, "--quiet", is_flag=True, help="Do not show progress.")
attacks = option(
    ATTACKS,
    "--attack",
    "attacks",
    multiple=True,
    metavar="NAME",
    help="Attack to run; see guestlist show attacks. Combine several with union(loss,lira), majority(…) or "
    "intersection(…). Repeatable.  [default: all that apply]",
)
evidence = option(
    ATTACKS,
    "--evidence",
    multiple=True,
    metavar="NAME",
    help="Evidence to collect for further attacks, e.g. distilled or distilled:models=32; see guestlist show evidence. "
    "Repeatable.",
)
ignore = option(
    ATTACKS,
    "--ignore",
    multiple=True,
    metavar="CODE",
    help="Check to suppress, e.g. GL104. The report lists suppressed checks. Repeatable.",
)
trust = option(
    INPUTS,
    "--trust",
    multiple=True,
    metavar="TYPE",
    help="Type in the .skops file that may be loaded although it is not one of scikit-learn's. Repeatable.",
)
allow_pickle = option(
    INPUTS, "--allow-pickle", is_flag=True, help="Open pickle files. A pickle can run any code when it is opened."
)


def print_results(results, out: Path, as_json: bool, verbose: bool) -> None:
    """Write the report, and print the summary or the JSON document."""
    path = results.to_html(out / "report.html")
    if as_json:
        print_json(results.document())
    else:
        click.echo(results.summary(verbose=verbose))
        if not verbose:
            click.echo(f"Details: guestlist report {shlex.quote(short_path(out))} --verbose")
        click.echo(f"Report: {short_path(path)}")


def short_path(path: Path) -> str:
    """Return a path relative to the current folder if it is below it, else the absolute path."""
    absolute = Path(os.path.abspath(path))
    if absolute.is_relative_to(Path.cwd()):
        return str(absolute.relative_to(Path.cwd()))
    return str(absolute)


def print_json(content) -> None:
    """Print content as JSON on stdout."""
    click.echo(json.dumps(content, indent=1))


def check_table_path(path: Path) -> None:
    """Refuse a file to which no table can be written, before any work is done."""
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise click.UsageError(
            f"Cannot write a table to {path.name!r}. Choose a file name that ends in .csv or .parquet."
        )
    check_parent_folder(path)


def check_parent_folder(path: Path) -> None:
    """Refuse a file in a folder that does not exist; guestlist does not create it."""
    if not path.parent.is_dir():
        raise click.UsageError(f"Cannot write {path.name}: the folder {path.parent} does not exist. Create it first.")


def write_table(path: Path, table) -> None:
    """Write a table; in a CSV file no text is read as a formula by a spreadsheet."""

    if path.suffix.lower() == ".parquet":
        _store.write_parquet(path, table)
    else:
        _store.write_text(path, for_spreadsheets(table).to_csv(index=False))


def progress_bar(quiet: bool, what: str = "Training"):
    """Return a progress callback; None with ``--quiet``."""

    if quiet:
        return None
    return partial(_collect.show_progress, what=what)


@contextmanager
def show_warnings():
    """Print warnings of the audit on stderr, one line each; other warnings are unchanged."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", AuditWarning)
        original = warnings.showwarning

        def show(message, category, *arguments, **keywords):
            if issubclass(category, AuditWarning):
                click.echo(f"Note: {single_line(str(message))}", err=True)
            else:
                original(message, category, *arguments, **keywords)

        warnings.showwarning = show
        yield
