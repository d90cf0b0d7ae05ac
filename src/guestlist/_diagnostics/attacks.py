"""Diagnostics of attack results that point to wrong inputs."""

import numpy as np

from guestlist._case import Case, CheckValue, signal_of
from guestlist._diagnostics.core import (
    NOT_APPLICABLE,
    NOT_RUN,
    Diagnostic,
    Outcome,
    Values,
    always,
    outcome,
)
from guestlist._findings import attacks, facts, headline
from guestlist._util import decimal, percent
from guestlist.metrics import advantage

MIN_ACCURACY_GAP = 0.1  # between the accuracies on members and on non-members


def reversed_sides(case: Case) -> Outcome:
    """Check whether members rank clearly below non-members, although models fit what they were trained on better."""
    name = case.of(headline.find).name
    result = next(result for result in case.of(attacks.find) if result.name == name)
    if np.isnan(result.auc.value):
        return NOT_RUN
    values: dict[str, CheckValue] = {
        "attack": name,
        "auc": result.auc.value,
        "low": result.auc.low,
        "high": result.auc.high,
    }
    return outcome(result.ranks_below, values | _fit(case))


def _fit(case: Case) -> dict[str, CheckValue]:
    """Measure the target on both sets, and a constant on both: wrong labels make the target worse than that."""
    correct = signal_of(case.view, "correct")
    if correct is None:
        audited = case.of(facts.find_subject)
        r2 = {"r2_members": audited.r2_members, "r2_nonmembers": audited.r2_nonmembers}
        return {name: value for name, value in r2.items() if value is not None}
    member = case.truth.member_evaluated
    right = correct[case.truth.evaluated]
    labels = case.view.labels[case.truth.evaluated]
    guessing = float(np.bincount(labels).max() / len(labels))
    return {"members": float(right[member].mean()), "nonmembers": float(right[~member].mean()), "guessing": guessing}


def gap_without_attack(case: Case) -> Outcome:
    """Check for accuracies that differ clearly between the sets, in either direction, although no attack succeeds."""
    correct = signal_of(case.view, "correct")
    if correct is None:
        return NOT_APPLICABLE
    right = correct[case.truth.evaluated] > 0.5
    member = case.truth.member_evaluated
    gap = advantage(right, member, 0.5, clusters=case.persons)  # of an attack that flags records with a correct output
    large = gap.low > MIN_ACCURACY_GAP or gap.high < -MIN_ACCURACY_GAP
    values = {
        "members": float(right[member].mean()),
        "nonmembers": float(right[~member].mean()),
        "low": gap.low,
        "high": gap.high,
    }
    return outcome(large and not any(result.beats_guessing for result in case.of(attacks.find)), values)


def _reversed(v: Values) -> str:
    auc = f"AUC {decimal(v['auc'])} ({decimal(v['low'], -1)} to {decimal(v['high'], 1)})"
    return f"The attack {v['attack']} ranks members below non-members, with {auc}, and chance does not explain it."


def reversed_cause(v: Values) -> str:
    """Return the likeliest reason for members that rank below non-members."""
    if "guessing" in v and max(float(v["members"]), float(v["nonmembers"])) < float(v["guessing"]):
        return (
            f"The model is right on {percent(v['members'])} of the members and {percent(v['nonmembers'])} of the "
            f"non-members, less than always answering the most frequent class ({percent(v['guessing'])}): the labels are "
            "probably not those of the training, flipped or in another order, on either side. Check that first."
        )
    if "r2_members" in v and "r2_nonmembers" in v and max(float(v["r2_members"]), float(v["r2_nonmembers"])) < 0:
        return (
            "The model does worse on either side than always answering the mean: the values are probably not those of the "
            "training, in another unit or of another column. Check that first."
        )
    return (
        "Models do not fit what they were trained on worse: the two sets were probably interchanged, or are different kinds of "
        "records. Check that first."
    )


def _gap(v: Values) -> str:
    return (
        f"The model is right on {percent(v['members'])} of the members and {percent(v['nonmembers'])} of the "
        "non-members, a difference that chance does not explain, and yet no attack finds anything."
    )


ATTACK_RESULTS = (
    Diagnostic(
        code="GL112",
        title="members rank below non-members",
        message=_reversed,
        remedy=reversed_cause,
        rule=reversed_sides,
        changes=always,
        undermines=always,
    ),
    Diagnostic(
        code="GL113",
        title="accuracy gap that no attack sees",
        message=_gap,
        remedy=(
            "Look for a swapped column or label: are members and non-members interchanged, and are labels and columns on either "
            "side as in training?"
        ),
        rule=gap_without_attack,
        changes=always,
        undermines=always,
    ),
)
