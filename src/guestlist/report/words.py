"""The answer in words, shared by every form of the report: plain sentences, no markup.

Three rules. Words follow from intervals, never from bands of an AUC. Where nothing was found they say what
could have been found with this many records. And no result is called harmless: an attack that fails says
little about the next one.
"""

from __future__ import annotations

import math

from guestlist.evaluate import records_needed
from guestlist.findings.results import AttackResult, GroupResult, Rate, Results
from guestlist.report.format import (
    count,
    decimal,
    ends,
    interval,
    per,
    percent,
    tiny,
    with_interval,
)

CHANCE = 0.5  # the AUC of an attack that knows nothing
UNUSUAL = 0.05  # a place among its kind that is rarer than this is said to be luck
FEW = 0.01  # up to this false positive rate an attack is said to single people out

# What an attacker must have beyond the model's answers, by the evidence that an attack looks at.
KNOWS = {
    "leaves": "has the model file",
    "inner": "has the model and knows of some records whether they are members",
    "left_out": "knows all other members",
}

LOWER_BOUND = (
    "An attack that succeeds shows what is possible; one that fails does not show what is impossible. "
    "These figures are a lower bound on what an attacker can do."
)


def question(results: Results) -> str:
    """What the audit asks."""
    return f"Could someone tell who was in the training set of {name(results)}?"


def name(results: Results) -> str:
    """What the target is called."""
    return results.subject.name or "the model"


def headline(results: Results) -> AttackResult:
    """The attack that the answer rests on."""
    return results.attack(results.headline)


def finds(finding: AttackResult) -> bool:
    """Whether an attack is shown to beat guessing: its AUC, or its TPR at some false positive rate."""
    return finding.auc.low > CHANCE or any(_shows(rate) for rate in finding.rates)


def successes(results: Results) -> tuple[AttackResult, ...]:
    """The attacks, the headline aside, that are shown to beat guessing."""
    return tuple(f for f in results.findings if f.name != results.headline and finds(f))


def answer(results: Results) -> str:
    """The answer to the question, in one to four sentences."""
    attack = headline(results)
    if math.isnan(attack.auc.value):
        nothing = "gave no score by which members and non-members could be compared"
        said = [f"Not measured. The attack {attack.name} {nothing}.", *_others(results)]
    elif finds(attack):
        said = [*_yes(attack), *_stronger(results)]
    elif attack.auc.high < CHANCE:
        said = [*_reversed(attack), *_others(results)]
    elif successes(results):
        not_this = f"The headline attack, {attack.name}, is not shown to beat guessing, but another is."
        said = ["There are signs of it.", not_this, *_others(results)]
    else:
        said = [_no(results)]
    return " ".join(said)


def meaning(results: Results) -> tuple[str, ...]:
    """What the headline attack's figures mean in people, a sentence for each."""
    attack = headline(results)
    pair = f"Shown one member and one non-member, {attack.name}"
    sentences = [] if math.isnan(attack.auc.value) else [f"{pair} {_picks(attack)}."]
    for rate in attack.rates:
        if not math.isnan(rate.tpr.value):
            sentences.append(f"{_in_people(rate)} {_of_called(rate, results.prior)}".strip())
    return tuple(sentences)


def exposed_group(results: Results) -> str | None:
    """Which group is most clearly exposed to the headline attack; None where no groups were given."""
    groups = [group for group in results.groups if not math.isnan(group.auc.value)]
    if not groups:
        return None
    # By the low end: a large AUC of a small group may be luck.
    top = max(groups, key=lambda group: group.auc.low)
    if top.auc.low <= CHANCE:
        none = "The one group is not" if len(groups) == 1 else f"None of {count(len(groups))} groups is"
        unseen = "small groups have wide intervals, in which a leak can go unseen"
        return f"{none} shown to be exposed by itself; {unseen}."
    which = "The one group" if len(groups) == 1 else f"Of {count(len(groups))} groups, the most clearly exposed"
    figures = f"AUC {with_interval(top.auc)}, over {_things(top.members, 'member')}"
    return f"{which} is {group_name(top)}: {figures}. {_beside_all(top, results)}"


def group_name(group: GroupResult) -> str:
    """A group in words: ``age = 18-25``."""
    return f"{group.group} = {group.value}"


def basis(results: Results) -> str:
    """What the figures rest on: how many records, how many references."""
    who, references = results.subject, results.references
    asked = f"Measured on {_things(who.members, 'member')} and {_things(who.nonmembers, 'non-member')}"
    if references is None:
        return f"{asked}, without reference models."
    models = _things(references.count, "reference model")
    trained = f"{models} trained on about {count(references.records)} records each"
    return f"{asked}, with {trained}."


