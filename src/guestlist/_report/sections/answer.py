"""The verdict: the answer to the audit's question in one to four sentences."""

import math

from guestlist._diagnostics.attacks import reversed_cause
from guestlist._findings import AttackResult, Results
from guestlist._report import LOW_FPR, baseline_verdict, identifying_rate, sentences, wording


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
        f"{wording.FILE_HOLDER}: {' '.join(file_holder_sentences(results, second))}",
    )


def file_holder_sentences(results: Results, attack: AttackResult) -> list[str]:
    """Return the verdict for someone who holds the model file; the first sentence is the short answer."""
    return sentences("verdict.file_holder", results, attack, identifying_rate(attack), LOW_FPR)


def verdict_text(results: Results) -> str:
    """Return the verdict for someone who can query the model as one paragraph."""
    return " ".join(verdict_sentences(results))


def verdict_sentences(results: Results) -> list[str]:
    """Return the verdict for someone who can query the model; the first sentence is the short answer."""
    attack = wording.headline_attack(results)
    others = other_successes(results)
    rate = None
    better: list[AttackResult] = []
    higher = []
    if attack is not None:
        if results.baseline is not None and results.baseline.significant:
            return baseline_verdict(results, results.baseline, attack)
        rate = identifying_rate(attack)
        better = [outcome for outcome in others if outcome.ranks_above and _is_better(outcome, attack)]
        # Results withhold a rate as NaN, which no TPR is above.
        tpr_high = {rate.fpr: rate.tpr.high for rate in attack.rates if not math.isnan(rate.tpr.value)}
        higher = [
            (rate, outcome)
            for outcome in others
            for rate in outcome.rates
            if rate.fpr <= LOW_FPR and rate.beats_guessing and rate.tpr.low > tpr_high.get(rate.fpr, math.inf)
        ]
    return sentences(
        "verdict.querier",
        results,
        attack,
        rate=rate,
        low_fpr=LOW_FPR,
        others=others,
        better=max(better, key=lambda outcome: outcome.auc.low, default=None),
        higher=max(higher, key=lambda pair: pair[0].tpr.low, default=None),
        reversed_cause=reversed_cause,
    )


def _is_better(outcome: AttackResult, attack: AttackResult) -> bool:
    gain = outcome.beyond_headline
    if gain is None:  # results of earlier versions did not compare the two
        return outcome.auc.low > attack.auc.high
    return gain.low > 0
