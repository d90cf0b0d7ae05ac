"""The verdict: the answer to the audit's question in one to four sentences."""

import math

from guestlist._diagnostics.attacks import reversed_cause
from guestlist._findings import CHANCE, AttackResult, Rate, Results
from guestlist._report import LOW_FPR, baseline_verdict, identifying_rate, wording
from guestlist._util import count, decimal, interval, interval_in_people, people_base, percent, with_interval

# First sentences of the verdict, by the lower limit of the TPR at a low FPR.
IDENTIFIED = (
    (0.5, "Yes, most training records can be identified."),
    (0.1, "Yes, many training records can be identified."),
    (0.0, "Yes, some training records can be identified."),
)
# First sentences if no single records are identified, by the difference of the AUC from chance. The grade is uncertain
# if the two limits of the interval have different grades.
ON_AVERAGE = (
    (0.1, "Yes, on average."),
    (-1.0, "Yes, but only slightly."),
)
UNCERTAIN = "Yes, but how much is uncertain."


def other_successes(results: Results) -> tuple[AttackResult, ...]:
    """Return the attacks outside the headline rows with evidence that they beat guessing."""
    rows = wording.headline_names(results)
    return tuple(attack for attack in results.outcomes or () if attack.name not in rows and attack.beats_guessing)


def verdict_texts(results: Results) -> tuple[str, ...]:
    """Return the verdict; with an attack on the model file, one for each of the two attackers."""
    second = wording.file_holder_attack(results)
    if second is None:
        return (verdict_text(results),)
    return (
        f"{wording.QUERIER}: {verdict_text(results)}",
        f"{wording.FILE_HOLDER}: {wording.paragraph(*file_holder_sentences(results, second))}",
    )


def file_holder_sentences(results: Results, attack: AttackResult) -> list[str]:
    """Return the verdict for someone who holds the model file; the first sentence is the short answer."""
    if math.isnan(attack.auc.value):
        return ["Not measured.", _no_score(attack)]
    if results.baseline is not None and results.baseline.significant:
        return [
            "Unclear.",
            f"The attack has AUC {with_interval(attack.auc)}, which cannot be attributed to the model alone, since members and "
            "non-members differ without it.",
        ]
    if attack.beats_guessing:
        return _graded_leak(attack)
    return [
        "No evidence that the file reveals more.",
        f"The attack {attack.name} does not distinguish members from non-members better than guessing "
        f"(AUC {with_interval(attack.auc)}).",
    ]


def verdict_text(results: Results) -> str:
    """Return the verdict for someone who can query the model as one paragraph."""
    return wording.paragraph(*verdict_sentences(results))


def verdict_sentences(results: Results) -> list[str]:
    """Return the verdict for someone who can query the model; the first sentence is the short answer."""
    attack = wording.headline_attack(results)
    if attack is None:
        return [
            "Not measured.",
            "The results name no attack that the answer could rest on.",
            *_other_attacks(results),
        ]
    if results.baseline is not None and results.baseline.significant:
        return baseline_verdict(results, results.baseline, attack)
    if math.isnan(attack.auc.value):
        return ["Not measured.", _no_score(attack), *_other_attacks(results)]
    if attack.beats_guessing:
        return [*_graded_leak(attack), *_stronger(results, attack)]
    if attack.ranks_below:
        return [*_reversed(results, attack), *_other_attacks(results)]
    if other_successes(results):
        return [
            "There are signs that they can.",
            f"The headline attack, {attack.name}, is not significantly better than guessing, but another attack is.",
            *_other_attacks(results),
        ]
    return [*_no_evidence(results, attack), *_uncorrected_only(results)]


def _no_score(attack: AttackResult) -> str:
    return f"The attack {attack.name} gave no score by which members and non-members could be compared."


