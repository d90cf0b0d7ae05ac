"""Outcome of a call: it returns, raises a clear error, or fails with a raw error, which is a fault of guestlist."""

from __future__ import annotations

import re
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import guestlist
from guestlist.errors import AuditError

SOURCE = str(Path(guestlist.__file__).parent)
RETURNED, REPORTED, RAW = "returned", "reported", "raw"
SENTENCE = re.compile(r"[.?](\"|')?$|: (guestlist|pip|--)[^.]*$")


@dataclass(frozen=True)
class Ending:
    """Outcome of a call, with its message; for a raw error, the exception and its location."""

    outcome: str
    detail: str = ""


def ending(call: Callable[[], Any]) -> Ending:
    """Return the outcome of a call; "reported" is an AuditError or ValueError that guestlist raises, with a clear sentence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call()
        except Exception as error:
            return _raised(error)
    return Ending(RETURNED)


def _raised(error: Exception) -> Ending:
    innermost = traceback.extract_tb(error.__traceback__)[-1]
    # Errors of numpy's compiled code have a line of guestlist too, but not a ``raise`` statement.
    raised_by_guestlist = innermost.filename.startswith(SOURCE) and (innermost.line or "").startswith("raise")
    if raised_by_guestlist and isinstance(error, (AuditError, ValueError)) and is_sentence(str(error)):
        return Ending(REPORTED, str(error))
    return Ending(RAW, _where(error))


def is_sentence(text: str) -> bool:
    """Return whether a text ends like a sentence, or with a command."""
    return bool(SENTENCE.search(text.strip()))


def _where(error: Exception) -> str:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(SOURCE)]
    location = f"{Path(frames[-1].filename).relative_to(SOURCE)}:{frames[-1].lineno}" if frames else "outside"
    return f"{type(error).__name__} at {location}: {str(error)[:120]} … {str(error)[-60:]}"


def command_ending(arguments: list[str]) -> Ending:
    """Return the outcome of a command; "reported" is exit status 1 or 2 with a clear message; a traceback is raw."""
    from click.testing import CliRunner

    from guestlist.cli import main

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = CliRunner().invoke(main, arguments)
    if results.exception is not None and not isinstance(results.exception, SystemExit):
        return Ending(RAW, _where(results.exception))  # an uncaught exception prints a traceback
    if "\x1b" in results.output:
        return Ending(RAW, f"escape sequence printed by {' '.join(arguments[:1])}")
    if results.exit_code not in (0, 1, 2):
        return Ending(RAW, f"exit status {results.exit_code} of {' '.join(arguments[:1])}")
    if results.exit_code == 2 and not is_sentence(results.stderr):
        return Ending(RAW, f"{' '.join(arguments[:1])} prints {results.stderr.strip()[-200:]!r}")
    return Ending(RETURNED if results.exit_code != 2 else REPORTED, results.stderr)
