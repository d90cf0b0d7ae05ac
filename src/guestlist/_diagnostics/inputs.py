"""Diagnostics of the records that were passed: duplicates, repeated names and missing labels."""

from guestlist._case import Case, Check, has_labels
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
from guestlist._util import percent
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
)
