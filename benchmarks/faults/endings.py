"""How a call ends: it returns, somebody is told what is wrong, or it ends raw, which is a fault of ours."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import guestlist
from guestlist.errors import AuditError

SOURCE = str(Path(guestlist.__file__).parent)
RETURNED, TOLD, RAW = "returned", "told", "raw"


@dataclass(frozen=True)
class Ending:
    """``how`` it ended; of a raw one, what was raised and where."""

    how: str
    what: str = ""


def ending(call: Callable[[], Any]) -> Ending:
    """How a call of the library ends: told is an AuditError, or a ValueError that our own code raises, with a message."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call()
        except Exception as error:
            return _raised(error)
    return Ending(RETURNED)


def _raised(error: Exception) -> Ending:
    innermost = traceback.extract_tb(error.__traceback__)[-1]
    ours = isinstance(error, AuditError) or (isinstance(error, ValueError) and innermost.filename.startswith(SOURCE))
    if ours and str(error).strip() and "\x1b" not in f"{type(error)}":
        return Ending(TOLD, str(error))
    frames = [one for one in traceback.extract_tb(error.__traceback__) if one.filename.startswith(SOURCE)]
    place = f"{Path(frames[-1].filename).relative_to(SOURCE)}:{frames[-1].lineno}" if frames else "outside"
    return Ending(RAW, f"{type(error).__name__} at {place}: {str(error)[:120]}")


def command_ending(arguments: list[str]) -> Ending:
    """How a command ends: told is exit status 1 or 2 with one clear message; a traceback or an escape sequence is raw."""
    from click.testing import CliRunner

    from guestlist.cli import main

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = CliRunner().invoke(main, arguments)
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        return _raised_in_command(found.exception)
    if "\x1b" in found.output:
        return Ending(RAW, f"escape sequence printed by {' '.join(arguments[:1])}")
    if found.exit_code not in (0, 1, 2) or (found.exit_code == 2 and not found.stderr.strip()):
        return Ending(RAW, f"exit status {found.exit_code} of {' '.join(arguments[:1])}")
    return Ending(RETURNED if found.exit_code != 2 else TOLD, found.stderr)


def _raised_in_command(error: Exception) -> Ending:
    """Whatever a command lets through is a traceback."""
    frames = [one for one in traceback.extract_tb(error.__traceback__) if one.filename.startswith(SOURCE)]
    place = f"{Path(frames[-1].filename).relative_to(SOURCE)}:{frames[-1].lineno}" if frames else "outside"
    return Ending(RAW, f"{type(error).__name__} at {place}: {str(error)[:120]}")
