"""What a reader of the numbers must know, although the audit goes on: one function per check, each with a code.

A check says what was looked at and what came out, in figures; the report has the sentences, and ``docs/checks.md`` says for
each code what it means and what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple

import numpy as np

from guestlist.arguments import shown
from guestlist.blind.baseline import Baseline
from guestlist.case import Case, Check, Figure, State, has_labels, signal_of
from guestlist.checks import Twins
from guestlist.collecting.consistency import Consistency
from guestlist.collecting.inputs import Duplicates, Repeats
from guestlist.errors import InputError
from guestlist.evaluate import advantage
from guestlist.findings import attacks, calibrated, headline, likeness, subject, training_set
from guestlist.risks import risks_of
from guestlist.targets.scales import Labels, Logits, as_scale
from guestlist.views.evidence import ModelsView

SATURATED = 0.01  # share of answers that are exactly 1 for some class
SAME_ANSWER = 1e-6
SAME = 1e-9
ALONE = 0.5  # share of the trees
REPEATED = 0.01  # share of records that stand somewhere else too
UNLIKE = 0.02  # chance of a test's alarm where there is nothing: checks are many, and each should be quiet
FAR_OFF = 0.1  # of a risk score from the shares of members; on targets whose shadows were like them it was .05 to .09
LARGE_GAP = 0.1  # between the accuracies of members and of non-members
CLEAR = (
    0.005  # largest p-value at which a test undermines a gate's verdict: three tests fail at most 1.5 % of sound audits
)
HIDDEN = 0.1  # share of members with a duplicate above which the TPR may be a tenth lower than it should be


class Outcome(NamedTuple):
    """A check's state and figures, before it is known by which code it goes."""

    state: State
    figures: Mapping[str, Figure]


NOT_RUN, NOT_APPLICABLE = Outcome("not run", {}), Outcome("not applicable", {})


def never(figures: Mapping[str, Figure]) -> bool:
    """No, whatever the figures are."""
    return False


def always(figures: Mapping[str, Figure]) -> bool:
    """Yes, whatever the figures are."""
    return True


@dataclass(frozen=True)
class CheckRow:
    """One row of ``CHECKS``.

    Args:
        name: for people.
        check: case to its outcome; None where it is made before there is a case, by whoever reads the inputs.
        by_chance: whether it is a test, which raises an alarm now and then where there is nothing.
        changes: whether an issue with such figures changes what the answer means: it then stands beside it.
        undermines: whether, with an issue of such figures, the audit may have missed a leak. A gate then fails, unless the
            check is ignored by its code.
    """

    name: str
    check: Callable[[Case], Outcome] | None = None
    by_chance: bool = False
    changes: Callable[[Mapping[str, Figure]], bool] = never
    undermines: Callable[[Mapping[str, Figure]], bool] = never


def many_duplicates(figures: Mapping[str, Figure]) -> bool:
    """Yes, if at least 1 % of the non-members are duplicates: enough to hide the TPR at an FPR of 1 %."""
    return float(figures["duplicates"]) >= REPEATED * float(figures["nonmembers"])


def many_copies(figures: Mapping[str, Figure]) -> bool:
    """Yes, if at least a tenth of the members have a duplicate among the members."""
    return float(figures["copies"]) >= HIDDEN * float(figures["members"])


def not_removed(figures: Mapping[str, Figure]) -> bool:
    """Yes, unless the duplicates were removed from the population."""
    return not figures.get("left_out")


def clear(figures: Mapping[str, Figure]) -> bool:
    """Yes, if the p-value of the test is at most 0.005: a test raises a false alarm now and then."""
    return float(figures["p_value"]) <= CLEAR


def changes_answer(check: Check) -> bool:
    """Whether a check found something without which the answer would be misread."""
    row = CHECKS.get(check.code)
    return check.state == "issue" and row is not None and row.changes(check.figures)


def undermines_verdict(check: Check) -> bool:
    """Whether a check found something because of which the audit may have missed a leak."""
    row = CHECKS.get(check.code)
    return check.state == "issue" and row is not None and row.undermines(check.figures)


def find(case: Case) -> tuple[Check, ...]:
    """Every check of the table, in its order."""
    made = {check.code: check for check in case.checks}
    found = [
        made.get(code) or Check(code, *(row.check(case) if row.check else NOT_RUN)) for code, row in CHECKS.items()
    ]
    return tuple(replace(check, state="ignored") if check.code in case.ignore else check for check in found)


