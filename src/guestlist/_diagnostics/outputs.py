"""Diagnostics of the target's outputs: accuracy, scale and reproducibility."""

import numpy as np

from guestlist._case import Case, Check, signal_of
from guestlist._collect import Consistency
from guestlist._diagnostics.core import NOT_APPLICABLE, NOT_RUN, Diagnostic, Outcome, Values, always, outcome
from guestlist._findings import facts
from guestlist.models import Labels, Logits, as_scale

MIN_SATURATED = 0.01  # share of outputs that are exactly 1 for some class


def of_consistency(consistency: Consistency | None) -> tuple[Check, ...]:
    """Check for outputs that change between queries, or with the batch."""
    if consistency is None:
        return Check("GL130", *NOT_RUN), Check("GL131", *NOT_RUN)
    records = consistency.records
    changed = outcome(not consistency.deterministic, {"changed": consistency.changed, "records": records})
    batched = NOT_RUN
    if consistency.deterministic:
        batched = outcome(consistency.depends_on_batch, {"differ": consistency.batched, "records": records})
    return Check("GL130", *changed), Check("GL131", *batched)


def chance_accuracy(case: Case) -> Outcome:
    """Check whether the target beats a constant on non-members: the most frequent class, or their mean."""
    if case.of(facts.find_subject).canaries == "wrong":  # a good model is wrong about such labels
        return NOT_APPLICABLE
    correct = signal_of(case.view, "correct")
    if correct is None:
        r2 = case.of(facts.find_subject).r2_nonmembers
        if r2 is None:
            return NOT_APPLICABLE
        return outcome(r2 <= 0, {"r2": r2})
    nonmembers = case.truth.evaluated & ~case.truth.member
    accuracy = float(correct[nonmembers].mean())
    guessing = float(np.bincount(case.view.labels[nonmembers]).max() / nonmembers.sum())
    return outcome(accuracy <= guessing, {"accuracy": accuracy, "guessing": guessing})


def labels_alone(case: Case) -> Outcome:
    """Check for a target that outputs classes without confidence."""
    return outcome(case.setting.scale == Labels.name, {})


def one_probability(case: Case) -> Outcome:
    """Check for a logit of two classes that always lies in [0, 1]: it has gone through a sigmoid."""
    if case.setting.scale != Logits.name or case.setting.classes != 2:
        return NOT_APPLICABLE
    if case.setting.answers is None:
        return NOT_RUN
    first, second = case.setting.answers[case.truth.evaluated].T
    issue = (first == 0).all() and (second >= 0).all() and (second <= 1).all()
    return outcome(bool(issue), {"records": len(first)})


def saturation(case: Case) -> Outcome:
    """Check for outputs at the ends of their scale for many records: exactly 0 or 1."""
    scale = as_scale(case.setting.scale)
    if not scale.hides_logits or "p_y" not in scale.signal_names:
        return NOT_APPLICABLE
    if case.setting.answers is None:
        return NOT_RUN
    share = scale.saturated(case.setting.answers[case.truth.evaluated])
    return outcome(share >= MIN_SATURATED, {"share": share})


def _chance(v: Values) -> str:
    if "r2" in v:
        return f"The target's R² on the non-members is {v['r2']:.3g}: always predicting their mean does as well."
    return (
        f"The target is right on {v['accuracy']:.1%} of the non-members; always answering the most frequent class is "
        f"right on {v['guessing']:.1%}."
    )


def _saturation(v: Values) -> str:
    return (
        f"{v['share']:.0%} of the target's answers are exactly 1 for some class: its probabilities come in steps or "
        "are rounded, and what lies below a step is hidden from this audit, though not from someone who sees the logits."
    )


def _labels_alone(v: Values) -> str:
    return (
        "The model answers with a class and does not say how sure it is, so only attacks were run that read no more: whether it "
        "is right, and how firmly it stays so when records change a little. Whoever has the model file may see more than that."
    )


def _one_probability(v: Values) -> str:
    return (
        f"What the model answers about the second class lies between 0 and 1 for all {v['records']} records, and is read as a "
        "logit."
    )


def _changing(v: Values) -> str:
    return (
        f"The model is not deterministic: queried twice about the same {v['records']} records, it returned different outputs "
        f"for {v['changed']} of them. The noise can hide a leak from this audit, and an attacker can average over many queries."
    )


def _batched(v: Values) -> str:
    return (
        f"The model's outputs depend on the batch: of {v['records']} records, {v['differ']} have different outputs when they are "
        "queried with all other records. Attacks compare outputs record by record and may miss a leak."
    )


OUTPUTS = (
    Diagnostic(
        code="GL103",
        title="no better than a constant",
        message=_chance,
        remedy="Are labels and columns as in training?",
        rule=chance_accuracy,
        changes=always,
        undermines=always,
    ),
    Diagnostic(code="GL104", title="saturated outputs", message=_saturation, rule=saturation),
    Diagnostic(code="GL127", title="labels only", message=_labels_alone, rule=labels_alone),
    Diagnostic(
        code="GL128",
        title="logit that looks like a probability",
        message=_one_probability,
        remedy=(
            "Does the module end in a sigmoid? Leave it out: attacks see less through it, and references are trained wrongly."
        ),
        rule=one_probability,
        undermines=always,
    ),
    Diagnostic(
        code="GL130",
        title="outputs that change between queries",
        message=_changing,
        remedy="Put the model into evaluation mode, or fix its random seed, and audit again.",
        changes=always,
        undermines=always,
    ),
    Diagnostic(
        code="GL131",
        title="outputs that depend on the batch",
        message=_batched,
        remedy=(
            "Put the model into evaluation mode (batch normalisation), compute scaling on the training records, and audit again."
        ),
        changes=always,
        undermines=always,
    ),
)
