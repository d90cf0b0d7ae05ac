"""Next steps after an audit, as commands and calls that work when pasted."""

import os
import shlex
from pathlib import Path

from guestlist._case import Origin
from guestlist._findings import AttackResult, Results
from guestlist._report import diagnostics, model_contribution, wording
from guestlist._util import duration

SUGGESTED_REFERENCES = 32
FOLDER_PLACEHOLDER = "FOLDER"  # on a page, which may be read on another machine
MAX_STEPS = 3
# Numbers at which an audit gains most: other attacks run, or the choice of the headline attack and single records improve.
NUMBERS_OF_REFERENCES = (2, 4, 8, 32, 128)
RESOLVE = "Resolve"
DECIDE = "Decide whether membership itself is sensitive."
RUN_BASELINE = (
    "Test whether the two sets differ without the model: repeat the audit without --no-baseline (baseline=False)."
)
MORE_RECORDS = "Audit more records: four times as many detect leaks half as large."
SAME_SOURCE = "Repeat the audit with members and non-members drawn at random from one source."


def next_steps(results: Results, folder: Path | str | None = FOLDER_PLACEHOLDER) -> tuple[str, ...]:
    """Return the recommended next steps in order; empty if nothing was measured.

    Args:
        results: Results of an audit.
        folder: Audit folder, for commands that can be pasted; None if the audit has none.
    """
    attack = wording.headline_attack(results)
    if attack is None:
        return ()
    return tuple(filter(None, (*_steps(results, attack, folder)[:MAX_STEPS], more_time_step(results, folder))))


def _steps(results: Results, attack: AttackResult, folder: Path | str | None) -> list[str]:
    steps = []
    codes = [row.code for row in diagnostics.caveats(results)]
    if codes:
        steps.append(f"{RESOLVE} {wording.and_joined(codes)} first.")
    has_references = results.references is not None
    second = wording.file_holder_attack(results)
    leaks = attack.beats_guessing or (second is not None and second.beats_guessing)
    if results.baseline is not None and results.baseline.significant:
        steps.append(SAME_SOURCE)
        if has_references and model_contribution(results) > 0:
            steps.append(defence_step(results, folder))
        return steps
    if attack.ranks_below and not leaks:
        return steps
    if leaks and not codes:
        steps.append(DECIDE)
    if leaks and results.exposed:
        flagged = results.exposure and results.exposure.flagged
        exposed = wording.counted(flagged, "most exposed record") if flagged else "most exposed records"
        steps.append(f"Review the {exposed}.")
    if leaks and has_references:
        steps.append(defence_step(results, folder))
    if not has_references:
        steps.append(references_step(results, folder))
    if not leaks:
        steps.append(MORE_RECORDS)
    baseline = results.check("GL119")
    if results.baseline is None and baseline is not None and baseline.state == "not run":
        steps.append(RUN_BASELINE)
    return steps


def defence_step(results: Results, folder: Path | str | None) -> str:
    """Return the step that tests defences."""
    origin = results.origin or Origin("unknown")
    if origin.source in ("command", "demo"):
        return f"Test defences: `guestlist defend {_for_shell(folder)}{_flags(origin)}`"
    if origin.source == "predictions":
        return "Test defences on the model itself: `guestlist defend --model` (`gl.defend`). Predictions cannot be retrained."
    if origin.source == "game":
        return (
            "Test defences: play the same game with other recipes (`gl.play`), and compare the audits (`gl.compare`)."
        )
    return f"Test defences: `{_call('gl.defend', results, origin, folder, 'plain')}`"


def references_step(results: Results, folder: Path | str | None) -> str:
    """Return the step that adds reference models to an audit without any."""
    origin = results.origin or Origin("unknown")
    if origin.source == "predictions" or (results.origin is None and results.training is None):
        return (
            "Add reference models: audit the model itself (guestlist audit --model), or pass a shadow model's predictions "
            "(--shadow)."
        )
    if origin.source in ("command", "demo") and origin.trains:
        return f"Add reference models: {_more_references(results, folder, SUGGESTED_REFERENCES)}"
    call = _call("gl.audit", results, origin, folder, "folder", references=SUGGESTED_REFERENCES)
    train = wording.only_if(not origin.trains, ", where train is your function (data, rng) -> model")
    return f"Add reference models: `{call}`{train}"


def more_time_step(results: Results, folder: Path | str | None) -> str:
    """Return the number of reference models that fitted into the minutes, and the time of more; empty without a budget."""
    references = results.references
    if references is None or references.minutes is None or references.seconds_per_model is None:
        return ""
    minutes = f"{references.minutes:g} minute{wording.only_if(references.minutes != 1, 's')}"
    fitted = f"{wording.counted(references.count, 'reference model')} fitted into {minutes}."
    larger = [number for number in NUMBERS_OF_REFERENCES if number > references.count]
    if not larger:
        return fitted
    number = larger[0]
    seconds = (number - references.count) * references.seconds_per_model
    return f"{fitted} {number} would take about {duration(max(seconds, 1))} more: {_more_references(results, folder, number)}."


def _more_references(results: Results, folder: Path | str | None, number: int) -> str:
    """Return the command or call that adds reference models to an audit."""
    origin = results.origin or Origin("unknown")
    if origin.source in ("command", "demo"):
        return f"`guestlist collect {_for_shell(folder)} --references {number}{_flags(origin)}`"
    if origin.source == "game":
        return f"`gl.play(…, references={number})` with the same folder"
    return f"`{_call('gl.audit', results, origin, folder, 'folder', references=number)}`"


def _call(
    function: str, results: Results, origin: Origin, folder: Path | str | None, keyword: str, references: int = 0
) -> str:
    """Return a Python call with the arguments of the audit.

    Args:
        function: Name of the function to call.
        results: Results of the audit.
        origin: Origin of the audit, which has its arguments.
        folder: Audit folder or its placeholder.
        keyword: Argument that takes the folder.
        references: Number of references; 0 for the number in the audit.
    """
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


def _for_shell(folder: Path | str | None) -> str:
    if not isinstance(folder, Path):
        return FOLDER_PLACEHOLDER
    return shlex.quote(short_path(folder))


def _flags(origin: Origin) -> str:
    return "".join(f" {flag}" for flag in origin.flags)


def short_path(path: Path) -> str:
    """Return a path relative to the current folder if it is below it, else the absolute path."""
    absolute = Path(os.path.abspath(path))
    if absolute.is_relative_to(Path.cwd()):
        absolute = absolute.relative_to(Path.cwd())
    return str(absolute)
