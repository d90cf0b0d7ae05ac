"""Checks in words, shared by every form of the report and by the warnings at the start of an audit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from guestlist.case import Check
from guestlist.findings.checks import CHECKS, changes_answer
from guestlist.findings.results import Results
from guestlist.report import words
from guestlist.report.format import compact, decimal, percent

# Issues first; what is folded away stands last.
ORDER = ("issue", "ignored", "not run", "not applicable", "passed")
SHOWN = ("issue", "ignored")
IGNORED = "ignored, as asked"


@dataclass(frozen=True)
class Row:
    """One check as every form shows it."""

    code: str
    name: str
    state: str
    said: str

    @property
    def text(self) -> str:
        """On one line: ``GL104 saturated answers: …``."""
        return f"{self.code} {self.name}: {self.said}".replace("  ", " ")


def rows(results: Results) -> tuple[Row, ...]:
    """All checks, issues first."""
    found = [Row(check.code, name_of(check.code), check.state, _said(check)) for check in results.checks or ()]
    return tuple(sorted(found, key=lambda row: ORDER.index(row.state) if row.state in ORDER else len(ORDER)))


def shown(results: Results) -> tuple[Row, ...]:
    """The checks that a reader must know of: issues, and what was to be ignored."""
    return tuple(row for row in rows(results) if row.state in SHOWN)


def beside(results: Results) -> tuple[Row, ...]:
    """The checks that stand beside the answer, since it would be misread without them; not those that it tells itself."""
    told = _told_by_answer(results)
    found = [check for check in results.checks or () if changes_answer(check) and check.code not in told]
    return tuple(Row(check.code, name_of(check.code), check.state, _said(check)) for check in found)


def elsewhere(results: Results) -> tuple[Row, ...]:
    """The checks that a reader must know of and that do not stand beside the answer."""
    there = {row.code for row in beside(results)}
    return tuple(row for row in shown(results) if row.code not in there)


def _told_by_answer(results: Results) -> set[str]:
    attack = words.headline_attack(results)
    baseline = results.baseline is not None and results.baseline.significant
    turned = attack is not None and attack.ranks_below and not attack.beats_guessing and not baseline
    return ({"GL119"} if baseline else set()) | ({"GL112"} if turned else set())


def folded(results: Results) -> tuple[Row, ...]:
    """The others."""
    return tuple(row for row in rows(results) if row.state not in SHOWN)


def in_brief(results: Results) -> str:
    """The others on one line: their codes, by state."""
    rest = folded(results)
    states = dict.fromkeys(row.state for row in rest)
    parts = [f"{state}: {', '.join(row.code for row in rest if row.state == state)}" for state in states]
    said = "; ".join(parts)
    return f"{said[:1].upper()}{said[1:]}." if said else ""


def sentence(check: Check) -> str:
    """What an issue is, and what to do about it."""
    return SENTENCES[check.code](check.figures)


def sentence_of(code: str, figures: Mapping) -> str:
    """The same by code and figures; ``issue`` for a check of a newer version."""
    return SENTENCES[code](figures) if code in SENTENCES else "issue"


def name_of(code: str) -> str:
    """The name of a check; empty for one of a newer version."""
    return CHECKS[code].name if code in CHECKS else ""


def _said(check: Check) -> str:
    if check.state == "issue":
        return sentence_of(check.code, check.figures)
    return IGNORED if check.state == "ignored" else check.state


def _duplicates(f: Mapping) -> str:
    drop = "Drop them with duplicates='drop' (--drop-duplicates)."
    if f.get("persons"):
        return (
            f"{f['duplicates']} of {f['nonmembers']} non-members are equal to a member or of one of the {f['persons']} persons "
            "who stand on both sides: the model was trained on these people, which makes it look more private than it is. "
            f"{drop}"
        )
    return (
        f"{f['duplicates']} of {f['nonmembers']} non-members are equal to a member, features and label alike: no attack "
        f"can tell such twins apart, which makes the model look more private than it is. {drop}"
    )


def _dropped(f: Mapping) -> str:
    why = "equal to a member, or of a person who is one" if f.get("persons") else "equal to a member"
    return f"{f['duplicates']} of {f['nonmembers']} non-members were dropped because they are {why}."


def _repeats(f: Mapping) -> str:
    return (
        f"{f['records']} records have {f['names']} different names. If a name is that of a person, records of one person say "
        "much the same, and every interval here is too narrow: give the column as person=… (--person)."
    )


def _no_labels(f: Mapping) -> str:
    return (
        "The answers were audited without labels, so only attacks that read none were run. Whoever knows a record most often "
        "knows its label, and finds more: an audit with labels may find a leak where this one does not."
    )


def _chance(f: Mapping) -> str:
    if "r2" in f:
        return (
            f"The target's R² on the non-members is {f['r2']:.3g}: always predicting their mean does as well. Are labels and "
            "columns as in training?"
        )
    return (
        f"The target is right on {f['accuracy']:.1%} of the non-members; always answering the most frequent class is "
        f"right on {f['guessing']:.1%}. Are labels and columns as in training?"
    )


def _saturation(f: Mapping) -> str:
    return (
        f"{f['share']:.0%} of the target's answers are exactly 1 for some class: its probabilities come in steps or "
        "are rounded, and what lies below a step is hidden from this audit, though not from someone who sees the logits."
    )


def _sizes(f: Mapping) -> str:
    if f.get("predictions"):
        return (
            f"There are predictions about {f['target']} members of the target, and about {f['references']:.0f} members of the "
            "shadow. If these are all that the two were trained on, what the shadow teaches does not fit: a model trained on "
            "fewer records remembers each of them better. Train the shadow on as many records as the target."
        )
    larger = f["references"] > f["target"]
    # Larger, because all who are asked about need references that trained on them; smaller, because they need others too.
    advice = "keep some of the non-members for the population, which need not be asked about, or train more references"
    if not larger:
        more = "more population records" if f.get("population") else "population records"
        advice = f"give {more} of the same source, or train more references, to bring the sizes closer"
    return (
        f"The target was trained on {f['target']} records, the references on {f['references']:.0f} on average: "
        f"{'more' if larger else 'fewer'}, so that every record has references that trained on it and others that did not. A "
        f"model trained on fewer records remembers each of them better; {advice}."
    )


def _copies(f: Mapping) -> str:
    return (
        f"{f['copies']} of {f['references']} references answer exactly as the target does, about every record. Does the "
        "recipe train them anew? If it does not, attacks that compare with them see nothing."
    )


def _same_distilled(f: Mapping) -> str:
    return (
        f"The models distilled from the target all say the same about {f['same']} of {f['records']} records: training has no "
        "randomness, and they train on the same records. The p-values of attack D then mean nothing."
    )


def _same_left_out(f: Mapping) -> str:
    return (
        f"The models trained without a record all say the same about {f['same']} of {f['records']} records: training has no "
        "randomness. Whoever knows all members but one can then train the model with and without the last and see which it "
        "is, so attack L is right about everyone. That holds for every deterministic training; it says nothing about weaker "
        "attackers."
    )


def _regression(f: Mapping) -> str:
    why = "it predicts one value for all records"
    if "loss" in f:
        unseen = f"{f['records']} records that it had not seen"
        why = f"its pinball loss on {unseen} is {f['loss']:.3g}, a constant's {f['constant']:.3g}"
        why += ", a gain that chance explains" if f["loss"] < f["constant"] else ""
    return (
        f"The quantile regression knows no more of non-members than a constant does: {why}. The attack 'quantile' therefore "
        "compares every record with the same value, as plain thresholds do."
    )


def _alone(f: Mapping) -> str:
    return (
        f"{f['alone']} of {f['members']} members are alone in their leaf in more than half of the trees: what those leaves "
        "answer was learnt from one record, and the model file tells so. Larger leaves or shallower trees blur it "
        "(min_samples_leaf, max_depth, min_child_weight)."
    )


def _width(f: Mapping) -> str:
    most = f["references"] >= f["at_most"]
    why = "no more were to be trained" if most else "more references would hardly narrow it"
    return (
        f"The interval of the recipe's AUC is {f['width']:.3f} wide with {f['references']} references, not {f['wanted']:g} as "
        f"asked; {why}, more members and non-members would."
    )


def _reversed(f: Mapping) -> str:
    auc = f"AUC {decimal(f['auc'])} ({decimal(f['low'], -1)} to {decimal(f['high'], 1)})"
    return f"The attack {f['attack']} ranks members below non-members, with {auc}, and chance does not explain it. {turned(f)}"


def turned(f: Mapping) -> str:
    """The likeliest reason for members that rank below non-members."""
    if "guessing" in f and max(f["members"], f["nonmembers"]) < f["guessing"]:
        return (
            f"The model is right on {percent(f['members'])} of the members and {percent(f['nonmembers'])} of the non-members, "
            f"less than always answering the most frequent class ({percent(f['guessing'])}): the labels are probably not those "
            "of the training, flipped or in another order, on either side. Check that first."
        )
    if "r2_members" in f and "r2_nonmembers" in f and max(f["r2_members"], f["r2_nonmembers"]) < 0:
        return (
            "The model does worse on either side than always answering the mean: the values are probably not those of the "
            "training, in another unit or of another column. Check that first."
        )
    return (
        "Models do not fit what they were trained on worse: the two sets were probably interchanged, or are different kinds of "
        "records. Check that first."
    )


def _gap(f: Mapping) -> str:
    return (
        f"The model is right on {percent(f['members'])} of the members and {percent(f['nonmembers'])} of the non-members, a "
        "difference that chance does not explain, and yet no attack finds anything. Look for a swapped column or label: "
        "are members and non-members interchanged, and are labels and columns on either side as in training?"
    )


def _baseline(f: Mapping) -> str:
    seen = words.and_joined(
        [words.BASELINE_INPUTS.get(name, name) for name in str(f.get("inputs", "features label")).split()]
    )
    game = str(f.get("game", ""))
    found = (
        f"Evidence of a difference between the two sets: a model-free baseline that reads {seen}, and never queries the model, "
        f"separates members from non-members with AUC {decimal(f['auc'])} (p = {compact(f['p_value'])})."
    )
    chance = words.chance_sentence(float(f["p_value"]), game)
    attacks = "Attacks may detect this difference, not the model's training."
    return " ".join(filter(None, [found, chance, attacks, words.split_advice(game)]))


def _repeated(f: Mapping) -> str:
    return (
        f"{f['copies']} of {f['members']} members are equal to another member, features and label alike. A reference that leaves "
        "one of them out may train on the other, so attacks see less than there is. If the training oversamples, let the "
        "recipe do it, and give each record once."
    )


def _in_population(f: Mapping) -> str:
    told = (
        f"{f['twins']} of {f['asked']} members and non-members also stand in the population, features and label alike. "
    )
    if f.get("left_out"):  # older results do not say
        return (
            f"{told}That is not chance: {f['left_out']} records of the population were left out of it, since references without "
            "a record would have trained on its copy. Give a population of other records."
        )
    return (
        f"{told}References that leave such a record out may train on its twin, so attacks see less than there is. Give a "
        "population of other records."
    )


def _near(f: Mapping) -> str:
    return (
        f"{percent(f['share'])} of the {f['nonmembers']} non-members that were looked at are nearer to one member than 19 of 20 "
        f"members are to each other (p = {f['p_value']:.2g}). The model answers about near twins alike, which makes it look "
        "more private than it is. Do the two sides hold records of the same people, or changed copies?"
    )


def _unlike(f: Mapping) -> str:
    return (
        f"On records that neither trained on, the target answers otherwise than its {f['references']} references do (p = "
        f"{f['p_value']:.2g}). The recipe may not be the one by which the target was trained, or the target has seen "
        "non-members, or twins of them, after all. Attacks that compare it with these references see less than there is."
    )


def _rare(f: Mapping) -> str:
    what = f"{f['classes']} class{'es have' if f['classes'] > 1 else ' has'} so few records"
    which = f"{f['without']} of {f['references']} references were trained without one"
    if not f["without"]:
        which = "every reference trained on all of them"
    return (
        f"{what} that {which}. Attacks that compare with references say little about the {f['records']} "
        f"record{'s' if f['records'] > 1 else ''} of such a class."
    )


def _uncalibrated(f: Mapping) -> str:
    off = f"{decimal(f['rmse'])} ({decimal(f['low'], -1)} to {decimal(f['high'], 1)})"
    why = "They were trained on another number of records (GL105). " if f.get("other_size") else ""
    return (
        f"The privacy risk score is {off} away, root mean square, from the share of members among records of such a score: what "
        f"references say about their members is not what the target says about its own. {why}Read the score as a ranking, not as "
        "a probability."
    )


def _stopped(f: Mapping) -> str:
    return (
        f"The target stopped early and kept {f['rounds']} of {f['most']} rounds, by records that were given to fit and are not "
        f"here. Every reference is trained for {f['rounds']} rounds, on all its records."
    )


def _weights(f: Mapping) -> str:
    return (
        "The target was fitted with sample_weight, and the reference models were not: guestlist does not know the weights. "
        "Pass them to gl.audit, with one array for each set of records: fit_params={'sample_weight': (members_weight, "
        "nonmembers_weight)}. Until then, differences between target and references may be due to the weights."
    )


def _labels_alone(f: Mapping) -> str:
    return (
        "The model answers with a class and does not say how sure it is, so only attacks were run that read no more: whether it "
        "is right, and how firmly it stays so when records change a little. Whoever has the model file may see more than that."
    )


def _one_probability(f: Mapping) -> str:
    return (
        f"What the model answers about the second class lies between 0 and 1 for all {f['records']} records, and is read as a "
        "logit. Does the module end in a sigmoid? Leave it out: attacks see less through it, and references are trained wrongly."
    )


def _other_training_set(f: Mapping) -> str:
    own = f"{decimal(f['auc'])} (99% CI {decimal(f['low'], -1)} to {decimal(f['high'], 1)})"
    return (
        "These records may not be the training set of this model. The attack finds no sign of them: its AUC is "
        f"{own}. On {f['references']} models trained the same way on halves of these records it is {decimal(f['expected'])} on "
        f"average. A model trained on its members has so low an AUC with probability {compact(f['p_value'])}. Check that you "
        "passed the right model and the records, columns and labels that it was trained on. If it was trained differently from "
        "its reference models, pass its training procedure."
    )


def _changing(f: Mapping) -> str:
    return (
        f"The model is not deterministic: queried twice about the same {f['records']} records, it returned different outputs "
        f"for {f['changed']} of them. The noise can hide a leak from this audit, and an attacker can average over many queries. "
        "Put the model into evaluation mode, or fix its random seed, and audit again."
    )


def _batched(f: Mapping) -> str:
    return (
        f"The model's outputs depend on the batch: of {f['records']} records, {f['differ']} have different outputs when they are "
        "queried with all other records. Attacks compare outputs record by record and may miss a leak. Put the model into "
        "evaluation mode (batch normalisation), compute scaling on the training records, and audit again."
    )


SENTENCES: dict[str, Callable[[Mapping], str]] = {
    "GL101": _duplicates,
    "GL102": _dropped,
    "GL103": _chance,
    "GL104": _saturation,
    "GL105": _sizes,
    "GL106": _copies,
    "GL107": _same_distilled,
    "GL108": _same_left_out,
    "GL109": _regression,
    "GL110": _alone,
    "GL111": _width,
    "GL112": _reversed,
    "GL113": _gap,
    "GL114": _repeats,
    "GL115": _repeated,
    "GL116": _in_population,
    "GL117": _near,
    "GL118": _unlike,
    "GL119": _baseline,
    "GL120": _rare,
    "GL121": _uncalibrated,
    "GL122": _no_labels,
    "GL126": _stopped,
    "GL127": _labels_alone,
    "GL128": _one_probability,
    "GL129": _other_training_set,
    "GL130": _changing,
    "GL131": _batched,
    "GL133": _weights,
}
