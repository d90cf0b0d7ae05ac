"""Diagnostics of the target's outputs, and of the reference models: size, similarity, precision and training set."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from guestlist import _findings, models
from guestlist._case import Case, Check, CheckValue, signal_of
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
from guestlist._util import compact, decimal

if TYPE_CHECKING:
    from guestlist._collect import Consistency
    from guestlist.models.stored_records import Scan

MIN_SATURATED = 0.01  # share of outputs that are exactly 1 for some class


def of_consistency(consistency: "Consistency | None") -> tuple[Check, ...]:
    """Check for outputs that change between queries, or with the batch."""
    if consistency is None:
        return Check("GL130", *NOT_RUN), Check("GL131", *NOT_RUN)
    records = consistency.records
    changed = outcome(not consistency.deterministic, {"changed": consistency.changed, "records": records})
    batched = NOT_RUN
    if consistency.deterministic:
        batched = outcome(consistency.depends_on_batch, {"differ": consistency.batched, "records": records})
    return Check("GL130", *changed), Check("GL131", *batched)


def of_stored_members(scan: "Scan | None") -> Check:
    """Check for members whose rows are stored in the model; None if the model was not searched."""
    if scan is None:
        return Check("GL134", *NOT_RUN)
    from guestlist.models.stored_records import ROWS  # imports pandas

    stored = len(scan.row_ids)
    where = ", ".join(part.path for part in scan.parts if part.holds == ROWS)
    return Check("GL134", *outcome(stored > 0, {"stored": stored, "members": scan.n_members, "where": where}))


def chance_accuracy(case: Case) -> Outcome:
    """Check whether the target beats a constant on non-members: the most frequent class, or their mean."""
    if case.of(_findings.facts.find_subject).canaries == "wrong":  # a good model is wrong about such labels
        return NOT_APPLICABLE
    correct = signal_of(case.view, "correct")
    if correct is None:
        r2 = case.of(_findings.facts.find_subject).r2_nonmembers
        if r2 is None:
            return NOT_APPLICABLE
        return outcome(r2 <= 0, {"r2": r2})
    nonmembers = case.truth.evaluated & ~case.truth.member
    accuracy = float(correct[nonmembers].mean())
    guessing = float(np.bincount(case.view.labels[nonmembers]).max() / nonmembers.sum())
    return outcome(accuracy <= guessing, {"accuracy": accuracy, "guessing": guessing})


def one_probability(case: Case) -> Outcome:
    """Check for a logit of two classes that always lies in [0, 1]: it has gone through a sigmoid."""
    if case.setting.scale != models.Logits.name or case.setting.classes != 2:
        return NOT_APPLICABLE
    if case.setting.outputs is None:
        return NOT_RUN
    first, second = case.setting.outputs[case.truth.evaluated].T
    issue = (first == 0).all() and (second >= 0).all() and (second <= 1).all()
    return outcome(bool(issue), {"records": len(first)})


def saturation(case: Case) -> Outcome:
    """Check for outputs at the ends of their scale for many records: exactly 0 or 1."""
    scale = models.as_scale(case.setting.scale)
    if not scale.hides_logits or "p_y" not in scale.signal_names:
        return NOT_APPLICABLE
    if case.setting.outputs is None:
        return NOT_RUN
    share = scale.saturated(case.setting.outputs[case.truth.evaluated])
    return outcome(share >= MIN_SATURATED, {"share": share})


def _chance(v: Values) -> str:
    if "r2" in v:
        return f"The target's R² on the non-members is {v['r2']:.3g}, no better than always predicting their mean."
    return (
        f"The target is correct on {v['accuracy']:.1%} of the non-members; always predicting the most frequent class is "
        f"correct on {v['guessing']:.1%}."
    )


def known_before(case: Case) -> Outcome:
    """Return "not applicable": an issue is recorded before there is a case."""
    return NOT_APPLICABLE


OUTPUTS = (
    Diagnostic(
        code="GL103",
        title="no better than a constant",
        message=_chance,
        remedy="Check that the labels and columns are those used in training.",
        rule=chance_accuracy,
        changes=always,
        undermines=always,
    ),
    Diagnostic(
        code="GL104",
        title="saturated outputs",
        message=(
            "{share:.0%} of the target's outputs are exactly 1 for one class: its probabilities are rounded or take few "
            "values. This hides differences from the audit, but not from an attacker who sees the logits."
        ),
        rule=saturation,
    ),
    Diagnostic(
        code="GL127",
        title="labels only",
        message=(
            "The model predicts a class without a probability. Only attacks that read labels were run: they test whether the "
            "label is correct, and whether it stays correct for slightly perturbed records. An attacker with the model file "
            "may identify more."
        ),
        rule=lambda case: outcome(case.setting.scale == models.Labels.name, {}),
    ),
    Diagnostic(
        code="GL128",
        title="logit that looks like a probability",
        message=(
            "The model's output for the second class lies between 0 and 1 for all {records} records, and guestlist "
            "reads it as a logit."
        ),
        remedy=(
            "If the module ends in a sigmoid, remove it: it hides information from the attacks, and reference models are "
            "trained with the wrong loss."
        ),
        rule=one_probability,
        undermines=always,
    ),
    Diagnostic(
        code="GL130",
        title="outputs that change between queries",
        message=(
            "The model is not deterministic: queried twice about the same {records} records, it returned different outputs "
            "for {changed} of them. The noise can hide a leak from this audit, and an attacker can average over many queries."
        ),
        remedy="Put the model into evaluation mode, or fix its random seed, and audit again.",
        changes=always,
        undermines=always,
    ),
    Diagnostic(
        code="GL131",
        title="outputs that depend on the batch",
        message=(
            "The model's outputs depend on the batch: of {records} records, {differ} have different outputs when they are "
            "queried with all other records. Attacks compare outputs record by record and may miss a leak."
        ),
        remedy=(
            "Put the model into evaluation mode (batch normalisation), compute scaling on the training records, and audit again."
        ),
        changes=always,
        undermines=always,
    ),
    Diagnostic(
        code="GL134",
        title="members stored in the model",
        message=(
            "The model stores the rows of {stored} of {members} members ({where}). Anyone who holds the model file "
            "can read them."
        ),
        remedy="Do not share the model file, or use a model that stores no training records.",
        rule=known_before,
        changes=always,
    ),
)

SAME_OUTPUT = 1e-6  # largest difference of two outputs that count as equal
MAX_COMPARED = 10_000  # records on which outputs are compared first


def sizes(case: Case) -> Outcome:
    """Check for references, or a shadow model, trained on clearly fewer or more records than the target."""
    if not case.view.references:
        return NOT_APPLICABLE
    values: dict[str, CheckValue] = {
        "target": int(case.truth.member.sum()),
        "references": float(case.view.reference_member.sum(axis=1).mean()),
    }
    if case.setting.predictions:
        values["predictions"] = 1
    else:
        values["population"] = int((~case.truth.evaluated & ~case.truth.member).sum())
    return outcome(_findings.training_set.other_size(case), values)


def copies(case: Case) -> Outcome:
    """Check for references with exactly the target's outputs: they were not trained again."""
    # A shadow model is queried on other records, so there is nothing to compare. Labels may be equal by chance.
    signal = next((name for name in ("p_y", "loss") if signal_of(case.view, name) is not None), None)
    if not case.view.references or signal is None:
        return NOT_APPLICABLE
    evaluated = case.truth.evaluated
    target = case.view.target(signal)
    # A reference that differs on some records needs no comparison on the others.
    some = evenly_spaced(evaluated)
    largest = np.abs(case.view.reference(signal, some) - target[some]).max(axis=1)  # NaN where one is
    for k in np.flatnonzero(largest < SAME_OUTPUT):
        largest[k] = np.abs(case.view.reference(signal)[k][evaluated] - target[evaluated]).max()
    if np.isnan(largest).any():
        return NOT_APPLICABLE
    same = largest < SAME_OUTPUT
    return outcome(bool(same.any()), {"copies": int(same.sum()), "references": case.view.references})


