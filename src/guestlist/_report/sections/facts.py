"""Sections with facts: attacker and provenance, limits, diagnostics, the gate and terms."""

from guestlist._findings import Results, Sampling
from guestlist._report import (
    RULE_NOTE,
    RULES,
    Section,
    diagnostics,
    fill_section,
    gate,
    prose,
    sentences,
    wording,
)
from guestlist._util import compact, count
from guestlist.evidence import MODEL_FILE, QUERIES
from guestlist.metrics import records_needed


def detection_limits(results: Results) -> list[str]:
    """Return the detection limits, a sentence for each."""
    attack = wording.headline_attack(results)
    if attack is None or results.subject is None:
        return []
    return [
        *sentences("limits.detection", attack, results.subject, records_needed),
        *sampling_sentences(results.sampling),
    ]


def sampling_sentences(sampling: Sampling | None) -> list[str]:
    """Report which steps used a sample of the records or an approximation."""
    if sampling is None:
        return []
    return sentences("limits.sampling", sampling)


LEARNS = "Whether a person's record was in the training set."
DOES_NOT_LEARN = "The content of the record. Attacks that infer attributes or reconstruct records were not tested."
ACCESS = {
    QUERIES: "Queries to the model for the record in question, with its label.",
    MODEL_FILE: "The model file itself.",
}


def facts_section(results: Results) -> Section:
    """Render the attacker, their inputs and knowledge, and the basis of the audit."""
    return fill_section(
        "facts", "Audit facts", "facts.html", facts=audit_facts(results), provenance=provenance_facts(results)
    )


def audit_facts(results: Results) -> dict[str, str]:
    """Return the facts box, a short text by heading."""
    attack = wording.headline_attack(results)
    two = wording.file_holder_attack(results) is not None
    facts = {
        "Attacker": "; ".join([wording.QUERIER, wording.FILE_HOLDER][: 1 + two]),
        "Access": " ".join([ACCESS[QUERIES], ACCESS[MODEL_FILE]][: 1 + two]),
        "Learns": LEARNS,
        "Does not learn": DOES_NOT_LEARN,
        "Attack": wording.attack_title(attack) if attack else "",
        "Data": prose("audit.basis", results),
        "Model": prose("audit.fit", results.subject),
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
        facts["Task"] = f"{count(subject.classes)} classes" if subject.classes else "regression"
        if subject.population:
            facts["Population"] = f"{count(subject.population)} records for reference models only"
    if references is not None:
        facts["References"] = f"inclusion probability {compact(references.rate)}, seed {references.seed}"
    if training is not None:
        details = (training.recipe, prose("audit.attacker", training), prose("audit.guarantee", training))
        facts["Training"] = "; ".join(filter(None, details))
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
    return fill_section("reading", "Terms", "reading.html", appendix=True, rules=RULES, note=RULE_NOTE)


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
    return fill_section(
        "limits", "Limits", "limits.html", untested=untested, limits=limits, lower_bound=wording.LOWER_BOUND
    )


def untested_sentences(results: Results) -> tuple[str, ...]:
    """Return a sentence for each untested topic; an unknown code is returned unchanged."""
    return tuple(UNTESTED_TEXTS.get(code, code) for code in results.untested or ())


def diagnostics_section(results: Results) -> Section | None:
    """Render the diagnostics, those that change the verdict first; None without diagnostics."""
    if not results.checks:
        return None
    caveats = diagnostics.caveats(results)
    return fill_section(
        "checks",
        "Diagnostics",
        "checks.html",
        issues=(*caveats, *diagnostics.elsewhere(results)),
        caveats=[row.code for row in caveats],
        collapsed=diagnostics.collapsed(results),
    )


def gate_section(results: Results) -> Section | None:
    """Render the result of the gate; None without one."""
    gated = results.gate
    if gated is None:
        return None
    return fill_section(
        "gate",
        gate.gate_title(gated),
        "gate.html",
        sentences=gate.gate_texts(gated),
        basis=gate.policy_sentence(gated),
    )
