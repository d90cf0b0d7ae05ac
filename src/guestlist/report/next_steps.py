"""What one could do next, by what was shown."""

from __future__ import annotations

from guestlist.findings.results import Results
from guestlist.report import checks, words
from guestlist.report.sections.blind import added

DEFEND = (
    "Try defences: guestlist defend FOLDER (in Python gl.defend) audits those that fit this model on the same records, and tells "
    "which help and what they cost in accuracy."
)
REFERENCES = (
    "Compare with reference models: audit the model itself, not its predictions alone, or with references=32 (--references 32). "
    "Such attacks find far more, and say for whom it is easiest."
)
BLIND = (
    "Look whether members can be told without the model (the blind baseline, on by default): if they can, these figures are not "
    "the model's doing."
)
MORE = "Ask about more records: with four times as many members and non-members, a leak half as far from guessing would be seen."
LISTED = "Look at who is exposed, in the table of records and by group: a leak that few bear is no smaller for them."


def next_steps(results: Results) -> tuple[str, ...]:
    """What to do with the answer, first things first; empty where nothing was measured."""
    attack = words.headline(results)
    if attack is None:
        return ()
    first = (
        [f"Settle first what stands beside the answer: {words.listed(codes)}."] if (codes := _codes(results)) else []
    )
    if results.blind is not None and results.blind.told:
        clear = results.references is not None and added(results) > 0
        return (*first, *([DEFEND] if clear else []))  # the answer says what to do about the records
    blind = results.check("GL119")
    unlooked = [BLIND] if results.blind is None and blind is not None and blind.state == "not run" else []
    references = [REFERENCES] if results.references is None else []
    second = words.file_holder(results)
    if attack.beats_guessing or (second is not None and second.beats_guessing):
        help_ = [DEFEND] if results.references is not None else []
        return (*first, *help_, *([LISTED] if results.exposed else []), *references, *unlooked)
    if attack.ranks_below:
        return tuple(first)
    return (*first, *references, MORE, *unlooked)


def _codes(results: Results) -> list[str]:
    return [row.code for row in checks.beside(results)]