def check_codes(codes: Sequence[str]) -> tuple[str, ...]:
    """The codes that are to be ignored; an error that lists all where one is unknown."""
    if isinstance(codes, str):
        raise InputError(f"Expected ignore=(...), a list of codes such as ({codes!r},), found {codes!r}.")
    if not isinstance(codes, list | tuple | set | frozenset):
        raise ValueError(f"Expected ignore={shown(codes)} to be a list of codes, such as ['GL104'].")
    unknown = [code for code in codes if not isinstance(code, str) or code not in CHECKS]
    if unknown:
        known = ", ".join(f"{code} ({row.name})" for code, row in CHECKS.items())
        raise InputError(f"There is no check {unknown[0]!r} to ignore; there are {known}.")
    return tuple(codes)


def of_duplicates(duplicates: Duplicates) -> tuple[Check, ...]:
    """The checks of records that stand on both sides, made before they are gone."""
    figures: dict[str, Figure] = {"duplicates": duplicates.found, "nonmembers": duplicates.nonmembers}
    figures |= {} if duplicates.persons is None else {"persons": duplicates.persons}
    found = _state(duplicates.found > 0, figures)
    if not duplicates.dropped:
        return Check("GL101", *found), Check("GL102", *NOT_APPLICABLE)
    return Check("GL101", "passed", {**figures, "duplicates": 0}), Check("GL102", *found)


def of_repeats(repeats: Repeats | None) -> tuple[Check, ...]:
    """The check of names that several records share, although nobody said whose records these are."""
    if repeats is None:
        return (Check("GL114", *NOT_APPLICABLE),)
    return (
        Check("GL114", *_state(repeats.names < repeats.records, {"records": repeats.records, "names": repeats.names})),
    )


def of_consistency(found: Consistency | None) -> tuple[Check, ...]:
    """The checks of outputs that change between queries, or with the batch."""
    if found is None:
        return Check("GL130", *NOT_RUN), Check("GL131", *NOT_RUN)
    changed = _state(not found.deterministic, {"changed": found.changed, "records": found.records})
    batched = _state(found.depends_on_batch, {"differ": found.batched, "records": found.records})
    return Check("GL130", *changed), Check("GL131", *(batched if found.deterministic else NOT_RUN))


def not_noticed(case: Case) -> Outcome:
    """What is known of the target before there is a case, and is no issue there."""
    return NOT_APPLICABLE


def of_baseline(found: Baseline) -> Check:
    """The check of sides that differ without the model."""
    figures: dict[str, Figure] = {
        "auc": found.auc,
        "p_value": found.p_value,
        "detectable_auc": found.detectable_auc,
        "inputs": " ".join(found.inputs),
        **({"game": found.game} if found.game else {}),
    }
    return Check("GL119", *_state(found.significant, figures))


def told_without_the_model(case: Case) -> Outcome:
    """Members that a classifier tells from non-members although it never asks the model."""
    if case.setting.drawn:
        return NOT_APPLICABLE
    if case.baseline is None:
        return NOT_RUN
    made = of_baseline(case.baseline)
    return Outcome(made.state, made.figures)


def of_twins(twins: Twins) -> tuple[Check, ...]:
    """The checks of records that were given more than once, or almost."""
    copies = _state(twins.copies >= REPEATED * twins.members, {"copies": twins.copies, "members": twins.members})
    population = NOT_APPLICABLE
    if twins.in_population is not None:
        figures = {"twins": twins.in_population, "asked": twins.asked, "left_out": twins.left_out}
        population = _state(twins.in_population >= REPEATED * twins.asked, figures)
    near = NOT_RUN
    if twins.near is not None:
        near_by = {"share": twins.near.share, "nonmembers": twins.near.nonmembers, "p_value": twins.near.p_value}
        near = _state(twins.near.p_value <= UNLIKE, near_by)
    return Check("GL115", *copies), Check("GL116", *population), Check("GL117", *near)