def _graded_leak(attack: AttackResult) -> list[str]:
    """Grade the leak by the limits of the intervals, and report it in numbers of people."""
    rate = identifying_rate(attack)
    if rate is not None:
        sentences = [_grade(rate.tpr.low, IDENTIFIED), _identified(rate), _smallest_rate(rate)]
        if not attack.ranks_above:
            sentences.append("Over all members the attack is not significantly better than guessing.")
        return [sentence for sentence in sentences if sentence]
    sentences = [_graded_on_average(attack)]
    if attack.ranks_above:
        sentences.append(_pairs(attack))
    beaten = [rate for rate in attack.rates if rate.beats_guessing]
    if beaten:
        sentences.append(_identified(beaten[0]))
    return [*sentences, _not_identified(attack)]


def _grade(least: float, grades: tuple[tuple[float, str], ...]) -> str:
    return next(text for above, text in grades if least >= above)


def _graded_on_average(attack: AttackResult) -> str:
    if not attack.ranks_above:
        return _grade(0.0, ON_AVERAGE)
    low = _grade(attack.auc.low - CHANCE, ON_AVERAGE)
    estimated = _grade(attack.auc.value - CHANCE, ON_AVERAGE)
    if low == estimated:
        return low
    return UNCERTAIN


def _identified(rate: Rate) -> str:
    """Report identified members, wrongly flagged non-members and the result of guessing."""
    people = people_base(rate.tpr, guess=rate.fpr)
    low, high = interval_in_people(rate.tpr, people)
    guessing = f"{rate.fpr * people:.4g}"
    return (
        f"An attacker identifies about {count(round(rate.tpr.value * people))} in {count(people)} training records "
        f"(95% CI {count(low)} to {count(high)}) while wrongly flagging {guessing} in {count(people)} others. "
        f"Guessing would identify {guessing}."
    )


def _smallest_rate(rate: Rate) -> str:
    return wording.only_if(
        rate.fpr > LOW_FPR, "The audit has too few non-members to support a lower rate of wrong flags."
    )


def _pairs(attack: AttackResult) -> str:
    return f"Given one training record and one other record, an attacker {pair_result(attack)}."


def pair_result(attack: AttackResult) -> str:
    """Report how often the attack picks the member of a pair."""
    people = people_base(attack.auc)
    low, high = (count(end) for end in interval_in_people(attack.auc, people))
    times = f"{count(round(attack.auc.value * people))} times in {count(people)}"
    return f"picks the training record {times} (95% CI {low} to {high}; guessing: {count(people / 2)})"


def _not_identified(attack: AttackResult) -> str:
    few = [rate for rate in attack.rates if rate.fpr <= LOW_FPR]
    text = f"There is no evidence that it identifies single records at a false positive rate of {percent(LOW_FPR)}"
    if few and all(math.isnan(rate.detectable) for rate in few):
        return f"{text}, and the audit has too few non-members to show that."
    return f"{text}."


def _no_evidence(results: Results, attack: AttackResult) -> list[str]:
    n_attacks = len(results.outcomes or ())
    subject = wording.plural(
        n_attacks,
        "The one attack that was run does not distinguish",
        f"None of the {count(n_attacks)} attacks distinguishes",
    )
    return [
        "No evidence that they can.",
        f"{subject} training records from others better than guessing.",
        _power_sentence(attack),
    ]


def _uncorrected_only(results: Results) -> list[str]:
    """Name the attacks whose interval excludes guessing only before the correction for multiple testing."""
    names = [outcome.name for outcome in results.outcomes or () if outcome.interval_excludes_chance]
    if not names:
        return []
    attacks = wording.plural(len(names), f"{names[0]} has", f"{count(len(names))} attacks have")
    n_attacks = wording.counted(len(results.outcomes or ()), "attack")
    return [f"{attacks} a 95% interval that excludes guessing, but not after correction for {n_attacks}."]


def _power_sentence(attack: AttackResult) -> str:
    auc = attack.detectable_auc
    if math.isnan(auc) or auc >= 1:
        return "With this few records the audit may miss even a large leak."
    return f"The audit has 80% power to detect an AUC of {decimal(auc)}; it may miss smaller leaks."


