"""Detection limits: what could have been detected with this number of records."""

from __future__ import annotations

import math

from guestlist.evaluate import records_needed
from guestlist.findings.attacks import AttackResult, Rate
from guestlist.findings.results import Results
from guestlist.findings.sampling import Sampling
from guestlist.findings.subject import Subject
from guestlist.report import words
from guestlist.report.format import count, decimal, percent
from guestlist.report.section import Section, fill_template


def section(results: Results) -> Section | None:
    """Render the detection limits; None without a headline attack."""
    sentences = detection_limits(results)
    if not sentences:
        return None
    return Section("limits", "Detection limits", fill_template("limits.html", said=sentences))


def detection_limits(results: Results) -> tuple[str, ...]:
    """Return the detection limits, a sentence for each."""
    attack = words.headline_attack(results)
    subject = results.subject
    if attack is None or subject is None:
        return ()
    resolved = tuple(rate for rate in attack.rates if rate.resolution != "withheld")
    imprecise = (_resolution(rate, subject) for rate in attack.rates)
    sentences = (
        _detectable_auc(attack, subject),
        _detectable_rates(resolved),
        *imprecise,
        *sampling_sentences(results.sampling),
    )
    return tuple(sentence for sentence in sentences if sentence)


def sampling_sentences(sampling: Sampling | None) -> tuple[str, ...]:
    """Report which steps used a sample of the records or an approximation."""
    if sampling is None:
        return ()
    sentences = []
    if sampling.attack_sample is not None:
        sentences.append(
            f"Of {count(sampling.records)} records a random sample of {count(sampling.attack_sample)} decided which attack is "
            "the headline and how other models of the recipe do. The attacks on this model itself are judged on all records."
        )
    if sampling.cyclic_shifts:
        sentences.append(
            "With so many records, chance was judged by shifting the sides along them in a random order, not by dealing them out "
            "anew; the p-values keep their promise all the same."
        )
    if sampling.classes_fitted_on is not None:
        sentences.append(
            "What is common to many records, such as the threshold that tells the members of a class best, was learnt from what "
            f"references say about {count(sampling.classes_fitted_on)} of them or fewer, drawn at random."
        )
    if sampling.mu_fitted_on is not None:
        sentences.append(
            f"How mu is spread over records was learnt from a random sample of {count(sampling.mu_fitted_on)} of them."
        )
    if sampling.single_precision:
        sentences.append("What models say about so many records was kept in single precision: about seven digits.")
    return tuple(sentences)


def _detectable_auc(attack: AttackResult, subject: Subject) -> str:
    sizes = f"With {words.sizes_phrase(subject)}"
    if math.isnan(attack.detectable_auc) or attack.detectable_auc >= 1:
        return f"{sizes}, the audit cannot reliably distinguish any AUC from guessing."
    power = f"{sizes}, the audit has 80% power to detect an AUC of {decimal(attack.detectable_auc)}"
    if attack.ranks_above and attack.auc.value < attack.detectable_auc:
        return f"{power}. The AUC found here is smaller: most audits of this size would miss it."
    return f"{power}; it detects smaller leaks less often."


def _detectable_rates(rates: tuple[Rate, ...]) -> str:
    powered = [
        f"a TPR of {percent(rate.detectable)} at an FPR of {percent(rate.fpr)}"
        for rate in rates
        if not math.isnan(rate.detectable)
    ]
    unsupported = [percent(rate.fpr) for rate in rates if math.isnan(rate.detectable)]
    parts = []
    if powered:
        parts.append(f"It has 80% power to detect {words.and_joined(powered)}.")
    if unsupported:
        parts.append(
            f"At an FPR of {words.and_joined(unsupported)} it cannot distinguish even an attack that identifies every member "
            "from guessing."
        )
    return " ".join(parts)


def _resolution(rate: Rate, subject: Subject) -> str:
    """Explain why a rate is withheld or imprecise, and what would help; empty where it is precise."""
    if rate.resolution == "good":
        return ""
    unit = "non-member"
    n_nonmembers = subject.nonmembers
    if subject.nonmember_persons is not None:  # all records of one person are often flagged together
        unit = "non-member person"
        n_nonmembers = subject.nonmember_persons
    sample = words.counted(n_nonmembers, unit)
    remedy = f"Use at least {count(records_needed(rate.fpr))} {unit}s."
    if rate.resolution == "withheld":
        return f"No estimate at an FPR of {percent(rate.fpr)}: {sample} give less than one expected false positive. {remedy}"
    expected = f"about {rate.fpr * n_nonmembers:.2g} false positives among {sample}"
    return f"The estimate at an FPR of {percent(rate.fpr)} is imprecise: it rests on {expected}. {remedy}"
