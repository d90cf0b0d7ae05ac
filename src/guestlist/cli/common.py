"""Shared parts of commands: help sections, option types, shared options, errors and output."""

import errno
import json
import math
import os
import shlex
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING

import click

from guestlist import _collect, _report, _store, privacy
from guestlist._util import EXTRAS, Stopped, for_spreadsheets, missing, path_error, single_line, stop_message
from guestlist.errors import AuditError, AuditWarning, InputError

if TYPE_CHECKING:
    from guestlist._case import Cover

# Sections of `guestlist --help`, in order.
COMMANDS = {
    "Audit": ("audit", "collect", "demo"),
    "Understand": ("report", "index", "risks", "forget", "trees", "scan", "knn", "export"),
    "Improve": ("defend", "compare", "gate"),
    "Prove": ("epsilon", "dp", "game"),
    "Tools": ("show", "selftest"),
}
# Sections of the options of a command, in order.
INPUTS = "Inputs"
ATTACKS = "Attacks"
REPORT = "Report"
RUN = "Run"
SECTIONS = (INPUTS, ATTACKS, REPORT, RUN)


class Option(click.Option):
    """Option that is listed in a section of its command's help."""

    def __init__(self, *arguments, section: str, **settings):
        super().__init__(*arguments, **settings)
        self.section = section


def option(section: str, *names: str, **settings) -> Callable:
    """Return a decorator that adds an option to a section of a command's help."""
    return click.option(*names, cls=Option, section=section, **settings)


def option_group(*options: Callable) -> Callable:
    """Return a decorator that adds several options to a command, in this order."""
    return lambda command: reduce(lambda decorated, add: add(decorated), reversed(options), command)


class Command(click.Command):
    """Command that lists its options in sections."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one table of options per section; options of click itself are in the last one."""
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        for section in SECTIONS:
            listed = [option for option in options if getattr(option, "section", RUN) == section]
            rows = list(filter(None, (option.get_help_record(ctx) for option in listed)))
            if rows:
                with formatter.section(section):
                    formatter.write_dl(rows)