def _reversed(results: Results, attack: AttackResult) -> list[str]:
    check = results.check("GL112")
    return [
        "Unclear.",
        f"The attack {attack.name} ranks members below non-members (AUC {with_interval(attack.auc)}), and chance does not "
        "explain it.",
        reversed_cause(check.values if check else {}),
    ]


def _other_attacks(results: Results) -> list[str]:
    """Report the successes of attacks other than the headline, and why they are weaker evidence."""
    attacks = other_successes(results)
    if not attacks:
        return []
    best = max(attacks, key=lambda outcome: outcome.auc.low)
    subject = wording.plural(
        len(attacks), f"{best.name} beats guessing", f"{len(attacks)} attacks beat guessing, most clearly {best.name}"
    )
    return [f"{subject}: {_evidence(best)}.", _multiple_testing_sentence(best, results)]


def _multiple_testing_sentence(outcome: AttackResult, results: Results) -> str:
    """Report whether the number of attacks was corrected for."""
    attacks = wording.counted(len(results.outcomes or ()), "attack")
    confirm = "Confirm it on other records with that attack only."
    if outcome.p_value is None:
        return f"With {attacks}, one may do so by chance. {confirm}"
    return f"This is significant after correction for {attacks}. {confirm}"


def _stronger(results: Results, attack: AttackResult) -> list[str]:
    """Name the attacks that are significantly better than the headline, overall or at a low FPR."""
    sentences = []
    better = [outcome for outcome in other_successes(results) if outcome.ranks_above and _is_better(outcome, attack)]
    if better:
        best = max(better, key=lambda outcome: outcome.auc.low)
        better_still = f"does better: AUC {with_interval(best.auc)}, compared with {with_interval(attack.auc)}"
        sentences.append(f"{best.name}{_attacker_clause(best)} {better_still}.")
    higher = [(rate, outcome) for outcome in other_successes(results) for rate in _higher_rates(outcome, attack)]
    if higher:
        rate, best = max(higher, key=lambda pair: pair[0].tpr.low)
        headline_tpr = next(other.tpr for other in attack.rates if other.fpr == rate.fpr)
        identifies = f"identifies {percent(rate.tpr.value)} of the members ({interval(rate.tpr, percent)})"
        compared = f"at an FPR of {percent(rate.fpr)}, where {attack.name} identifies {percent(headline_tpr.value)}"
        sentences.append(f"{best.name}{_attacker_clause(best)} {identifies} {compared}.")
    return sentences


def _higher_rates(outcome: AttackResult, attack: AttackResult) -> list[Rate]:
    """Return the low FPRs at which an attack's TPR interval is above that of another attack."""
    headline_high = {rate.fpr: rate.tpr.high for rate in attack.rates if not math.isnan(rate.tpr.value)}
    return [
        rate
        for rate in outcome.rates
        if rate.fpr <= LOW_FPR and rate.beats_guessing and rate.tpr.low > headline_high.get(rate.fpr, math.inf)
    ]


def _is_better(outcome: AttackResult, attack: AttackResult) -> bool:
    gain = outcome.beyond_headline
    if gain is None:  # results of earlier versions did not compare the two
        return outcome.auc.low > attack.auc.high
    return gain.low > 0


def _attacker_clause(outcome: AttackResult) -> str:
    """Describe the attacker if the attack needs more than outputs."""
    return wording.only_if(outcome.attacker_needs, f", run by someone who {outcome.attacker_needs},")


def _evidence(outcome: AttackResult) -> str:
    if outcome.ranks_above:
        return f"AUC {with_interval(outcome.auc)}"
    rate = next(rate for rate in outcome.rates if rate.beats_guessing)
    identified = f"{percent(rate.tpr.value)} of the members ({interval(rate.tpr, percent)})"
    return f"at an FPR of {percent(rate.fpr)} it identifies {identified}"
