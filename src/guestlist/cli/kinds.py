"""Types of options: every number has limits, and NaN or an empty path is refused at once."""

from __future__ import annotations

import math
from pathlib import Path

import click

# Larger numbers are typing errors: they would not fit into memory or take more than a day.
MAX_NUMBER = 10**9
MAX_REFERENCES = 100_000
MAX_JOBS = 1024
MAX_SEED = 2**63 - 1


class WholeNumber(click.IntRange):
    """Whole number from ``low``."""

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

    def __init__(self, low: float, high: float, ends: str = "()"):
        super().__init__(low, high, min_open=ends[0] == "(", max_open=ends[1] == ")")

    def convert(self, value, param, context):
        number = click.FLOAT.convert(value, param, context)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a number that can be reckoned with.", param, context)
        if self.max is not None and self.max >= MAX_NUMBER:
            check_not_too_large(self, number, param, context)
        return super().convert(value, param, context)

    def _describe_range(self) -> str:
        if self.max is not None and self.max < MAX_NUMBER:
            return super()._describe_range()
        return f"x{'>' if self.min_open else '>='}{self.min:g}"  # the upper limit catches typing errors


class JobCount(click.IntRange):
    """Number of processes or threads; -1 for one per core."""

    def __init__(self):
        super().__init__(-1, MAX_JOBS)

    def convert(self, value, param, context):
        check_not_too_large(self, click.INT.convert(value, param, context), param, context)
        count = super().convert(value, param, context)
        if count == 0:
            self.fail("Give a number of processes, or -1 for one per core.", param, context)
        return count

    def _describe_range(self) -> str:
        return "x>=1, or -1"


def check_not_too_large(kind: click.IntRange | click.FloatRange, number: float, param, context) -> None:
    """Fail with the upper limit, which the help text omits, if a number exceeds it."""
    if kind.max is not None and number > kind.max:
        kind.fail(f"{number} is too large: {kind.max:,} at most.", param, context)


class PathType(click.Path):
    """Path that is not empty; an empty text does not mean the current folder."""

    def __init__(self, folders: bool = True):
        super().__init__(dir_okay=folders, path_type=Path)

    def convert(self, value, param, context):
        if not str(value).strip():
            self.fail("Give a path.", param, context)
        return super().convert(value, param, context)


PATH = PathType()
FILE = PathType(folders=False)
JOBS = JobCount()
SHARE = NumberRange(0, 1)
REFERENCES = WholeNumber(0, MAX_REFERENCES)
SEED = WholeNumber(0, MAX_SEED)