def chance_accuracy(case: Case) -> Outcome:
    """A target that does not beat a constant on non-members: the most frequent class, or their mean."""
    if case.of(subject.find).canaries == "wrong":  # nobody wants it to be right about them
        return NOT_APPLICABLE
    correct = signal_of(case.view, "correct")
    if correct is None:
        r2 = case.of(subject.find).r2_nonmembers
        return NOT_APPLICABLE if r2 is None else _state(r2 <= 0, {"r2": r2})
    outside = case.truth.evaluated & ~case.truth.member
    accuracy = float(correct[outside].mean())
    guessing = float(np.bincount(case.view.labels[outside]).max() / outside.sum())
    return _state(accuracy <= guessing, {"accuracy": accuracy, "guessing": guessing})


def no_labels(case: Case) -> Outcome:
    """Predictions without true classes: most attacks read them."""
    return _state(not has_labels(case), {})


def labels_alone(case: Case) -> Outcome:
    """A target that tells classes and nothing about how sure it is of them."""
    return _state(case.setting.scale == Labels.name, {})


def one_probability(case: Case) -> Outcome:
    """One logit for two classes that is never below 0 or above 1: it has gone through a sigmoid."""
    found = case.setting.answers
    if case.setting.scale != Logits.name or case.setting.classes != 2:
        return NOT_APPLICABLE
    if found is None:
        return NOT_RUN
    first, second = found[case.truth.evaluated].T
    return _state(bool((first == 0).all() and (second >= 0).all() and (second <= 1).all()), {"records": len(first)})


def saturation(case: Case) -> Outcome:
    """Answers that stand at the end of their scale for many records: exactly 0 or 1."""
    scale = as_scale(case.setting.scale)
    if not scale.hides_logits or "p_y" not in scale.signal_names:
        return NOT_APPLICABLE
    if case.setting.answers is None:
        return NOT_RUN
    share = scale.saturated(case.setting.answers[case.truth.evaluated])
    return _state(share >= SATURATED, {"share": share})


def sizes(case: Case) -> Outcome:
    """References that train on clearly fewer or more records than the target; of predictions, a shadow with fewer or more
    members."""
    if not case.view.references:
        return NOT_APPLICABLE
    target, mean = int(case.truth.member.sum()), float(case.view.reference_member.sum(axis=1).mean())
    figures: dict[str, Figure] = {"target": target, "references": mean}
    figures |= (
        {"predictions": 1}
        if case.setting.predictions
        else {"population": int((~case.truth.evaluated & ~case.truth.member).sum())}
    )
    return _state(training_set.other_size(case), figures)


def copies(case: Case) -> Outcome:
    """References that say exactly what the target says: they were not trained anew."""
    signal = next((name for name in ("p_y", "loss") if signal_of(case.view, name) is not None), None)
    # A shadow model is asked about records of its own: there is nothing to compare. Labels alone may well be equal.
    asked = case.truth.evaluated
    if not case.view.references or signal is None:
        return NOT_APPLICABLE
    # Where some records differ, the rest need not be looked at.
    some, own = some_places(asked), case.view.target(signal)
    furthest = np.abs(case.view.reference(signal, some) - own[some]).max(axis=1)  # NaN where one is
    for k in np.flatnonzero(furthest < SAME_ANSWER):
        furthest[k] = np.abs(case.view.reference(signal)[k][asked] - own[asked]).max()
    if np.isnan(furthest).any():
        return NOT_APPLICABLE
    same = furthest < SAME_ANSWER
    return _state(bool(same.any()), {"copies": int(same.sum()), "references": case.view.references})


