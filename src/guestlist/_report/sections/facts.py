"""Sections with facts: attacker and provenance, limits, diagnostics, the gate and terms."""

from guestlist._findings import Results
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
from guestlist.metrics import records_needed


def detection_limits(results: Results) -> list[str]:
    """Return the detection limits, and the steps that used a sample or an approximation, a sentence for each."""
    return sentences("limits.detection", results, records_needed)


def facts_section(results: Results) -> Section:
    """Render the attacker, their inputs and knowledge, and the basis of the audit."""
    return fill_section(
        "facts",
        "Audit facts",
        "facts.html",
        results=results,
        name=wording.model_name(results),
        querier=wording.QUERIER,
        file_holder=wording.FILE_HOLDER,
        basis=prose("audit.basis", results),
        fit=prose("audit.fit", results.subject),
        attacker=prose("audit.attacker", results.training),
        guarantee=prose("audit.guarantee", results.training),
    )


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
