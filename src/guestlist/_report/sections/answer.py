"""The verdict: the answer to the audit's question in one to four sentences."""

import math

from guestlist._diagnostics.attacks import reversed_cause
from guestlist._findings.attacks import CHANCE, AttackResult, Rate
from guestlist._findings.results import Results
from guestlist._report import diagnostics, wording
from guestlist._report.next_steps import next_steps
from guestlist._report.sections.baseline import verdict_with_baseline
from guestlist._report.sections.groups import exposed_group_sentence, file_holder_group_sentence, small_groups_note
from guestlist._report.sections.headline import pair_result
from guestlist._report.templates import Section, fill_template
from guestlist._util import count, decimal, interval, interval_in_people, people_base, percent, with_interval

LOW_FPR = 0.01  # up to this FPR an attack identifies single records
# With too few non-members to support that rate, an attack identifies records at the next rate if it flags far more members.
FAR_ABOVE = 5  # times the FPR
# How the answer begins, by the lower limit of the TPR at a low FPR.
IDENTIFIED = (
    (0.5, "Yes, most training records can be identified."),
    (0.1, "Yes, many training records can be identified."),
    (0.0, "Yes, some training records can be identified."),
)
# And where no single records are identified: by how far the AUC is above chance. The grade is uncertain where the two
# limits of the interval have different grades.
ON_AVERAGE = (
    (0.1, "Yes, on average."),
    (-1.0, "Yes, but only slightly."),
)
UNCERTAIN = "Yes, but how much is uncertain."


def section(results: Results) -> Section:
    """Render the verdict with its basis, caveats and next steps."""
    body = fill_template(
        "answer.html",
        answers=verdict_texts(results),
        basis=wording.basis_sentence(results),
        lower_bound=wording.LOWER_BOUND,
        group=wording.paragraph(
            exposed_group_sentence(results), file_holder_group_sentence(results), small_groups_note(results)
        ),
        caveats=diagnostics.caveats(results),
        steps=next_steps(results),
    )
    return Section("question", wording.question(results), body, css_class="answer")


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
        f"{wording.FILE_HOLDER}: {file_holder_verdict(results, second)}",
    )


def file_holder_verdict(results: Results, attack: AttackResult) -> str:
    """Return the verdict for someone who holds the model file."""
    if math.isnan(attack.auc.value):
        return (
            f"Not measured. The attack {attack.name} gave no score by which members and non-members could be compared."
        )
    if results.baseline is not None and results.baseline.significant:
        return (
            f"Unclear. The attack {attack.name} has AUC {with_interval(attack.auc)}, which cannot be attributed to the model "
            "alone, since members and non-members differ without it."
        )
    if attack.beats_guessing:
        return " ".join(_graded_leak(attack))
    return (
        f"No evidence that the file reveals more. The attack {attack.name} does not distinguish members from non-members "
        f"better than guessing (AUC {with_interval(attack.auc)}). Someone who holds the file can also query the model."
    )


def verdict_text(results: Results) -> str:
    """Return the verdict for someone who can query the model, in one to four sentences."""
    attack = wording.headline_attack(results)
    if attack is None:
        return " ".join(
            ["Not measured. The results name no attack that the answer could rest on.", *_other_attacks(results)]
        )
    if results.baseline is not None and results.baseline.significant:
        return verdict_with_baseline(results, results.baseline, attack)
    if math.isnan(attack.auc.value):
        nothing = "gave no score by which members and non-members could be compared"
        sentences = [f"Not measured. The attack {attack.name} {nothing}.", *_other_attacks(results)]
    elif attack.beats_guessing:
        sentences = [*_graded_leak(attack), *_stronger(results, attack)]
    elif attack.ranks_below:
        sentences = [*_reversed(results, attack), *_other_attacks(results)]
    elif other_successes(results):
        not_this = f"The headline attack, {attack.name}, is not shown to beat guessing, but another is."
        sentences = ["There are signs of it.", not_this, *_other_attacks(results)]
    else:
        sentences = [_no_evidence(results, attack), *_uncorrected_only(results)]
    return " ".join(sentences)


def _graded_leak(attack: AttackResult) -> list[str]:
    """Grade the leak by what the intervals support, and state it in numbers of people."""
    beaten = [rate for rate in attack.rates if rate.beats_guessing]
    identifying = [rate for rate in beaten if rate.fpr <= LOW_FPR]
    if not identifying:
        identifying = [rate for rate in beaten if _far_above(rate, attack)]
    if identifying:
        rate = next((rate for rate in identifying if rate.resolution == "good"), identifying[-1])
        sentences = [_grade(rate.tpr.low, IDENTIFIED), _identified(attack, rate), _smallest_rate(rate)]
        if not attack.ranks_above:
            sentences.append("Over all members the attack is not significantly better than guessing.")
        return [sentence for sentence in sentences if sentence]
    sentences = [_graded_on_average(attack)]
    if attack.ranks_above:
        sentences.append(_pairs(attack))
    if beaten:
        sentences.append(_identified(attack, beaten[0]))
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


