"""The answer to the question, in one to four sentences."""

from __future__ import annotations

import math

from guestlist.findings.attacks import CHANCE, AttackResult, Rate
from guestlist.findings.results import Results
from guestlist.report import checks, words
from guestlist.report.format import ROUNDING, count, decimal, ends, interval, per, percent, with_interval
from guestlist.report.next_steps import next_steps
from guestlist.report.section import Section, filled
from guestlist.report.sections.blind import with_differences
from guestlist.report.sections.groups import exposed_group, exposed_group_of_file_holder, unjudged
from guestlist.report.sections.headline import picks

FEW = 0.01  # up to this false positive rate an attack is said to single people out
# How the answer begins where people are singled out: by how many of the members are found at least.
SINGLED_OUT = ((0.5, "Yes, most of them."), (0.1, "Yes, many of them."), (0.0, "Yes, some of them."))
# And where they are not: by how many more pairs than by guessing are told at least.
ON_AVERAGE = ((0.1, "Yes, on average."), (-1.0, "Yes, but only slightly."))


def section(results: Results) -> Section:
    body = filled(
        "answer.html",
        answers=answers(results),
        basis=words.basis(results),
        lower_bound=words.LOWER_BOUND,
        group=" ".join(
            filter(None, (exposed_group(results), exposed_group_of_file_holder(results), unjudged(results)))
        ),
        beside=checks.beside(results),
        steps=next_steps(results),
    )
    return Section("question", words.question(results), body, look="answer")


def successes(results: Results) -> tuple[AttackResult, ...]:
    """The attacks, those of the headline rows aside, that are shown to beat guessing."""
    rows = words.row_attacks(results)
    return tuple(found for found in results.outcomes or () if found.name not in rows and found.beats_guessing)


def answers(results: Results) -> tuple[str, ...]:
    """The answer; where some attack takes the model file, one for each of the two attackers."""
    second = words.file_holder(results)
    if second is None:
        return (answer(results),)
    return f"{words.QUERIER}: {answer(results)}", f"{words.FILE_HOLDER}: {of_file_holder(results, second)}"


def of_file_holder(results: Results, attack: AttackResult) -> str:
    """The answer for someone who holds the model file."""
    if math.isnan(attack.auc.value):
        return (
            f"Not measured. The attack {attack.name} gave no score by which members and non-members could be compared."
        )
    if results.blind is not None and results.blind.told:
        return (
            f"Unclear. The attack {attack.name} has AUC {with_interval(attack.auc)}, which cannot be attributed to the model "
            "alone, since members and non-members differ without it."
        )
    if attack.beats_guessing:
        return " ".join(_yes(attack))
    return (
        f"No evidence that the file reveals more. The attack {attack.name} does not distinguish members from non-members "
        f"better than guessing (AUC {with_interval(attack.auc)}). Someone who holds the file can also query the model."
    )


def answer(results: Results) -> str:
    """The answer for someone who can query the model, in one to four sentences."""
    attack = words.headline(results)
    if attack is None:
        return " ".join(["Not measured. The results name no attack that the answer could rest on.", *_others(results)])
    if results.blind is not None and results.blind.told:
        return with_differences(results, results.blind, attack)
    if math.isnan(attack.auc.value):
        nothing = "gave no score by which members and non-members could be compared"
        said = [f"Not measured. The attack {attack.name} {nothing}.", *_others(results)]
    elif attack.beats_guessing:
        said = [*_yes(attack), *_stronger(results, attack)]
    elif attack.ranks_below:
        said = [*_reversed(results, attack), *_others(results)]
    elif successes(results):
        not_this = f"The headline attack, {attack.name}, is not shown to beat guessing, but another is."
        said = ["There are signs of it.", not_this, *_others(results)]
    else:
        said = [_no(results, attack), *_by_luck(results)]
    return " ".join(said)


def _yes(attack: AttackResult) -> list[str]:
    """Graded by what the interval supports, and in people: how many are found, and how many more than by guessing."""
    shown = [rate for rate in attack.rates if rate.beats_guessing]
    few = [rate for rate in shown if rate.fpr <= FEW]
    if few:
        rate = next((rate for rate in few if rate.resolution == "good"), few[-1])
        said = [_grade(rate.tpr.low, SINGLED_OUT), _found(attack, rate)]
        over_all = "Over all members together it is not shown to beat guessing: it singles some out."
        return said if attack.ranks_above else [*said, over_all]
    said = [_grade(attack.auc.low - CHANCE if attack.ranks_above else 0.0, ON_AVERAGE)]
    said += [_pairs(attack)] if attack.ranks_above else []
    said += [_found(attack, shown[0])] if shown else []
    return [*said, _not_few(attack)]


def _grade(least: float, grades: tuple[tuple[float, str], ...]) -> str:
    return next(said for above, said in grades if least >= above)


def _found(attack: AttackResult, rate: Rate) -> str:
    """How many members are found at a false positive rate, and how many fewer by guessing."""
    people = per(rate.tpr, beside=rate.fpr)
    low, high = ends(rate.tpr, people)
    found = f"{count(round(rate.tpr.value * people))} (between {count(low)} and {count(high)})"
    of_others = f"{rate.fpr * people:.4g}"
    fewer = math.floor(low - rate.fpr * people + ROUNDING)
    least = f", at least {count(fewer)} fewer" if fewer > 0 else ""
    return (
        f"Of {count(people)} members the attack {attack.name} finds {found}, while it is wrong about {of_others} of "
        f"{count(people)} others; guessing would find {of_others}{least}."
    )