def accuracy(results: Results) -> str:
    """How often the target is right on either side: where the two differ, it remembers."""
    who = results.subject
    if who.fit_members is not None and who.fit_nonmembers is not None:
        inside, outside = who.fit_members, who.fit_nonmembers
        r2 = f"R² is {inside.r2:.3g} on the members and {outside.r2:.3g} on the non-members"
        return f"The model's {r2}; its root mean squared error is {inside.rmse:.3g} and {outside.rmse:.3g}."
    if who.accuracy_members is None or who.accuracy_nonmembers is None:
        return "How often the model is right is not known."
    members, nonmembers = percent(who.accuracy_members), percent(who.accuracy_nonmembers)
    return f"The model is right on {members} of the members and {nonmembers} of the non-members."


def limits(results: Results) -> tuple[str, ...]:
    """What could and what could not have been seen with this many records."""
    rates = headline(results).rates
    resolved = tuple(rate for rate in rates if rate.resolution != "withheld")
    why = (_resolution(rate, results) for rate in rates)
    sentences = (_detectable_auc(results), _detectable_rates(resolved), *why)
    return tuple(sentence for sentence in sentences if sentence)


def unscored(results: Results) -> str | None:
    """How many records the headline attack could not score, if any."""
    attack = headline(results)
    if not attack.unscored:
        return None
    left_out = _things(attack.unscored, "record")
    return f"{attack.name} gave no score to {left_out}, which its figures leave out."


def chosen(results: Results) -> str:
    """Which attack the answer rests on, and how it came to be that one."""
    return f"The answer rests on the attack {results.headline}, {results.chosen}."


def recipe(results: Results) -> str | None:
    """Whether it is this model or the way it is trained; None where no other model of the recipe was attacked."""
    others = results.recipe
    if others is None:
        return None
    models = count(len(others.aucs))
    larger = round(others.share_larger * len(others.aucs), 1)
    found = f"on {models} other models trained by the same recipe, {results.headline} reaches an AUC of"
    fresh = f"{decimal(others.auc.value)} on average ({interval(others.auc)} for a fresh model and fresh records)"
    more = f"{larger:g} of them give away more than this one."
    kind = _kind(others.share_larger, len(others.aucs))
    return f"Is it this model, or the recipe? {found[0].upper()}{found[1:]} {fresh}; {more} {kind}"


def p_values(results: Results) -> str:
    """How to read the p-values of the most exposed records."""
    members, nonmembers = results.subject.members, results.subject.nonmembers
    small = max(0.01, 1 / (nonmembers + 1))  # with fewer than 99 non-members, no p-value is as small as 0.01
    return (
        "The p-value is the share of non-members that score at least as high, the record itself counted in, "
        "so it is never 0. A small one means that few people who were not in the training set look so much "
        "as if they were. "
        f"These are the highest scores of {_things(members, 'member')}: if nothing leaked, about "
        f"{count(max(members * small, 1))} of them would still have a p-value of {tiny(small)} or less."
    )


def _kind(share_larger: float, models: int) -> str:
    # The chance of a place as high or as low as this among models of one kind; few models can show nothing.
    larger = share_larger * models
    if (1 + larger) / (1 + models) < UNUSUAL / 2:
        return "This model is unlucky: training it anew may do better."
    if (1 + models - larger) / (1 + models) < UNUSUAL / 2:
        return "This model is lucky: training it anew may do worse."
    return "This model does not stand out among its kind."


def _shows(rate: Rate) -> bool:
    return rate.tpr.low > rate.fpr


def _yes(attack: AttackResult) -> list[str]:
    shown = [rate for rate in attack.rates if _shows(rate)]
    if not attack.auc.low > CHANCE:
        over_all = f"Over all records the attack {attack.name} is not shown to beat guessing"
        return [f"Yes, for some. {over_all}, but it singles some out.", _in_people(shown[0])]
    better = f"Yes. The attack {attack.name} tells members from non-members better than guessing"
    lead = f"{better}: shown one of each, it {_picks(attack)}."
    few = [rate for rate in shown if rate.fpr <= FEW]
    if not few:
        return [lead, "It is not shown to single anyone out with few false alarms."]
    return [lead, _in_people(next((rate for rate in few if rate.resolution == "good"), few[-1]))]


def _no(results: Results) -> str:
    many = len(results.findings)
    none = (
        "The one attack that was run does not tell"
        if many == 1
        else f"None of the {count(many)} attacks that were run tells"
    )
    better = f"{none} members from non-members better than guessing"
    return f"Not shown. {better}. That does not mean that nobody can: {_unseen(results)}."


def _unseen(results: Results) -> str:
    auc = results.detectable_auc
    if math.isnan(auc) or auc >= 1:
        return "with so few records even a large leak would go unseen"
    return f"with this many records a leak below an AUC of {decimal(auc)} may well go unseen"


def _reversed(attack: AttackResult) -> list[str]:
    return [
        f"Unclear. The attack {attack.name} ranks members below non-members, with AUC "
        f"{with_interval(attack.auc)}, and chance does not explain it. Models do not fit what they were "
        "trained on worse: the two sets were probably interchanged, or are different kinds of records. "
        "Check that first."
    ]