def evenly_spaced(evaluated: np.ndarray) -> np.ndarray:
    """Return positions of at most ``MAX_COMPARED`` evaluated records, evenly spaced."""
    positions = np.flatnonzero(evaluated)
    return positions[:: max(1, -(-len(positions) // MAX_COMPARED))]


def width(case: Case) -> Outcome:
    """Check for an interval that is wider than requested, although no more references are trained."""
    until = case.setting.until
    same_recipe = case.of(_findings.headline.find).same_recipe
    if until is None or same_recipe is None:
        return NOT_APPLICABLE
    measured = same_recipe.auc.high - same_recipe.auc.low
    if np.isnan(measured):
        return NOT_RUN
    values = {"width": measured, "wanted": until.width, "references": case.view.references, "at_most": until.at_most}
    return outcome(measured > until.width, values)


def unlike_references(case: Case) -> Outcome:
    """Check whether the target's outputs on non-members differ from those of references not trained on them either."""
    if not case.view.references or case.setting.predictions or signal_of(case.view, "margin") is None:
        return NOT_APPLICABLE
    tested = case.of(_findings.training_set.find_reference_similarity)
    if (
        tested is None or sizes(case).state == "issue"
    ):  # references with a different training size differ for that reason
        return NOT_RUN
    return outcome(tested.p_value <= MAX_TEST_P, asdict(tested))


def other_training_set(case: Case) -> Outcome:
    """Check for a target on which the attack does not beat guessing, although it does on average on the reference models."""
    if not case.view.references or case.setting.predictions or case.setting.drawn:
        return NOT_APPLICABLE
    doubt = case.of(_findings.training_set.find_training_set_doubt)
    return NOT_RUN if doubt is None else outcome(doubt.doubted, asdict(doubt))


def rare_classes(case: Case) -> Outcome:
    """Check for classes that some references never saw, or that every reference trained on entirely."""
    if not case.view.references or not case.setting.classes or case.setting.predictions:
        return NOT_APPLICABLE
    labels = case.view.labels
    classes = case.setting.classes
    trained_on = np.stack([np.bincount(labels, row, minlength=classes) for row in case.view.reference_member])
    in_pool = np.bincount(labels, minlength=classes)
    evaluated = np.bincount(labels[case.truth.evaluated], minlength=classes)
    missed = (evaluated > 0) & (trained_on == 0).any(axis=0)
    rare = missed | ((evaluated > 0) & (trained_on == in_pool).all(axis=0))
    values = {
        "classes": int(rare.sum()),
        "records": int(evaluated[rare].sum()),
        "without": int((trained_on[:, missed] == 0).any(axis=1).sum()),
        "references": case.view.references,
    }
    return outcome(bool(rare.any()), values)


def _sizes(v: Values) -> str:
    if v.get("predictions"):
        return (
            f"There are predictions for {v['target']} members of the target and {v['references']:.0f} members of the "
            "shadow model. If these are their complete training sets, the shadow model does not resemble the target: a "
            "model trained on fewer records memorises each of them more."
        )
    # Training sets are larger, because all evaluated records need IN references; smaller, because they need OUT
    # references too.
    more_or_fewer = "More"
    advice = "Move some non-members to the population, or train more reference models"
    if float(v["references"]) <= float(v["target"]):
        more_or_fewer = "Fewer"
        records = "more population records" if v.get("population") else "population records"
        advice = f"Pass {records} from the same source, or train more reference models, to bring the sizes closer"
    return (
        f"The target was trained on {v['target']} records, the reference models on {v['references']:.0f} on average. "
        f"{more_or_fewer} records are needed so that every record has reference models that trained on it and others that "
        f"did not. A model trained on fewer records memorises each of them more. {advice}."
    )


def _sizes_remedy(v: Values) -> str:
    return "Train the shadow model on the same number of records as the target." if v.get("predictions") else ""


def _width(v: Values) -> str:
    reason = "More reference models would hardly narrow it; more members and non-members would"
    if float(v["references"]) >= float(v["at_most"]):
        reason = "The maximum number of reference models was reached; more members and non-members would narrow it"
    return (
        f"The confidence interval of the recipe's AUC is {v['width']:.3f} wide with {v['references']} reference models; "
        f"{v['wanted']:g} was requested. {reason}."
    )


def _rare_classes(v: Values) -> str:
    few = f"{v['classes']} class{'es have' if float(v['classes']) > 1 else ' has'} so few records"
    trained = f"{v['without']} of {v['references']} references were trained without one"
    if not v["without"]:
        trained = "every reference trained on all of them"
    return (
        f"{few} that {trained}. Reference-based attacks have little information about the {v['records']} "
        f"record{'s' if float(v['records']) > 1 else ''} of such a class."
    )


def _stopped_early(v: Values) -> str:
    limit = f" of {v['most']}" if v["most"] else ""
    return (
        f"The target stopped early and kept {v['rounds']}{limit} rounds, based on records that were passed to fit "
        f"and are not available here. Every reference model is trained for {v['rounds']} rounds on all of its records."
    )


def _other_training_set(v: Values) -> str:
    low = decimal(v["low"], -1)
    high = decimal(v["high"], 1)
    return (
        "These records may not be the training set of this model. The attack finds no sign of them: its AUC is "
        f"{decimal(v['auc'])} (99% CI {low} to {high}). On {v['references']} models trained the same way on halves of "
        f"these records, its AUC is {decimal(v['expected'])} on average. A model trained on its members has an AUC this "
        f"low with probability {compact(v['p_value'])}."
    )


REFERENCES = (
    Diagnostic(code="GL105", title="references of a different size", message=_sizes, remedy=_sizes_remedy, rule=sizes),
    Diagnostic(
        code="GL106",
        title="references that are copies",
        message="{copies} of {references} reference models have exactly the target's outputs for every record.",
        remedy=(
            "Check that the recipe trains each reference model from scratch; otherwise attacks on them detect nothing."
        ),
        rule=copies,
        changes=always,
        undermines=always,
    ),
    Diagnostic(code="GL111", title="interval still wide", message=_width, rule=width),
    Diagnostic(
        code="GL118",
        title="target unlike its references",
        message=(
            "On records that neither was trained on, the target's outputs differ from those of its {references} "
            "reference models (p = {p_value:.2g}). The target may have been trained by a different recipe, or on some "
            "of the non-members or their duplicates. Attacks that use these reference models may underestimate the leak."
        ),
        rule=unlike_references,
        by_chance=True,
        changes=always,
        undermines=clear,
    ),
    Diagnostic(code="GL120", title="classes that references miss", message=_rare_classes, rule=rare_classes),
    Diagnostic(code="GL126", title="references do not stop early", message=_stopped_early, rule=known_before),
    Diagnostic(
        code="GL129",
        title="members may not be the training set",
        message=_other_training_set,
        remedy=(
            "Check that you passed the right model and the records, columns and labels that it was trained on. If it was trained "
            "differently from its reference models, pass its training procedure."
        ),
        rule=other_training_set,
        by_chance=True,
        changes=always,
        undermines=always,
    ),
    Diagnostic(
        code="GL133",
        title="references without sample weights",
        message=(
            "The target was fitted with sample_weight, and the reference models were not: guestlist does not know the weights."
        ),
        remedy=(
            "Pass them to gl.audit, with one array for each set of records: fit_params={'sample_weight': (members_weight, "
            "nonmembers_weight)}. Until then, differences between target and references may be due to the weights."
        ),
        rule=known_before,
        changes=always,
        undermines=always,
    ),
)
