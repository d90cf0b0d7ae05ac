"""Diagnostics of attack results that point to wrong inputs, of evidence, and of scores read as probabilities."""

from functools import partial

import numpy as np

from guestlist import _findings, metrics, risks
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
from guestlist._diagnostics.models import sizes
from guestlist._util import decimal, percent

SAME_MARGIN = 1e-9  # relative standard deviation of the margins of models that count as equal
MIN_ALONE = 0.5  # minimum share of the trees
MAX_RMSE = 0.1  # RMSE of a risk score; with shadow models like the target it was .05 to .09


def equal_models(case: Case, evidence: str) -> Outcome:
    """Check for distilled or left-out models that do not differ, so that they show no random variation."""
    models = case.view.evidence.get(evidence)
    if models is None:
        return NOT_APPLICABLE
    if len(models.member) < 2:
        return NOT_RUN
    outside = case.view.with_references(models).outside("margin")
    several = outside.count > 1
    if not several.any():
        return NOT_RUN
    same = outside.squares[several] <= (SAME_MARGIN * np.maximum(1, np.abs(outside.mean[several]))) ** 2
    return outcome(same.mean() > 0.5, {"same": int(same.sum()), "records": int(several.sum())})


def useless_quantiles(case: Case) -> Outcome:
    """Check for a quantile regression that predicts no better than a constant."""
    quantiles = case.view.evidence.get("quantiles")
    if quantiles is None:
        return NOT_APPLICABLE
    if quantiles.degenerate is None:
        return outcome(False, {})
    values: dict[str, CheckValue] = {"records": int(quantiles.degenerate.records)}
    if not np.isnan(quantiles.degenerate.loss):  # NaN: it predicts one value for all records
        values |= {"loss": float(quantiles.degenerate.loss), "constant": float(quantiles.degenerate.constant)}
    return outcome(True, values)


def members_alone_in_leaves(case: Case) -> Outcome:
    """Check for members that are alone in the leaves of a tree model."""
    alone = risks.risks_of(case).get("alone_in_leaves")
    if alone is None or np.isnan(alone[case.truth.evaluated]).all():
        return NOT_APPLICABLE
    member = case.truth.member & case.truth.evaluated
    count = int((alone[member] > MIN_ALONE).sum())
    return outcome(count > 0, {"alone": count, "members": int(member.sum())})


def uncalibrated(case: Case) -> Outcome:
    """Check for a privacy risk score that is not a probability: references do not predict the target's outputs on members."""
    scores = {score.score: score for score in case.of(_findings.risk_distribution.find_calibrated) or ()}
    if _findings.risk_distribution.RISK_SCORE not in scores:
        return NOT_APPLICABLE
    rmse = scores[_findings.risk_distribution.RISK_SCORE].calibration.rmse
    if np.isnan(rmse.value):
        return NOT_RUN
    values: dict[str, CheckValue] = {"rmse": rmse.value, "low": rmse.low, "high": rmse.high}
    if sizes(case).state == "issue":
        values["other_size"] = 1
    return outcome(rmse.low > MAX_RMSE, values)


def _useless_quantiles(v: Values) -> str:
    reason = "it predicts one value for all records"
    if "loss" in v:
        reason = f"its pinball loss on {v['records']} held-out records is {v['loss']:.3g}, that of a constant {v['constant']:.3g}"
        if float(v["loss"]) < float(v["constant"]):
            reason += ", a gain that chance explains"
    return (
        f"The quantile regression predicts non-members no better than a constant: {reason}. The attack 'quantile' "
        "therefore compares every record with the same value, as a global threshold does."
    )


def _uncalibrated(v: Values) -> str:
    rmse = f"{decimal(v['rmse'])} ({decimal(v['low'], -1)} to {decimal(v['high'], 1)})"
    size = " They were trained on a different number of records (GL105)." if v.get("other_size") else ""
    return (
        f"The privacy risk score differs by {rmse} (root mean square) from the share of members among records with that "
        f"score: the outputs of reference models for their members do not predict the target's outputs for its own.{size}"
    )


MIN_ACCURACY_GAP = 0.1  # minimum difference of the accuracies on members and on non-members


