"""Diagnostics of the records that were passed: duplicates, repeated names, missing labels, separable sets."""

from collections.abc import Sequence

from guestlist._baseline.baseline import Baseline
from guestlist._case import Case, Check, CheckValue, has_labels
from guestlist._collect import Duplicates, Repeats
from guestlist._diagnostics.core import (
    MAX_TEST_P,
    NOT_APPLICABLE,
    NOT_RUN,
    Diagnostic,
    Outcome,
    Values,
    always,
    clear,
    outcome,
)
from guestlist._util import compact, decimal, percent
from guestlist.models import Twins

MIN_REPEATED = 0.01  # share of records that are also somewhere else
MIN_HIDDEN = 0.1  # share of members with a duplicate above which the TPR may be a tenth lower than it should be


def of_duplicates(duplicates: Duplicates) -> tuple[Check, ...]:
    """Check for records in both sets, before they are dropped."""
    values: dict[str, int | float | str] = {"duplicates": duplicates.count, "nonmembers": duplicates.nonmembers}
    if duplicates.persons is not None:
        values["persons"] = duplicates.persons
    measured = outcome(duplicates.count > 0, values)
    if not duplicates.dropped:
        return Check("GL101", *measured), Check("GL102", *NOT_APPLICABLE)
    return Check("GL101", "passed", {**values, "duplicates": 0}), Check("GL102", *measured)


def of_repeats(repeats: Repeats | None) -> tuple[Check, ...]:
    """Check for names that several records share although no person identifiers were passed."""
    if repeats is None:
        return (Check("GL114", *NOT_APPLICABLE),)
    values = {"records": repeats.records, "names": repeats.names}
    return (Check("GL114", *outcome(repeats.names < repeats.records, values)),)


def of_twins(twins: Twins) -> tuple[Check, ...]:
    """Check for duplicates and near-duplicates within and between the sets of records."""
    copies = outcome(twins.copies >= MIN_REPEATED * twins.members, {"copies": twins.copies, "members": twins.members})
    population = NOT_APPLICABLE
    if twins.in_population is not None:
        values = {"twins": twins.in_population, "asked": twins.asked, "left_out": twins.left_out}
        population = outcome(twins.in_population >= MIN_REPEATED * twins.asked, values)
    near = NOT_RUN
    if twins.near is not None:
        tested = {"share": twins.near.share, "nonmembers": twins.near.nonmembers, "p_value": twins.near.p_value}
        near = outcome(twins.near.p_value <= MAX_TEST_P, tested)
    return Check("GL115", *copies), Check("GL116", *population), Check("GL117", *near)


def no_labels(case: Case) -> Outcome:
    """Check for predictions without true classes, which most attacks read."""
    return outcome(not has_labels(case), {})


def many_duplicates(values: Values) -> bool:
    """Return True if at least 1 % of the non-members are duplicates: enough to hide the TPR at an FPR of 1 %."""
    return float(values["duplicates"]) >= MIN_REPEATED * float(values["nonmembers"])


def many_copies(values: Values) -> bool:
    """Return True if at least a tenth of the members have a duplicate among the members."""
    return float(values["copies"]) >= MIN_HIDDEN * float(values["members"])


def not_removed(values: Values) -> bool:
    """Return True unless the duplicates were removed from the population."""
    return not values.get("left_out")


def _duplicates(v: Values) -> str:
    if v.get("persons"):
        return (
            f"{v['duplicates']} of {v['nonmembers']} non-members are equal to a member or of one of the {v['persons']} persons "
            "who stand on both sides: the model was trained on these people, which makes it look more private than it is."
        )
    return (
        f"{v['duplicates']} of {v['nonmembers']} non-members are equal to a member, features and label alike: no attack "
        "can tell such twins apart, which makes the model look more private than it is."
    )


def _dropped(v: Values) -> str:
    reason = "equal to a member"
    if v.get("persons"):
        reason += ", or of a person who is one"
    return f"{v['duplicates']} of {v['nonmembers']} non-members were dropped because they are {reason}."


def _repeated_names(v: Values) -> str:
    return (
        f"{v['records']} records have {v['names']} different names. If a name is that of a person, records of one person say "
        "much the same, and every interval here is too narrow: give the column as person=… (--person)."
    )


def _copies(v: Values) -> str:
    return (
        f"{v['copies']} of {v['members']} members are equal to another member, features and label alike. A reference that leaves "
        "one of them out may train on the other, so attacks see less than there is."
    )


def _in_population(v: Values) -> str:
    repeated = (
        f"{v['twins']} of {v['asked']} members and non-members also stand in the population, features and label alike."
    )
    if v.get("left_out"):  # results of older versions lack this value
        return (
            f"{repeated} That is not chance: {v['left_out']} records of the population were left out of it, since references "
            "without a record would have trained on its copy."
        )
    return (
        f"{repeated} References that leave such a record out may train on its twin, so attacks see less than there is."
    )


