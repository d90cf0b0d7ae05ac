"""Plain sentences that every form of the report shares; those about one finding are in its section.

Three rules. Words follow from intervals, never from bands of an AUC. Where nothing was found they say what
could have been found with this many records. And no result is called harmless: an attack that fails says
little about the next one.
"""

from __future__ import annotations

from guestlist.findings.attacks import AttackResult
from guestlist.findings.results import Results
from guestlist.findings.subject import Subject
from guestlist.report.format import compact, count, decimal, percent

LOWER_BOUND = "These numbers are a lower bound: a stronger attack may identify more records."
SPLIT_ADVICE = (
    "Take non-members from the source of the members, or have members drawn from one pool (gl.play), and audit again."
)
GAME_ADVICE = (
    "The game {game} draws them from different parts of the people: play its counterpart, iid=True, to see what is left if it "
    "does not. A validation set with the same bias hides it: someone who validates on others drawn as the members were sees a "
    "model that generalises, and no sign of what attacks find."
)

# The two headline rows.
QUERIER = "Someone who can query the model"
FILE_HOLDER = "Someone who holds the model file"

MAX_CLEAR_P = 0.01  # largest p-value of a difference between the two sets that is called clear
BY_CHANCE = "1 in 20 sound splits triggers this; if you split at random, carry on."
CLEAR = "At most 1 in 100 sound splits shows a difference this clear; check how the two sets were drawn."

# What the model-free baseline may read.
BASELINE_INPUTS = {"features": "the features", "label": "the label", "groups": "the groups"}


def question(results: Results) -> str:
    """What the audit asks."""
    return f"Could someone tell who was in the training set of {model_name(results)}?"


def model_name(results: Results) -> str:
    """What the target is called."""
    return (results.subject and results.subject.name) or "the model"


def cover_lines(results: Results) -> list[str]:
    """What its owner says of the audit, a line each."""
    said = {} if results.cover is None else results.cover.said()
    return [f"{name.capitalize()}: {text}" for name, text in said.items()]


def headline_attack(results: Results) -> AttackResult | None:
    """The attack that the answer rests on; None where the results do not say."""
    if results.headline is None or not results.outcomes:
        return None
    return results.attack(results.headline.name)


def file_holder_attack(results: Results) -> AttackResult | None:
    """The attack of the second headline row, for someone who holds the model file; None where there is no such row."""
    if results.file_holder is None or not results.outcomes:
        return None
    return results.attack(results.file_holder.name)


def headline_names(results: Results) -> tuple[str, ...]:
    """The names of the attacks of the headline rows."""
    return tuple(row.name for row in (results.headline, results.file_holder) if row is not None)


def basis_sentence(results: Results) -> str:
    """What the figures rest on: how many records, how many references."""
    who, references = results.subject, results.references
    if who is None:
        return ""
    asked = f"{_canaries(who)}Measured on {sizes_phrase(who)}"
    if references is None:
        return f"{asked}, without reference models."
    models = counted(references.count, "reference model")
    trained = f"{models} trained on about {count(references.records)} records each"
    naive = results.training is not None and results.training.attacker == "naive"
    return f"{asked}, with {trained}{' without the defence, of which this attacker does not know' if naive else ''}."


def _canaries(who: Subject) -> str:
    """What members and non-members are, where they are not just anybody."""
    if who.canaries is None:
        return ""
    label = "with a wrong label, " if who.canaries == "wrong" else ""
    always = f"; the other {count(who.always_members)} records always train. " if who.always_members else ". "
    told = "They were chosen to be learnt by heart: what is found of them is more than would be found of others. "
    return (
        f"Members and non-members are canaries: records {label}of which a coin put each in or left it out{always}{told}"
    )


def fit_sentence(results: Results) -> str:
    """How well the target fits either side: where the two differ, it remembers."""
    who = results.subject
    if who is None:
        return ""
    if who.accuracy_members is not None and who.accuracy_nonmembers is not None:
        members, nonmembers = percent(who.accuracy_members), percent(who.accuracy_nonmembers)
        return f"The model is right on {members} of the members and {nonmembers} of the non-members."
    if who.rmse_members is not None and who.rmse_nonmembers is not None:
        off = f"The model is off by {compact(who.rmse_members)} on members and {compact(who.rmse_nonmembers)} on non-members"
        return f"{off} (root mean square error{_r2(who)})."
    return ""


def sizes_phrase(who: Subject) -> str:
    """How many records there are on either side, and of how many persons where that is known."""
    inside, outside = counted(who.members, "member"), counted(who.nonmembers, "non-member")
    if who.member_persons is None or who.nonmember_persons is None:
        return f"{inside} and {outside}"
    return f"{inside} of {counted(who.member_persons, 'person')} and {outside} of {counted(who.nonmember_persons, 'person')}"


def counted(number: int, thing: str) -> str:
    """A number of things, one or several."""
    return f"{count(number)} {thing}" + ("" if number == 1 else "s")


def and_joined(parts: list[str]) -> str:
    """Parts of a sentence, joined."""
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


def _r2(who: Subject) -> str:
    if who.r2_members is None or who.r2_nonmembers is None:
        return ""
    return f"; R² {decimal(who.r2_members)} and {decimal(who.r2_nonmembers)}"


def chance_sentence(p_value: float, game: str) -> str:
    """Report how often a random split shows such a difference; empty where a game drew the sets from different sources."""
    if game:
        return ""
    return BY_CHANCE if p_value > MAX_CLEAR_P else CLEAR


def split_advice(game: str) -> str:
    """What to do where the two sides differ, drawn apart by a game or the user's own."""
    return GAME_ADVICE.format(game=game) if game else SPLIT_ADVICE