def some_places(asked: np.ndarray, most: int = 10_000) -> np.ndarray:
    """TopRanked of so many of the records that are asked about, evenly among them; of all where there are no more."""
    places = np.flatnonzero(asked)
    return places[:: max(1, -(-len(places) // most))]


def same_distilled(case: Case) -> Outcome:
    """Distilled models that do not differ: there is then no chance to speak of."""
    return _sameness(case, case.view.evidence.get("distilled"))


def same_left_out(case: Case) -> Outcome:
    """Models trained without a record that do not differ."""
    return _sameness(case, case.view.evidence.get("left_out"))


def _sameness(case: Case, models: ModelsView | None) -> Outcome:
    if models is None:
        return NOT_APPLICABLE
    if len(models.member) < 2:
        return NOT_RUN
    outside = case.view.with_references(models).outside("margin")
    several = outside.count > 1
    if not several.any():
        return NOT_RUN
    same = outside.squares[several] <= (SAME * np.maximum(1, np.abs(outside.mean[several]))) ** 2
    return _state(same.mean() > 0.5, {"same": int(same.sum()), "records": int(several.sum())})


def quantile_regression(case: Case) -> Outcome:
    """A quantile regression that learnt nothing."""
    found = case.view.evidence.get("quantiles")
    if found is None:
        return NOT_APPLICABLE
    if found.degenerate is None:
        return _state(False, {})
    figures: dict[str, Figure] = {"records": int(found.degenerate.records)}
    if not np.isnan(found.degenerate.loss):  # NaN: it predicts one value for all records
        figures |= {"loss": float(found.degenerate.loss), "constant": float(found.degenerate.constant)}
    return _state(True, figures)


def alone_in_leaves(case: Case) -> Outcome:
    """Members that stand alone in the leaves of a tree model."""
    alone = risks_of(case).get("alone_in_leaves")
    if alone is None or np.isnan(alone[case.truth.evaluated]).all():
        return NOT_APPLICABLE
    member = case.truth.member & case.truth.evaluated
    lone = int((alone[member] > ALONE).sum())
    return _state(lone > 0, {"alone": lone, "members": int(member.sum())})


def width(case: Case) -> Outcome:
    """An interval that is wider than was asked for, although no more references are trained."""
    until, place = case.setting.until, case.of(headline.find).same_recipe
    if until is None or place is None:
        return NOT_APPLICABLE
    found = place.auc.high - place.auc.low
    figures = {"width": found, "wanted": until.width, "references": case.view.references, "at_most": until.at_most}
    return _state(found > until.width, figures) if not np.isnan(found) else NOT_RUN


def reversed_sides(case: Case) -> Outcome:
    """Members that rank clearly below non-members: models do not fit what they were trained on worse."""
    name = case.of(headline.find).name
    found = next(found for found in case.of(attacks.find) if found.name == name)
    auc = found.auc
    if np.isnan(auc.value):
        return NOT_RUN
    figures: dict[str, Figure] = {"attack": name, "auc": auc.value, "low": auc.low, "high": auc.high}
    return _state(found.ranks_below, figures | _fit(case))


def _fit(case: Case) -> dict[str, Figure]:
    """How well the target does on either side, and a constant on both: wrong labels make it do worse than that."""
    correct, asked, member = signal_of(case.view, "correct"), case.truth.evaluated, case.truth.member_evaluated
    if correct is None:
        who = case.of(subject.find)
        sides = {"r2_members": who.r2_members, "r2_nonmembers": who.r2_nonmembers}
        return {name: value for name, value in sides.items() if value is not None}
    right, labels = correct[asked], case.view.labels[asked]
    guessing = float(np.bincount(labels).max() / len(labels))
    return {"members": float(right[member].mean()), "nonmembers": float(right[~member].mean()), "guessing": guessing}


def gap_without_attack(case: Case) -> Outcome:
    """Accuracies of members and of non-members that differ clearly, in either direction, where no attack finds anything."""
    correct = signal_of(case.view, "correct")
    if correct is None:
        return NOT_APPLICABLE
    right, member = correct[case.truth.evaluated] > 0.5, case.truth.member_evaluated
    gap = advantage(right, member, 0.5, clusters=case.persons)  # of calling whoever is answered rightly
    large = gap.low > LARGE_GAP or gap.high < -LARGE_GAP
    inside, outside = float(right[member].mean()), float(right[~member].mean())
    figures = {"members": inside, "nonmembers": outside, "low": gap.low, "high": gap.high}
    return _state(large and not any(found.beats_guessing for found in case.of(attacks.find)), figures)


def unlike_references(case: Case) -> Outcome:
    """A target that answers about non-members otherwise than references that did not train on them either."""
    size = sizes(case)
    if not case.view.references or case.setting.predictions or signal_of(case.view, "margin") is None:
        return NOT_APPLICABLE
    found = case.of(likeness.find)
    if found is None or size.state == "issue":  # references of another size differ for that reason already
        return NOT_RUN
    return _state(found.p_value <= UNLIKE, asdict(found))


def other_training_set(case: Case) -> Outcome:
    """A target on which the attack finds nothing although it finds members of every reference model."""
    if not case.view.references or case.setting.predictions or case.setting.drawn:
        return NOT_APPLICABLE
    found = case.of(training_set.find)
    return NOT_RUN if found is None else _state(found.doubted, asdict(found))


def rare_classes(case: Case) -> Outcome:
    """Classes that some references never saw, or that no reference could do without."""
    if not case.view.references or not case.setting.classes or case.setting.predictions:
        return NOT_APPLICABLE
    labels, classes = case.view.labels, case.setting.classes
    seen = np.stack([np.bincount(labels, row, minlength=classes) for row in case.view.reference_member])
    every, asked = np.bincount(labels, minlength=classes), np.bincount(labels[case.truth.evaluated], minlength=classes)
    there = asked > 0
    missed = there & (seen == 0).any(axis=0)
    rare = missed | (there & (seen == every).all(axis=0))
    figures: dict[str, Figure] = {
        "classes": int(rare.sum()),
        "records": int(asked[rare].sum()),
        "without": int((seen[:, missed] == 0).any(axis=1).sum()),
        "references": case.view.references,
    }
    return _state(bool(rare.any()), figures)


def uncalibrated(case: Case) -> Outcome:
    """A privacy risk score that is no probability here: references do not teach what the target says about its members."""
    found = next((one for one in case.of(calibrated.find) or () if one.score == calibrated.RISK_SCORE), None)
    if found is None:
        return NOT_APPLICABLE
    rmse = found.calibration.rmse
    if np.isnan(rmse.value):
        return NOT_RUN
    figures: dict[str, Figure] = {"rmse": rmse.value, "low": rmse.low, "high": rmse.high}
    figures |= {"other_size": 1} if sizes(case).state == "issue" else {}
    return _state(rmse.low > FAR_OFF, figures)


def _state(issue: bool, figures: Mapping[str, Figure]) -> Outcome:
    return Outcome("issue" if issue else "passed", figures)


CHECKS: dict[str, CheckRow] = {
    "GL101": CheckRow("duplicates across sides", changes=many_duplicates, undermines=many_duplicates),
    "GL102": CheckRow("duplicates dropped"),
    "GL103": CheckRow("no better than a constant", chance_accuracy, changes=always, undermines=always),
    "GL104": CheckRow("saturated answers", saturation),
    "GL105": CheckRow("references of another size", sizes),
    "GL106": CheckRow("references that are copies", copies, changes=always, undermines=always),
    "GL107": CheckRow("distilled models that do not differ", same_distilled),
    "GL108": CheckRow("left-out models that do not differ", same_left_out),
    "GL109": CheckRow("quantile regression that learnt nothing", quantile_regression),
    "GL110": CheckRow("members alone in leaves", alone_in_leaves),
    "GL111": CheckRow("interval still wide", width),
    "GL112": CheckRow("members rank below non-members", reversed_sides, changes=always, undermines=always),
    "GL113": CheckRow("accuracy gap that no attack sees", gap_without_attack, changes=always, undermines=always),
    "GL114": CheckRow("several records of one name", changes=always, undermines=always),
    "GL115": CheckRow("members given more than once", changes=always, undermines=many_copies),
    "GL116": CheckRow("population that is asked about", changes=always, undermines=not_removed),
    "GL117": CheckRow("near twins across sides", by_chance=True, changes=always, undermines=clear),
    "GL118": CheckRow(
        "target unlike its references", unlike_references, by_chance=True, changes=always, undermines=clear
    ),
    "GL119": CheckRow(
        "members can be told without the model",
        told_without_the_model,
        by_chance=True,
        changes=always,
        undermines=clear,
    ),
    "GL120": CheckRow("classes that references miss", rare_classes),
    "GL121": CheckRow("risk score that is not a probability", uncalibrated),
    "GL122": CheckRow("no labels", no_labels, changes=always, undermines=always),
    "GL126": CheckRow("references do not stop early", not_noticed),
    "GL127": CheckRow("labels alone", labels_alone),
    "GL128": CheckRow("a logit that looks like a probability", one_probability, undermines=always),
    "GL129": CheckRow(
        "members may not be the training set", other_training_set, by_chance=True, changes=always, undermines=always
    ),
    "GL130": CheckRow("outputs that change between queries", changes=always, undermines=always),
    "GL131": CheckRow("outputs that depend on the batch", changes=always, undermines=always),
    "GL133": CheckRow("weights that references lack", not_noticed, changes=always, undermines=always),
}