def _near_duplicates(v: Values) -> str:
    return (
        f"{percent(v['share'])} of the {v['nonmembers']} non-members that were looked at are nearer to one member than 19 "
        f"of 20 members are to each other (p = {v['p_value']:.2g}). The model answers about near twins alike, which makes it "
        "look more private than it is."
    )


def _no_labels(v: Values) -> str:
    return (
        "The answers were audited without labels, so only attacks that read none were run. Whoever knows a record most often "
        "knows its label, and finds more: an audit with labels may find a leak where this one does not."
    )


SPLIT_ADVICE = (
    "Take non-members from the source of the members, or have members drawn from one pool (gl.play), and audit again."
)
GAME_ADVICE = (
    "The game {game} draws them from different parts of the people: play its counterpart, iid=True, to see what is left if it "
    "does not. A validation set with the same bias hides it: someone who validates on others drawn as the members were sees a "
    "model that generalises, and no sign of what attacks find."
)
MAX_CLEAR_SPLIT_P = 0.01  # largest p-value of a difference between the two sets that is called clear
BY_CHANCE = "1 in 20 sound splits triggers this; if you split at random, carry on."
CLEAR = "At most 1 in 100 sound splits shows a difference this clear; check how the two sets were drawn."
INPUT_NAMES = {"features": "the features", "label": "the label", "groups": "the groups"}


def of_baseline(baseline: Baseline) -> Check:
    """Check whether the two sets differ without the model."""
    values: dict[str, CheckValue] = {
        "auc": baseline.auc,
        "p_value": baseline.p_value,
        "detectable_auc": baseline.detectable_auc,
        "inputs": " ".join(baseline.inputs),
    }
    if baseline.game:
        values["game"] = baseline.game
    return Check("GL119", *outcome(baseline.significant, values))


def separable_sets(case: Case) -> Outcome:
    """Check whether a classifier that never queries the model separates members from non-members."""
    if case.setting.drawn:
        return NOT_APPLICABLE
    if case.baseline is None:
        return NOT_RUN
    check = of_baseline(case.baseline)
    return Outcome(check.state, check.values)


def inputs_text(names: Sequence[str]) -> str:
    """Return the inputs of the baseline as part of a sentence."""
    parts = [INPUT_NAMES.get(name, name) for name in names]
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def chance_sentence(p_value: float, game: str) -> str:
    """Report how often a random split shows such a difference; empty if a game drew the sets from different sources."""
    if game:
        return ""
    if p_value > MAX_CLEAR_SPLIT_P:
        return BY_CHANCE
    return CLEAR


def split_advice(game: str) -> str:
    """Advise on two sets that differ, drawn by a game or by the user."""
    if game:
        return GAME_ADVICE.format(game=game)
    return SPLIT_ADVICE


def _separable(v: Values) -> str:
    inputs = inputs_text(str(v.get("inputs", "features label")).split())
    evidence = (
        f"Evidence of a difference between the two sets: a model-free baseline that reads {inputs}, and never queries the model, "
        f"separates members from non-members with AUC {decimal(v['auc'])} (p = {compact(v['p_value'])})."
    )
    chance = chance_sentence(float(v["p_value"]), str(v.get("game", "")))
    return " ".join(filter(None, [evidence, chance, "Attacks may detect this difference, not the model's training."]))


def _remedy(v: Values) -> str:
    return split_advice(str(v.get("game", "")))


INPUTS = (
    Diagnostic(
        code="GL101",
        title="duplicates across sets",
        message=_duplicates,
        remedy="Drop them with duplicates='drop' (--drop-duplicates).",
        changes=many_duplicates,
        undermines=many_duplicates,
    ),
    Diagnostic(code="GL102", title="duplicates dropped", message=_dropped),
    Diagnostic(
        code="GL114",
        title="several records with one name",
        message=_repeated_names,
        changes=always,
        undermines=always,
    ),
    Diagnostic(
        code="GL115",
        title="repeated members",
        message=_copies,
        remedy="If the training oversamples, let the recipe do it, and give each record once.",
        changes=always,
        undermines=many_copies,
    ),
    Diagnostic(
        code="GL116",
        title="population overlaps audited records",
        message=_in_population,
        remedy="Give a population of other records.",
        changes=always,
        undermines=not_removed,
    ),
    Diagnostic(
        code="GL117",
        title="near-duplicates across sets",
        message=_near_duplicates,
        remedy="Do the two sides hold records of the same people, or changed copies?",
        by_chance=True,
        changes=always,
        undermines=clear,
    ),
    Diagnostic(code="GL122", title="no labels", message=_no_labels, rule=no_labels, changes=always, undermines=always),
    Diagnostic(
        code="GL119",
        title="the two sets differ without the model",
        message=_separable,
        remedy=_remedy,
        rule=separable_sets,
        by_chance=True,
        changes=always,
        undermines=clear,
    ),
)