def _far_above(rate: Rate, attack: AttackResult) -> bool:
    """Test for identified records at the smallest FPR that the non-members support, if it is above ``LOW_FPR``."""
    supported = [other.fpr for other in attack.rates if not math.isnan(other.detectable)]
    return bool(supported) and LOW_FPR < rate.fpr == min(supported) and rate.tpr.low >= max(0.1, FAR_ABOVE * rate.fpr)


def _identified(attack: AttackResult, rate: Rate) -> str:
    """Report identified members, wrongly flagged non-members and the result of guessing."""
    people = people_base(rate.tpr, guess=rate.fpr)
    low, high = interval_in_people(rate.tpr, people)
    wrongly = f"{rate.fpr * people:.4g}"
    return (
        f"The attack {attack.name} identifies {count(round(rate.tpr.value * people))} in {count(people)} training records "
        f"(95% CI {count(low)} to {count(high)}) while wrongly flagging {wrongly} in {count(people)} other records. "
        f"Guessing would identify {wrongly} in {count(people)}."
    )


def _smallest_rate(rate: Rate) -> str:
    return wording.only_if(
        rate.fpr > LOW_FPR, "The audit has too few non-members to support a lower rate of wrong flags."
    )


def _pairs(attack: AttackResult) -> str:
    return f"Given one training record and one other record, the attack {attack.name} {pair_result(attack)}."


def _not_identified(attack: AttackResult) -> str:
    few = [rate for rate in attack.rates if rate.fpr <= LOW_FPR]
    text = f"There is no evidence that it identifies single records at a false positive rate of {percent(LOW_FPR)}"
    if few and all(math.isnan(rate.detectable) for rate in few):
        return f"{text}, and the audit has too few non-members to show that."
    return f"{text}."


def _no_evidence(results: Results, attack: AttackResult) -> str:
    n_attacks = len(results.outcomes or ())
    subject = wording.plural(
        n_attacks,
        "The one attack that was run does not distinguish",
        f"None of the {count(n_attacks)} attacks that were run distinguishes",
    )
    return f"No evidence. {subject} members from non-members better than guessing. {_power_sentence(attack)}"


def _uncorrected_only(results: Results) -> list[str]:
    """Name the attacks whose interval excludes guessing only before the correction for multiple testing."""
    names = [outcome.name for outcome in results.outcomes or () if outcome.interval_excludes_chance]
    if not names:
        return []
    attacks = wording.plural(len(names), f"{names[0]} has", f"{count(len(names))} attacks have")
    caveat = (
        f"among {wording.counted(len(results.outcomes or ()), 'attack')} with several figures each that may be luck"
    )
    return [f"{attacks} a 95% interval beyond guessing, but {caveat}."]


def _power_sentence(attack: AttackResult) -> str:
    auc = attack.detectable_auc
    if math.isnan(auc) or auc >= 1:
        return "With so few records even a large leak can go undetected."
    return f"The audit has 80% power to detect an AUC of {decimal(auc)}; a smaller leak can go undetected."


def _reversed(results: Results, attack: AttackResult) -> list[str]:
    check = results.check("GL112")
    return [
        f"Unclear. The attack {attack.name} ranks members below non-members, with AUC {with_interval(attack.auc)}, and chance "
        f"does not explain it. {reversed_cause(check.values if check else {})}"
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
    confirm = "confirm it on other records with that attack alone"
    if outcome.p_value is None:
        return f"As {attacks} were run, one may do so by luck: {confirm}."
    return f"That is more than luck gives the best of {attacks}; to be surer still, {confirm}."


def _stronger(results: Results, attack: AttackResult) -> list[str]:
    """Name the attacks that are significantly better than the headline, overall or at a low FPR."""
    sentences = []
    better = [outcome for outcome in other_successes(results) if outcome.ranks_above and _is_better(outcome, attack)]
    if better:
        best = max(better, key=lambda outcome: outcome.auc.low)
        better_still = f"does better still: AUC {with_interval(best.auc)}, against {with_interval(attack.auc)}"
        sentences.append(f"{best.name}{_attacker_clause(best)} {better_still}.")
    higher = [(rate, outcome) for outcome in other_successes(results) for rate in _higher_rates(outcome, attack)]
    if higher:
        rate, best = max(higher, key=lambda pair: pair[0].tpr.low)
        headline_tpr = next(other.tpr for other in attack.rates if other.fpr == rate.fpr)
        finds = f"finds {percent(rate.tpr.value)} of the members ({interval(rate.tpr, percent)})"
        compared = f"at {percent(rate.fpr)} false alarms, where {attack.name} finds {percent(headline_tpr.value)}"
        sentences.append(f"{best.name}{_attacker_clause(best)} {finds} {compared}.")
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
    return f"at {percent(rate.fpr)} false alarms it finds {identified}"