class Group(click.Group):
    """Group that lists its commands in sections, each with its whole summary."""

    command_class = Command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one table of commands per section."""
        sections = COMMANDS if ctx.parent is None else {"Commands": tuple(self.commands)}
        width = max(map(len, self.commands))
        for section, names in sections.items():
            rows = [
                (name.ljust(width), self.commands[name].get_short_help_str(limit=formatter.width)) for name in names
            ]
            with formatter.section(section):
                formatter.write_dl(rows)


Group.group_class = Group


# Larger numbers are typing errors: such audits would not fit into memory, or would take more than a day.
MAX_NUMBER = 10**9
MAX_REFERENCES = 100_000
MAX_JOBS = 1024
MAX_SEED = 2**63 - 1


class WholeNumber(click.IntRange):
    """Whole number from ``low``."""

    name = "integer"

    def __init__(self, low: int = 0, high: int = MAX_NUMBER):
        super().__init__(low, high)

    def convert(self, value, param, context):
        check_not_too_large(self, click.INT.convert(value, param, context), param, context)
        return super().convert(value, param, context)

    def _describe_range(self) -> str:
        return f"x>={self.min}"  # the upper limit catches typing errors and is in their message


class NumberRange(click.FloatRange):
    """Finite number between two others.

    Args:
        low: Lower limit.
        high: Upper limit.
        ends: Limits that are included: ``[)`` includes the lower one.
    """

    name = "number"

    def __init__(self, low: float, high: float, ends: str = "()"):
        super().__init__(low, high, min_open=ends[0] == "(", max_open=ends[1] == ")")

    def convert(self, value, param, context):
        number = click.FLOAT.convert(value, param, context)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, context)
        if self.max is not None and self.max >= MAX_NUMBER:
            check_not_too_large(self, number, param, context)
        return super().convert(value, param, context)

    def _describe_range(self) -> str:
        if self.max is not None and self.max < MAX_NUMBER:
            return super()._describe_range()
        return f"x{'>' if self.min_open else '>='}{self.min:g}"  # the upper limit catches typing errors


class JobCount(WholeNumber):
    """Number of processes or threads; -1 for one per core."""

    def __init__(self):
        super().__init__(-1, MAX_JOBS)

    def convert(self, value, param, context):
        count = super().convert(value, param, context)
        if count == 0:
            self.fail("0 is not a number of processes. Use 1 or more, or -1 for one per core.", param, context)
        return count

    def _describe_range(self) -> str:
        return "x>=1, or -1"


def check_not_too_large(kind: click.IntRange | click.FloatRange, number: float, param, context) -> None:
    """Fail with the upper limit, which the help text omits, if a number exceeds it."""
    if kind.max is not None and number > kind.max:
        kind.fail(f"{number} is too large. The maximum is {kind.max:,}.", param, context)


class PathType(click.Path):
    """Path that is not empty; an empty text does not mean the current folder."""

    def __init__(self, folders: bool = True):
        super().__init__(dir_okay=folders, path_type=Path)

    def convert(self, value, param, context):
        if not str(value).strip():
            self.fail("The path is empty.", param, context)
        return super().convert(value, param, context)


PATH = PathType()
FILE = PathType(folders=False)
JOBS = JobCount()
SHARE = NumberRange(0, 1)
REFERENCES = WholeNumber(0, MAX_REFERENCES)
SEED = WholeNumber(0, MAX_SEED)

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


DELTA = 1e-5
EPSILON_RANGE = NumberRange(0, MAX_NUMBER, "[]")
DELTA_RANGE = NumberRange(0, 1, "[)")
gaussian_noise = option(
    ATTACKS,
    "--gaussian-noise",
    is_flag=True,
    help="The claim is for Gaussian noise, which allows attacks less than epsilon and delta alone.",
)


# The claim, which the report compares with the attacks.
claim_options = option_group(
    option(
        ATTACKS,
        "--claimed",
        type=EPSILON_RANGE,
        metavar="EPSILON",
        help="Claimed epsilon of the model. The report plots the bound it implies next to the measured attacks.",
    ),
    option(ATTACKS, "--delta", type=DELTA_RANGE, help=f"Delta of the claim.  [default: {DELTA:g}]"),
    gaussian_noise,
)


def claim_from(claimed: float | None, delta: float | None, gaussian_noise: bool) -> "privacy.Claim | None":
    """Build the claim from its options; None where none is given."""
    if claimed is None:
        if delta is not None or gaussian_noise:
            raise click.UsageError("--delta and --gaussian-noise describe a claimed epsilon. Add --claimed EPSILON.")
        return None
    if delta is None:
        delta = DELTA
    if gaussian_noise and delta == 0:
        raise click.UsageError("Gaussian noise gives no guarantee at --delta 0. Choose a delta above 0.")

    return privacy.Claim(claimed, delta, gaussian_noise)


COVER_HELP = {
    "title": "Title of the report.  [default: the name of the model]",
    "owner": "Owner of the model, shown on the report. An empty text clears it.",
    "dataset": "Name of the training data, shown on the report. An empty text clears it.",
    "purpose": "Purpose of the audit or the model, shown on the report. An empty text clears it.",
    "date": "Date of the audit, shown on the report as you write it. An empty text clears it.",
}


cover_options = option_group(
    *(option(REPORT, f"--{name}", metavar="TEXT", help=text) for name, text in COVER_HELP.items())
)


def updated_cover(options: dict, cover: "Cover | None" = None) -> "Cover | None":
    """Return a cover updated by the options: an empty text clears a field, other fields stay; None where none is given."""
    from guestlist._case import Cover

    changes = {field.name: options[field.name] for field in fields(Cover) if options[field.name] is not None}
    if not changes:
        return cover
    return replace(cover or Cover(), **changes)


def updated_stored_cover(options: dict, store: "_store.Store") -> "Cover | None":
    """Return the stored cover of an audit updated by the options; None where no option is given."""
    from guestlist._case import Cover

    stored = store.manifest.about.get("cover")
    if updated_cover(options) is None:
        return None
    return updated_cover(options, None if stored is None else _store.from_json(Cover, stored))


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


def print_results(results, out: Path, as_json: bool, verbose: bool) -> None:
    """Write the report, and print the summary or the JSON document."""
    path = results.to_html(out / "report.html")
    if as_json:
        print_json(results.document())
    else:
        click.echo(results.summary(verbose=verbose))
        if not verbose:
            click.echo(f"Details: guestlist report {shlex.quote(_report.short_path(out))} --verbose")
        click.echo(f"Report: {_report.short_path(path)}")


def print_json(content) -> None:
    """Print content as JSON on stdout."""
    click.echo(json.dumps(content, indent=1))


def check_table_path(path: Path) -> None:
    """Raise for a file to which no table can be written, before any work is done."""
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise click.UsageError(
            f"Cannot write a table to {path.name!r}. Choose a file name that ends in .csv or .parquet."
        )
    check_parent_folder(path)


def check_parent_folder(path: Path) -> None:
    """Raise for a file in a folder that does not exist; guestlist does not create it."""
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
