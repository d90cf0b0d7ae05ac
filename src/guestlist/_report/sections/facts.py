"""Sections with facts: provenance, how to read the page, untested parts, diagnostics and the gate."""

import math

from guestlist._findings.attacks import AttackResult, Rate
from guestlist._findings.facts import Subject
from guestlist._findings.headline import Sampling
from guestlist._findings.results import Results
from guestlist._report import diagnostics, gate, wording
from guestlist._report.templates import Section, fill_template
from guestlist._report.wording import attacker_phrase, privacy_guarantee
from guestlist._util import count, decimal, percent
from guestlist.metrics import records_needed


def section(results: Results) -> Section | None:
    """Render the detection limits; None without a headline attack."""
    sentences = detection_limits(results)
    if not sentences:
        return None
    return Section("limits", "Detection limits", fill_template("limits.html", sentences=sentences))


def detection_limits(results: Results) -> tuple[str, ...]:
    """Return the detection limits, a sentence for each."""
    attack = wording.headline_attack(results)
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
            "With this many records, the permutation test shifts membership along a random order instead of permuting it "
            "freely; its p-values remain valid."
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
        sentences.append("The outputs for this many records are stored in single precision (about seven digits).")
    return tuple(sentences)


def _detectable_auc(attack: AttackResult, subject: Subject) -> str:
    sizes = f"With {wording.sizes_phrase(subject)}"
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
        parts.append(f"It has 80% power to detect {wording.and_joined(powered)}.")
    if unsupported:
        parts.append(
            f"At an FPR of {wording.and_joined(unsupported)} it cannot distinguish even an attack that identifies every member "
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
    sample = wording.counted(n_nonmembers, unit)
    remedy = f"Use at least {count(records_needed(rate.fpr))} {unit}s."
    if rate.resolution == "withheld":
        return f"No estimate at an FPR of {percent(rate.fpr)}: {sample} give less than one expected false positive. {remedy}"
    expected = f"about {rate.fpr * n_nonmembers:.2g} false positives among {sample}"
    return f"The estimate at an FPR of {percent(rate.fpr)} is imprecise: it rests on {expected}. {remedy}"


def provenance_section(results: Results) -> Section:
    """Render the provenance of the results."""
    body = fill_template(
        "provenance.html",
        name=wording.model_name(results),
        who=results.subject,
        references=results.references,
        training=results.training,
        attacker=attacker_phrase(results.training),
        promise=privacy_guarantee(results.training),
        provenance=results.provenance,
        format=results.format,
    )
    return Section("provenance", "Provenance", body)


def reading_section(results: Results) -> Section:
    """Render the explanation."""
    return Section("reading", "How to read this", fill_template("reading.html"))


UNTESTED_TEXTS = {
    "references": "Attacks that compare the target with reference models, which find far more; they need the model and its "
    "records.",
    "parameters": "Attackers who see the model's parameters.",
    "labels_only": "Attackers who see nothing but its labels.",
    "sources": "Whether members and non-members are different kinds of records: if they do not come from one source, an "
    "attack may tell them apart without the model.",
    "other_leakage": "Other forms of leakage: reconstructing records, inferring attributes, text or images learnt by heart.",
    "logits": "What the model says beyond its probabilities (logits).",
}


def untested_section(results: Results) -> Section | None:
    """Render the list of untested topics; None where it is empty."""
    sentences = untested_sentences(results)
    if not sentences:
        return None
    return Section("untested", "What was not tested", fill_template("untested.html", sentences=sentences))


def untested_sentences(results: Results) -> tuple[str, ...]:
    """Return a sentence for each untested topic; an unknown code is returned as it is."""
    return tuple(UNTESTED_TEXTS.get(code, code) for code in results.untested or ())


def diagnostics_section(results: Results) -> Section | None:
    """Render the checks; None without checks."""
    if not results.checks:
        return None
    body = fill_template(
        "checks.html",
        listed=diagnostics.elsewhere(results),
        caveats=[row.code for row in diagnostics.caveats(results)],
        collapsed=diagnostics.collapsed(results),
    )
    return Section("checks", "Checks", body)


def gate_section(results: Results) -> Section | None:
    """Render the result of the gate; None without one."""
    gated = results.gate
    if gated is None:
        return None
    body = fill_template("gate.html", sentences=gate.gate_texts(gated), basis=gate.policy_sentence(gated))
    return Section("gate", gate.gate_title(gated), body)