def _pairs(attack: AttackResult) -> str:
    people = per(attack.auc)
    more = math.floor(ends(attack.auc, people)[0] - CHANCE * people + ROUNDING)
    least = f": at least {count(more)} more" if more > 0 else ""
    return f"Shown one member and one other, the attack {attack.name} {picks(attack)}{least}."


def _not_few(attack: AttackResult) -> str:
    few = [rate for rate in attack.rates if rate.fpr <= FEW]
    said = "It is not shown to single anyone out with few false alarms"
    if few and all(rate.resolution != "good" for rate in few):
        return f"{said}, and with this many non-members that could hardly be seen."
    return f"{said}."


def _no(results: Results, attack: AttackResult) -> str:
    many = len(results.outcomes or ())
    none = (
        "The one attack that was run does not tell"
        if many == 1
        else f"None of the {count(many)} attacks that were run tells"
    )
    better = f"{none} members from non-members better than guessing"
    return f"Not shown. {better}. That does not mean that nobody can: {_unseen(attack)}."


def _by_luck(results: Results) -> list[str]:
    """Which attacks have an interval beyond guessing that does not pay for all that was looked at."""
    apart = [outcome.name for outcome in results.outcomes or () if outcome.apart]
    if not apart:
        return []
    who = f"{apart[0]} has" if len(apart) == 1 else f"{count(len(apart))} attacks have"
    many = f"among {words.things(len(results.outcomes or ()), 'attack')} with several figures each that may be luck"
    return [f"{who} a 95% interval beyond guessing, but {many}."]


def _unseen(attack: AttackResult) -> str:
    auc = attack.detectable_auc
    if math.isnan(auc) or auc >= 1:
        return "with so few records even a large leak would go unseen"
    return f"with this many records a leak below an AUC of {decimal(auc)} may well go unseen"


def _reversed(results: Results, attack: AttackResult) -> list[str]:
    found = results.check("GL112")
    return [
        f"Unclear. The attack {attack.name} ranks members below non-members, with AUC {with_interval(attack.auc)}, and chance "
        f"does not explain it. {checks.turned(found.figures if found else {})}"
    ]


def _others(results: Results) -> list[str]:
    """What the attacks beside the headline found, and why that is weaker evidence."""
    found = successes(results)
    if not found:
        return []
    best = max(found, key=lambda outcome: outcome.auc.low)
    many = f"{len(found)} attacks beat guessing, most clearly {best.name}"
    who = f"{best.name} beats guessing" if len(found) == 1 else many
    return [f"{who}: {_evidence(best)}.", _how_sure(best, results)]


def _how_sure(outcome: AttackResult, results: Results) -> str:
    """Whether the number of attacks has been paid for."""
    many = words.things(len(results.outcomes or ()), "attack")
    confirm = "confirm it on other records with that attack alone"
    if outcome.p_value is None:
        return f"As {many} were run, one may do so by luck: {confirm}."
    return f"That is more than luck gives the best of {many}; to be surer still, {confirm}."


def _stronger(results: Results, attack: AttackResult) -> list[str]:
    """Which attack does clearly better than the headline, if one is shown to: over all, or with few false alarms."""
    said = []
    better = [outcome for outcome in successes(results) if outcome.ranks_above and _beyond(outcome, attack)]
    if better:
        best = max(better, key=lambda outcome: outcome.auc.low)
        better_still = f"does better still: AUC {with_interval(best.auc)}, against {with_interval(attack.auc)}"
        said.append(f"{best.name}{_by_whom(best)} {better_still}.")
    more = [(rate, outcome) for outcome in successes(results) for rate in _more_found(outcome, attack)]
    if more:
        rate, best = max(more, key=lambda both: both[0].tpr.low)
        own = next(one.tpr for one in attack.rates if one.fpr == rate.fpr)
        finds = f"finds {percent(rate.tpr.value)} of the members ({interval(rate.tpr, percent)})"
        beside = f"at {percent(rate.fpr)} false alarms, where {attack.name} finds {percent(own.value)}"
        said.append(f"{best.name}{_by_whom(best)} {finds} {beside}.")
    return said


def _more_found(outcome: AttackResult, attack: AttackResult) -> list[Rate]:
    """The few false alarms at which an attack finds clearly more than another: their intervals lie apart."""
    own = {rate.fpr: rate.tpr.high for rate in attack.rates if not math.isnan(rate.tpr.value)}
    return [
        rate
        for rate in outcome.rates
        if rate.fpr <= FEW and rate.beats_guessing and rate.tpr.low > own.get(rate.fpr, math.inf)
    ]


def _beyond(outcome: AttackResult, attack: AttackResult) -> bool:
    gain = outcome.beyond_headline  # None: results of earlier versions did not compare the two
    return outcome.auc.low > attack.auc.high if gain is None else gain.low > 0


def _by_whom(outcome: AttackResult) -> str:
    """Who can run an attack that takes more than answers."""
    return f", run by someone who {outcome.who}," if outcome.who else ""


def _evidence(outcome: AttackResult) -> str:
    if outcome.ranks_above:
        return f"AUC {with_interval(outcome.auc)}"
    rate = next(rate for rate in outcome.rates if rate.beats_guessing)
    found = f"{percent(rate.tpr.value)} of the members ({interval(rate.tpr, percent)})"
    return f"at {percent(rate.fpr)} false alarms it finds {found}"
