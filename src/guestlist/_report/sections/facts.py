"""Sections with facts: attacker and provenance, limits, diagnostics, the gate and terms."""

import math

from guestlist._findings import AttackResult, Rate, Results, Sampling, Subject
from guestlist._report import (
    RULE_NOTE,
    RULES,
    Section,
    attacker_phrase,
    diagnostics,
    fill_template,
    gate,
    privacy_guarantee,
    wording,
)
from guestlist._util import compact, count, decimal, percent
from guestlist.evidence import MODEL_FILE, QUERIES
from guestlist.metrics import records_needed


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
            f"The headline attack was selected on a random sample of {count(sampling.attack_sample)} of "
            f"{count(sampling.records)} records. The attacks on this model are evaluated on all records."
        )
    if sampling.cyclic_shifts:
        sentences.append(
            "With this many records, the permutation test shifts membership along a random order instead of permuting it "
            "freely; its p-values remain valid."
        )
    if sampling.classes_fitted_on is not None:
        sentences.append(
            "Thresholds and ranks per class were estimated from a random sample of at most "
            f"{count(sampling.classes_fitted_on)} records."
        )
    if sampling.mu_fitted_on is not None:
        sentences.append(
            f"The distribution of mu was estimated from a random sample of {count(sampling.mu_fitted_on)} records."
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


LEARNS = "Whether a person's record was in the training set."
DOES_NOT_LEARN = "The content of the record. Attacks that infer attributes or reconstruct records were not tested."
ACCESS = {
    QUERIES: "Queries to the model for the record in question, with its label.",
    MODEL_FILE: "The model file itself.",
}


def facts_section(results: Results) -> Section:
    """Render the attacker, their inputs and knowledge, and the basis of the audit."""
    body = fill_template("facts.html", facts=audit_facts(results), provenance=provenance_facts(results))
    return Section("facts", "Audit facts", body)


def audit_facts(results: Results) -> dict[str, str]:
    """Return the facts box, a short text by heading."""
    attack = wording.headline_attack(results)
    second = wording.file_holder_attack(results)
    attackers = [wording.QUERIER]
    access = [ACCESS[QUERIES]]
    if second is not None:
        attackers.append(wording.FILE_HOLDER)
        access.append(ACCESS[MODEL_FILE])
    facts = {
        "Attacker": "; ".join(attackers),
        "Access": " ".join(access),
        "Learns": LEARNS,
        "Does not learn": DOES_NOT_LEARN,
        "Attack": wording.only_if(attack, wording.attack_title(attack) if attack else ""),
        "Data": wording.basis_sentence(results),
        "Model": wording.fit_sentence(results),
    }
    return {heading: text for heading, text in facts.items() if text}


def provenance_facts(results: Results) -> dict[str, str]:
    """Return the inputs that determine the numbers, a text by heading."""
    subject = results.subject
    references = results.references
    training = results.training
    provenance = results.provenance
    facts = {"Model": wording.model_name(results)}
    if subject is not None:
        facts["Task"] = "regression"
        if subject.classes:
            facts["Task"] = f"{count(subject.classes)} classes"
        if subject.population:
            facts["Population"] = f"{count(subject.population)} records for reference models only"
    if references is not None:
        facts["References"] = f"inclusion probability {compact(references.rate)}, seed {references.seed}"
    if training is not None:
        details = (training.recipe, attacker_phrase(training), privacy_guarantee(training))
        facts["Training"] = "; ".join(text for text in details if text)
    if provenance is not None:
        facts |= {name.capitalize(): value for name, value in sorted(provenance.fingerprints.items()) if name != "seed"}
        facts["Versions"] = ", ".join(f"{name} {value}" for name, value in sorted(provenance.versions.items()))
        facts["Date"] = provenance.date
    if results.gate is not None and results.gate.sha256 is not None:
        facts["Policy"] = results.gate.sha256
    facts["Format"] = f"results.json, format {results.format}"
    return {heading: text for heading, text in facts.items() if text}


def reading_section(results: Results) -> Section:
    """Render the definitions of the terms and the rules of severity."""
    body = fill_template("reading.html", rules=RULES, note=RULE_NOTE)
    return Section("reading", "Terms", body, appendix=True)


UNTESTED_TEXTS = {
    "references": "Attacks that compare the target with reference models, which usually identify more records.",
    "parameters": "White-box attacks on gradients and activations.",
    "labels_only": "Attackers who see only the predicted labels.",
    "sources": "Whether members and non-members differ without the model.",
    "other_leakage": "Other types of leakage: reconstruction, attribute inference, memorised text or images.",
    "logits": "Outputs beyond probabilities (logits).",
}


def limits_section(results: Results) -> Section | None:
    """Render the untested topics and the detection limits; None if neither is known."""
    untested = untested_sentences(results)
    limits = detection_limits(results)
    if not untested and not limits:
        return None
    body = fill_template("limits.html", untested=untested, limits=limits, lower_bound=wording.LOWER_BOUND)
    return Section("limits", "Limits", body)


def untested_sentences(results: Results) -> tuple[str, ...]:
    """Return a sentence for each untested topic; an unknown code is returned unchanged."""
    return tuple(UNTESTED_TEXTS.get(code, code) for code in results.untested or ())


def diagnostics_section(results: Results) -> Section | None:
    """Render the diagnostics, those that change the verdict first; None without diagnostics."""
    if not results.checks:
        return None
    caveats = diagnostics.caveats(results)
    by_state: dict[str, list[diagnostics.CheckLine]] = {}
    for row in diagnostics.collapsed(results):
        by_state.setdefault(row.state, []).append(row)
    body = fill_template(
        "checks.html",
        issues=(*caveats, *diagnostics.elsewhere(results)),
        caveats=[row.code for row in caveats],
        collapsed=by_state,
    )
    return Section("checks", "Diagnostics", body)


def gate_section(results: Results) -> Section | None:
    """Render the result of the gate; None without one."""
    gated = results.gate
    if gated is None:
        return None
    body = fill_template("gate.html", sentences=gate.gate_texts(gated), basis=gate.policy_sentence(gated))
    return Section("gate", gate.gate_title(gated), body)
