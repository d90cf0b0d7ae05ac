"""Next steps after an audit, as commands and calls that work when pasted."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from guestlist.case import Origin
from guestlist.findings.results import Results
from guestlist.report import checks, words
from guestlist.report.sections.blind import model_contribution

SUGGESTED_REFERENCES = 32
FOLDER_PLACEHOLDER = "FOLDER"  # on a page: the folder of the audit
DEFENCE_EFFECT = (
    "It applies every compatible defence, repeats this audit, and reports the change in leakage and accuracy."
)
REFERENCES_EFFECT = (
    "Attacks that compare with reference models usually identify more records, and show which are most exposed."
)
RUN_BASELINE = (
    "Check whether members can be distinguished without the model (the model-free baseline): repeat the audit "
    "without baseline=False (--no-baseline). If they can, the model is not the cause of these numbers."
)
MORE_RECORDS = (
    "Audit more records: with four times as many members and non-members, a leak half as far from guessing "
    "would be seen."
)
REVIEW_EXPOSED = "Review the exposed records and groups. A leak that affects few people is just as serious for them."


def next_steps(results: Results, folder: Path | str | None = FOLDER_PLACEHOLDER) -> tuple[str, ...]:
    """Return what to do with the result, in order; empty if nothing was measured.

    Args:
        folder: of the audit, for commands that can be pasted; None: the audit has none. A page is read elsewhere, and has
            FOLDER instead.
    """
    attack = words.headline_attack(results)
    if attack is None:
        return ()
    first = [f"Resolve these checks first: {words.and_joined(codes)}."] if (codes := _codes(results)) else []
    helping = [defence_step(results, folder)] if results.references is not None else []
    if results.baseline is not None and results.baseline.significant:
        return (
            *first,
            *(helping if helping and model_contribution(results) > 0 else []),
        )  # the answer says what to do about the records
    baseline = results.check("GL119")
    unlooked = (
        [RUN_BASELINE] if results.baseline is None and baseline is not None and baseline.state == "not run" else []
    )
    references = [references_step(results, folder)] if results.references is None else []
    second = words.file_holder_attack(results)
    if attack.beats_guessing or (second is not None and second.beats_guessing):
        return (*first, *helping, *([REVIEW_EXPOSED] if results.exposed else []), *references, *unlooked)
    if attack.ranks_below:
        return tuple(first)
    return (*first, *references, MORE_RECORDS, *unlooked)


def defence_step(results: Results, folder: Path | str | None) -> str:
    """Return how to test defences."""
    origin = results.origin or Origin("unknown")
    if origin.source in ("command", "demo"):
        return f"Test defences: run `guestlist defend {_for_shell(folder)}{_flags(origin)}`. {DEFENCE_EFFECT}"
    if origin.source == "predictions":
        return "Test defences on the model itself with guestlist defend --model (gl.defend): predictions cannot be retrained."
    if origin.source == "game":
        return "Test defences: play the same game with other recipes (gl.play), and compare the audits with gl.compare."
    return f"Test defences: call `{_call('gl.defend', results, origin, folder, 'plain')}` in Python. {DEFENCE_EFFECT}"


def references_step(results: Results, folder: Path | str | None) -> str:
    """Return how to add reference models to an audit without any."""
    origin = results.origin or Origin("unknown")
    if origin.source == "predictions" or (results.origin is None and results.training is None):
        return (
            "Compare with reference models: audit the model itself with guestlist audit --model (gl.audit), or add a shadow "
            f"model's predictions with --shadow (shadow=). {REFERENCES_EFFECT}"
        )
    if origin.source in ("command", "demo") and origin.trains:
        command = f"guestlist collect {_for_shell(folder)} --references {SUGGESTED_REFERENCES}{_flags(origin)}"
        return f"Compare with reference models: run `{command}`. {REFERENCES_EFFECT}"
    call = _call("gl.audit", results, origin, folder, "folder", references=SUGGESTED_REFERENCES)
    train = "" if origin.trains else ", where train is your function (data, rng) -> model"
    return f"Compare with reference models: call `{call}` in Python{train}. {REFERENCES_EFFECT}"


def _call(
    function: str, results: Results, origin: Origin, folder: Path | str | None, into: str, references: int = 0
) -> str:
    """Return a call with the arguments of the audit; ``model``, ``members`` … are the variables that the audit was given."""
    given = ["model", "members", "nonmembers", *(["population"] if origin.population else []), *origin.arguments]
    if not origin.trains and not any(one.startswith("train=") for one in given):
        given.append("train=train")
    count = references or (results.references.count if results.references is not None else 0)
    given.append(f"references={count}")
    if folder is not None:
        given.append(f"{into}={repr(_seen_from_here(folder)) if isinstance(folder, Path) else folder}")
    return f"{function}({', '.join(given)})"


def _for_shell(folder: Path | str | None) -> str:
    return shlex.quote(_seen_from_here(folder)) if isinstance(folder, Path) else FOLDER_PLACEHOLDER


def _flags(origin: Origin) -> str:
    return "".join(f" {flag}" for flag in origin.flags)


def _seen_from_here(folder: Path) -> str:
    """Return a folder below the current one without what lies above."""
    whole = Path(os.path.abspath(folder))
    return str(whole.relative_to(Path.cwd())) if whole.is_relative_to(Path.cwd()) else str(whole)


def _codes(results: Results) -> list[str]:
    return [row.code for row in checks.beside(results)]
