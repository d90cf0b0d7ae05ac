"""The answer to the question, in one to four sentences."""

from __future__ import annotations

import math

from guestlist.findings.attacks import AttackResult
from guestlist.findings.results import Results
from guestlist.report import words
from guestlist.report.format import count, decimal, interval, percent, with_interval
from guestlist.report.section import Section, filled
from guestlist.report.sections.blind import unclear
from guestlist.report.sections.groups import exposed_group
from guestlist.report.sections.headline import in_people, picks

FEW = 0.01  # up to this false positive rate an attack is said to single people out


def section(results: Results) -> Section:
    body = filled(
        "answer.html",
        answer=answer(results),
        basis=words.basis(results),
        lower_bound=words.LOWER_BOUND,
        group=exposed_group(results),
    )
    return Section("question", words.question(results), body, look="answer")


def successes(results: Results) -> tuple[AttackResult, ...]:
    """The attacks, the headline aside, that are shown to beat guessing."""
    first = results.headline.name if results.headline else ""
    return tuple(found for found in results.outcomes or () if found.name != first and found.beats_guessing)


def answer(results: Results) -> str:
    """The answer to the question, in one to four sentences."""
    attack = words.headline(results)
    if attack is None:
        return " ".join(["Not measured. The results name no attack that the answer could rest on.", *_others(results)])
    if results.blind is not None and results.blind.told:
        return unclear(results, results.blind, attack)
    if math.isnan(attack.auc.value):
        nothing = "gave no score by which members and non-members could be compared"
        said = [f"Not measured. The attack {attack.name} {nothing}.", *_others(results)]
    elif attack.beats_guessing:
        said = [*_yes(attack), *_stronger(results, attack)]
    elif attack.ranks_below:
        said = [*_reversed(attack), *_others(results)]
    elif successes(results):
        not_this = f"The headline attack, {attack.name}, is not shown to beat guessing, but another is."
        said = ["There are signs of it.", not_this, *_others(results)]
    else:
        said = [_no(results, attack), *_by_luck(results)]
    return " ".join(said)


def _yes(attack: AttackResult) -> list[str]:
    shown = [rate for rate in attack.rates if rate.beats_guessing]
    if not attack.ranks_above:
        over_all = f"Over all records the attack {attack.name} is not shown to beat guessing"
        return [f"Yes, for some. {over_all}, but it singles some out.", in_people(shown[0])]
    better = f"Yes. The attack {attack.name} tells members from non-members better than guessing"
    lead = f"{better}: shown one of each, it {picks(attack)}."
    few = [rate for rate in shown if rate.fpr <= FEW]
    if not few:
        return [lead, "It is not shown to single anyone out with few false alarms."]
    return [lead, in_people(next((rate for rate in few if rate.resolution == "good"), few[-1]))]


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
    """Which attack ranks members clearly better than the headline does, if one is shown to."""
    overall = attack.auc
    better = [outcome for outcome in successes(results) if outcome.ranks_above and _beyond(outcome, attack)]
    if not better:
        return []
    best = max(better, key=lambda outcome: outcome.auc.low)
    better_still = f"does better still: AUC {with_interval(best.auc)}, against {with_interval(overall)}"
    return [f"{best.name}{_by_whom(best)} {better_still}."]


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
