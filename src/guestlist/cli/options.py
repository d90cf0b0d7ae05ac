"""Option types, and options shared by several commands."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from guestlist import _store, privacy
from guestlist.cli.help import ATTACKS, REPORT, option

if TYPE_CHECKING:
    from guestlist._case import Cover
    from guestlist._store import Store

# Larger numbers are typing errors: they would not fit into memory or take more than a day.
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


class JobCount(click.IntRange):
    """Number of processes or threads; -1 for one per core."""

    name = "integer"

    def __init__(self):
        super().__init__(-1, MAX_JOBS)

    def convert(self, value, param, context):
        check_not_too_large(self, click.INT.convert(value, param, context), param, context)
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


DELTA = 1e-5
EPSILON_RANGE = NumberRange(0, MAX_NUMBER, "[]")
DELTA_RANGE = NumberRange(0, 1, "[)")
gaussian_noise = option(
    ATTACKS,
    "--gaussian-noise",
    is_flag=True,
    help="The claim is for Gaussian noise, which allows attacks less than epsilon and delta alone.",
)


def claim_options(command):
    """Add the options of a claim, which the report compares with the attacks."""
    for add in (
        gaussian_noise,
        option(ATTACKS, "--delta", type=DELTA_RANGE, help=f"Delta of the claim.  [default: {DELTA:g}]"),
        option(
            ATTACKS,
            "--claimed",
            type=EPSILON_RANGE,
            metavar="EPSILON",
            help="Claimed epsilon of the model. The report plots the bound it implies next to the measured attacks.",
        ),
    ):
        command = add(command)
    return command


def claim_from(claimed: float | None, delta: float | None, gaussian_noise: bool) -> privacy.Claim | None:
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


def cover_options(command):
    """Add the options of the cover."""
    for name, text in reversed(COVER_HELP.items()):
        command = option(REPORT, f"--{name}", metavar="TEXT", help=text)(command)
    return command


def cover_from(options: dict) -> Cover | None:
    """Build a cover from its options; None where none is given."""
    return updated_cover(options, None)


def updated_cover(options: dict, cover: Cover | None) -> Cover | None:
    """Return a cover updated by the options: an empty text clears a field, other fields stay."""
    from guestlist._case import Cover

    changes = {field.name: options[field.name] for field in fields(Cover) if options[field.name] is not None}
    if not changes:
        return cover
    return replace(cover or Cover(), **changes)


def updated_stored_cover(options: dict, store: Store) -> Cover | None:
    """Return the stored cover of an audit updated by the options; None where no option is given."""
    from guestlist._case import Cover

    stored = store.manifest.about.get("cover")
    if cover_from(options) is None:
        return None
    return updated_cover(options, None if stored is None else _store.from_json(Cover, stored))
