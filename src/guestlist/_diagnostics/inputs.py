"""Diagnostics of the records that were passed: duplicates, repeated names, missing labels, separable sets."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from guestlist._case import Case, Check, CheckValue, has_labels
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

if TYPE_CHECKING:
    from guestlist._baseline.baseline import Baseline
    from guestlist._collect import Duplicates, Repeats
    from guestlist.models import DuplicateCounts

MIN_REPEATED = 0.01  # minimum share of records that also occur in another set
MIN_HIDDEN = 0.1  # share of members with a duplicate above which the TPR may be a tenth lower than it should be


def of_duplicates(duplicates: "Duplicates") -> tuple[Check, ...]:
    """Check for records in both sets, before they are dropped."""
    values: dict[str, int | float | str] = {"duplicates": duplicates.count, "nonmembers": duplicates.nonmembers}
    if duplicates.persons is not None:
        values["persons"] = duplicates.persons
    measured = outcome(duplicates.count > 0, values)
    if not duplicates.dropped:
        return Check("GL101", *measured), Check("GL102", *NOT_APPLICABLE)
    return Check("GL101", "passed", {**values, "duplicates": 0}), Check("GL102", *measured)


def of_repeats(repeats: "Repeats | None") -> tuple[Check, ...]:
    """Check for names that several records share although no person identifiers were passed."""
    if repeats is None:
        return (Check("GL114", *NOT_APPLICABLE),)
    return (Check("GL114", *outcome(repeats.names < repeats.records, vars(repeats))),)


def of_duplicate_counts(counts: "DuplicateCounts") -> tuple[Check, ...]:
    """Check for duplicates and near-duplicates within and between the sets of records."""
    copies = outcome(
        counts.copies >= MIN_REPEATED * counts.members, {"copies": counts.copies, "members": counts.members}
    )
    population = NOT_APPLICABLE
    if counts.in_population is not None:
        values = {"duplicates": counts.in_population, "evaluated": counts.evaluated, "removed": counts.removed}
        population = outcome(counts.in_population >= MIN_REPEATED * counts.evaluated, values)
    near = NOT_RUN
    if counts.near is not None:
        tested = {"share": counts.near.share, "nonmembers": counts.near.nonmembers, "p_value": counts.near.p_value}
        near = outcome(counts.near.p_value <= MAX_TEST_P, tested)
    return Check("GL115", *copies), Check("GL116", *population), Check("GL117", *near)


def many_duplicates(values: Values) -> bool:
    """Return True if at least 1 % of the non-members are duplicates: enough to hide the TPR at an FPR of 1 %."""
    return float(values["duplicates"]) >= MIN_REPEATED * float(values["nonmembers"])


def _duplicates(v: Values) -> str:
    if v.get("persons"):
        return (
            f"{v['duplicates']} of {v['nonmembers']} non-members equal a member or belong to one of the {v['persons']} "
            "persons who have records in both sets. The model was trained on these people, so the audit underestimates "
            "the leak."
        )
    return (
        f"{v['duplicates']} of {v['nonmembers']} non-members equal a member in features and label. No attack can separate "
        "such duplicates, so the audit underestimates the leak."
    )


def _dropped(v: Values) -> str:
    reason = "equal a member"
    if v.get("persons"):
        reason += " or belong to a person who has members"
    return f"{v['duplicates']} of {v['nonmembers']} non-members were dropped because they {reason}."


def _in_population(v: Values) -> str:
    repeated = (
        f"{v['duplicates']} of {v['evaluated']} members and non-members are also in the population, with the same features and "
        "label."
    )
    if v.get("removed"):  # results of older versions lack this value
        return (
            f"{repeated} Chance does not explain this. {v['removed']} records of the population were removed, because "
            "reference models trained without a record would have trained on its copy."
        )
    return (
        f"{repeated} Reference models trained without such a record may train on its copy, so attacks may underestimate "
        "the leak."
    )


def _near_duplicates(v: Values) -> str:
    return (
        f"{percent(v['share'])} of the {v['nonmembers']} non-members tested are nearer to one member than 19 of 20 "
        f"members are to each other (p = {v['p_value']:.2g}). The model's outputs for near-duplicates are similar, so the "
        "audit underestimates the leak."
    )


SPLIT_ADVICE = (
    "Draw members and non-members from one source, or let gl.play draw members from one pool. Then audit again."
)
GAME_ADVICE = (
    "The game {game} draws the two sets from different sources. Play its i.i.d. control (iid=True) to see the leak without this "
    "difference. A validation set drawn like the members hides it: the model seems to generalise."
)
MAX_CLEAR_SPLIT_P = 0.01  # largest p-value of a clear difference between the two sets
BY_CHANCE = "1 in 20 random splits triggers this; if you split at random, continue."
CLEAR = "At most 1 in 100 random splits shows a difference this clear; check how the two sets were drawn."
INPUT_NAMES = {"features": "the features", "label": "the label", "groups": "the groups"}


def of_baseline(baseline: "Baseline") -> Check:
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
        message=(
            "{records} records have {names} different ids. If an id identifies a person, the records of one person "
            "are not independent, and every confidence interval here is too narrow. Pass the column as person= (--person)."
        ),
        changes=always,
        undermines=always,
    ),
    Diagnostic(
        code="GL115",
        title="repeated members",
        message=(
            "{copies} of {members} members equal another member in features and label. A reference model trained "
            "without one of them may train on its copy, so attacks may underestimate the leak."
        ),
        remedy="If the training oversamples, do this in the recipe, and pass each record once.",
        changes=always,
        undermines=lambda v: float(v["copies"]) >= MIN_HIDDEN * float(v["members"]),
    ),
    Diagnostic(
        code="GL116",
        title="population overlaps audited records",
        message=_in_population,
        remedy="Pass a population without records of the two sets.",
        changes=always,
        undermines=lambda v: not v.get("removed"),
    ),
    Diagnostic(
        code="GL117",
        title="near-duplicates across sets",
        message=_near_duplicates,
        remedy="Check whether the two sets contain records of the same people, or modified copies.",
        by_chance=True,
        changes=always,
        undermines=clear,
    ),
    Diagnostic(
        code="GL122",
        title="no labels",
        message=(
            "The predictions were audited without labels, so only attacks that need no labels were run. An attacker who "
            "knows a record usually knows its label too: an audit with labels may detect a leak that this one missed."
        ),
        rule=lambda case: outcome(not has_labels(case), {}),
        changes=always,
        undermines=always,
    ),
    Diagnostic(
        code="GL119",
        title="the two sets differ without the model",
        message=_separable,
        remedy=lambda v: split_advice(str(v.get("game", ""))),
        rule=separable_sets,
        by_chance=True,
        changes=always,
        undermines=clear,
    ),
)