def reversed_sides(case: Case) -> Outcome:
    """Check whether members rank clearly below non-members, although models fit their training records better."""
    name = case.of(_findings.headline.find).name
    result = next(result for result in case.of(_findings.attacks.find) if result.name == name)
    if np.isnan(result.auc.value):
        return NOT_RUN
    auc = {"auc": result.auc.value, "low": result.auc.low, "high": result.auc.high}
    return outcome(result.ranks_below, {"attack": name, **auc, **_fit(case)})


def _fit(case: Case) -> dict[str, CheckValue]:
    """Measure the target and a constant on both sets: wrong labels make the target worse than a constant."""
    correct = signal_of(case.view, "correct")
    if correct is None:
        audited = case.of(_findings.facts.find_subject)
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
    # The advantage of an attack that flags records with a correct output.
    gap = metrics.advantage(right, member, 0.5, clusters=case.persons)
    large = gap.low > MIN_ACCURACY_GAP or gap.high < -MIN_ACCURACY_GAP
    values = {
        "members": float(right[member].mean()),
        "nonmembers": float(right[~member].mean()),
        "low": gap.low,
        "high": gap.high,
    }
    return outcome(large and not any(result.beats_guessing for result in case.of(_findings.attacks.find)), values)


def _reversed(v: Values) -> str:
    auc = f"AUC {decimal(v['auc'])} ({decimal(v['low'], -1)} to {decimal(v['high'], 1)})"
    return f"The attack {v['attack']} ranks members below non-members, with {auc}. Chance does not explain this."


def reversed_cause(v: Values) -> str:
    """Return the likeliest reason for members that rank below non-members."""
    if "guessing" in v and max(float(v["members"]), float(v["nonmembers"])) < float(v["guessing"]):
        return (
            f"The model is correct on {percent(v['members'])} of the members and {percent(v['nonmembers'])} of the "
            f"non-members, less often than always predicting the most frequent class ({percent(v['guessing'])}). The "
            "labels probably differ from those used in training: flipped, or in a different order. Check them first."
        )
    if "r2_members" in v and "r2_nonmembers" in v and max(float(v["r2_members"]), float(v["r2_nonmembers"])) < 0:
        return (
            "The model predicts members and non-members worse than always predicting the mean. The values probably "
            "differ from those used in training: a different unit or a different column. Check them first."
        )
    return (
        "A model does not fit its training records worse than others. Members and non-members were probably swapped, or "
        "are different types of records. Check this first."
    )


def _gap(v: Values) -> str:
    return (
        f"The model is correct on {percent(v['members'])} of the members and {percent(v['nonmembers'])} of the "
        "non-members. Chance does not explain this difference, but no attack detects a leak."
    )


ATTACK_RESULTS = (
    Diagnostic(
        code="GL107",
        title="distilled models that do not differ",
        message=(
            "The models distilled from the target give equal outputs for {same} of {records} records: training has "
            "no randomness, and all of them train on the same records. The p-values of the attack "
            "'distillation' are not valid."
        ),
        rule=partial(equal_models, evidence="distilled"),
    ),
    Diagnostic(
        code="GL108",
        title="left-out models that do not differ",
        message=(
            "The models trained without a record give equal outputs for {same} of {records} records: training has "
            "no randomness. An attacker who knows all members but one can train the model with and without the last one and "
            "see which is the target, so the attack 'leave_one_out' is right about every record. This holds for every "
            "deterministic training "
            "and does not describe weaker attackers."
        ),
        rule=partial(equal_models, evidence="left_out"),
    ),
    Diagnostic(
        code="GL109",
        title="quantile regression no better than a constant",
        message=_useless_quantiles,
        rule=useless_quantiles,
    ),
    Diagnostic(
        code="GL110",
        title="members alone in leaves",
        message=(
            "{alone} of {members} members are alone in their leaf in more than half of the trees. The predictions "
            "of those leaves were fitted on one record, and the model file reveals it."
        ),
        remedy="Larger leaves or shallower trees hide single records (min_samples_leaf, max_depth, min_child_weight).",
        rule=members_alone_in_leaves,
    ),
    Diagnostic(
        code="GL121",
        title="risk score that is not a probability",
        message=_uncalibrated,
        remedy="Use the score as a ranking, not as a probability.",
        rule=uncalibrated,
    ),
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
            "Check that members and non-members are not swapped, and that the labels and columns of both are those used "
            "in training."
        ),
        rule=gap_without_attack,
        changes=always,
        undermines=always,
    ),
)
