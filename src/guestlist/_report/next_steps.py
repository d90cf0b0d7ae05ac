"""Next steps after an audit, as commands and calls that work when pasted."""

import os
import shlex
from functools import partial
from pathlib import Path
from typing import Any

from guestlist._case import Origin
from guestlist._findings import Results
from guestlist._report import diagnostics, model_contribution, prose, sentences, wording

FOLDER_PLACEHOLDER = "FOLDER"  # on a page, which may be read on another machine
MAX_STEPS = 3
# Numbers at which an audit gains most: other attacks run, or the choice of the headline attack and single records improve.
NUMBERS_OF_REFERENCES = (2, 4, 8, 32, 128)
RESOLVE = "Resolve"  # first word of the step that names open checks


def next_steps(results: Results, folder: Path | str | None = FOLDER_PLACEHOLDER) -> tuple[str, ...]:
    """Return the recommended next steps in order; empty if nothing was measured.

    Args:
        results: Results of an audit.
        folder: Audit folder, for commands that can be pasted; None if the audit has none.
    """
    if wording.headline_attack(results) is None:
        return ()
    steps = sentences(
        "next_steps.steps",
        results,
        codes=[row.code for row in diagnostics.caveats(results)],
        contributes=model_contribution(results) > 0,
        **_commands(results, folder),
    )
    return tuple(filter(None, (*steps[:MAX_STEPS], more_time_step(results, folder))))


def more_time_step(results: Results, folder: Path | str | None) -> str:
    """Return the number of reference models that fitted into the minutes, and the time of more; empty without a budget."""
    references = results.references
    if references is None or references.minutes is None or references.seconds_per_model is None:
        return ""
    number = next((number for number in NUMBERS_OF_REFERENCES if number > references.count), None)
    return prose("next_steps.more_time", references, number, **_commands(results, folder))


def _commands(results: Results, folder: Path | str | None) -> dict[str, Any]:
    """Return the origin of an audit, its folder for a shell, and a function that writes a Python call, for templates."""
    return {
        "origin": results.origin or Origin("unknown"),
        "folder": shlex.quote(short_path(folder)) if isinstance(folder, Path) else FOLDER_PLACEHOLDER,
        "call": partial(_call, results, folder),
    }


def _call(results: Results, folder: Path | str | None, function: str, keyword: str, references: int = 0) -> str:
    """Return a Python call with the arguments of the audit.

    Args:
        results: Results of the audit.
        folder: Audit folder or its placeholder.
        function: Name of the function to call.
        keyword: Argument that takes the folder.
        references: Number of references; 0 for the number in the audit.
    """
    origin = results.origin or Origin("unknown")
    arguments = ["model", "members", "nonmembers"]
    if origin.population:
        arguments.append("population")
    arguments += origin.arguments
    if not origin.trains and not any(argument.startswith("train=") for argument in arguments):
        arguments.append("train=train")
    if not references and results.references is not None:
        references = results.references.count
    arguments.append(f"references={references}")
    if isinstance(folder, Path):
        folder = repr(short_path(folder))
    if folder is not None:
        arguments.append(f"{keyword}={folder}")
    return f"{function}({', '.join(arguments)})"


def short_path(path: Path) -> str:
    """Return a path relative to the current folder if it is below it, else the absolute path."""
    absolute = Path(os.path.abspath(path))
    if absolute.is_relative_to(Path.cwd()):
        absolute = absolute.relative_to(Path.cwd())
    return str(absolute)