def _others(results: Results) -> list[str]:
    """What the attacks beside the headline found, and why that is weaker evidence."""
    found = successes(results)
    if not found:
        return []
    best = max(found, key=lambda finding: finding.auc.low)
    many = f"{len(found)} attacks beat guessing, most clearly {best.name}"
    who = f"{best.name} beats guessing" if len(found) == 1 else many
    luck = "one may do so by luck: confirm it on other records with that attack alone"
    return [f"{who}: {_evidence(best)}.", f"As {_things(len(results.findings), 'attack')} were run, {luck}."]


def _stronger(results: Results) -> list[str]:
    """Which attack ranks members clearly better than the headline does, if one does."""
    overall = headline(results).auc
    better = [finding for finding in successes(results) if finding.auc.low > overall.high]
    if not better:
        return []
    best = max(better, key=lambda finding: finding.auc.low)
    better_still = f"does better still: AUC {with_interval(best.auc)}, against {with_interval(overall)}"
    return [f"{best.name}{_by_whom(best)} {better_still}."]


def _by_whom(finding: AttackResult) -> str:
    """Who can run an attack that takes more than answers."""
    from guestlist.attacks import ATTACKS

    known = ATTACKS.get(finding.name)
    who = KNOWS.get(known.evidence) if known else None
    return f", run by someone who {who}," if who else ""


def _evidence(finding: AttackResult) -> str:
    if finding.auc.low > CHANCE:
        return f"AUC {with_interval(finding.auc)}"
    rate = next(rate for rate in finding.rates if _shows(rate))
    found = f"{percent(rate.tpr.value)} of the members ({interval(rate.tpr, percent)})"
    return f"at {percent(rate.fpr)} false alarms it finds {found}"


def _picks(attack: AttackResult) -> str:
    people = per(attack.auc)
    low, high = (count(end) for end in ends(attack.auc, people))
    times = f"{count(round(attack.auc.value * people))} times in {count(people)}"
    return f"picks the member {times} (between {low} and {high}), where guessing picks {count(people / 2)}"


def _in_people(rate: Rate) -> str:
    people = per(rate.tpr, beside=rate.fpr)
    low, high = (count(end) for end in ends(rate.tpr, people))
    found = f"{count(round(rate.tpr.value * people))} of {count(people)} members (between {low} and {high})"
    return f"At {percent(rate.fpr)} false alarms it finds {found}, where guessing finds {rate.fpr * people:.4g}."


def _of_called(rate: Rate, prior: float) -> str:
    if math.isnan(rate.ppv.value):
        return ""
    called = f"{percent(rate.ppv.value)} ({interval(rate.ppv, percent)}) of those it calls are members"
    return f"Where {percent(prior)} of the people in question are members, {called}."


def _beside_all(group: GroupResult, results: Results) -> str:
    overall = headline(results).auc
    if group.auc.low > overall.high:
        return f"That is more than over all records ({decimal(overall.value)})."
    return f"Its interval reaches that over all records, {with_interval(overall)}, so the two may not differ."


def _detectable_auc(results: Results) -> str:
    who = results.subject
    sizes = f"With {_things(who.members, 'member')} and {_things(who.nonmembers, 'non-member')}"
    if math.isnan(results.detectable_auc) or results.detectable_auc >= 1:
        return f"{sizes}, no AUC could have been told from guessing reliably."
    return (
        f"{sizes}, the smallest detectable AUC is {decimal(results.detectable_auc)}: four in five audits of "
        "this size would find a leak that large, and fewer a smaller one."
    )


def _detectable_rates(rates: tuple[Rate, ...]) -> str:
    seen = [f"{percent(rate.detectable)} at {percent(rate.fpr)}" for rate in rates if not math.isnan(rate.detectable)]
    blind = [percent(rate.fpr) for rate in rates if math.isnan(rate.detectable)]
    parts = []
    if seen:
        parts.append(f"The smallest detectable share of members found is {_listed(seen)} false alarms.")
    if blind:
        every = "even an attack that finds every member could not have been told from guessing"
        parts.append(f"At {_listed(blind)} false alarms {every}.")
    return " ".join(parts)


def _resolution(rate: Rate, results: Results) -> str:
    """Why a rate is withheld or weak, and what would help; nothing where it is well resolved."""
    if rate.resolution == "good":
        return ""
    at, among = f"{percent(rate.fpr)} false alarms", _things(results.subject.nonmembers, "non-member")
    takes = f"It takes {count(records_needed(rate.fpr))} non-members to resolve that rate"
    if rate.resolution == "withheld":
        return f"At {at} nothing is shown: fewer than one is expected among {among}. {takes}."
    expected = rate.fpr * results.subject.nonmembers
    return f"The figure at {at} is weak: only about {expected:.2g} are expected among {among}. {takes} well."


def _things(number: int, thing: str) -> str:
    return f"{count(number)} {thing}" + ("" if number == 1 else "s")


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]
