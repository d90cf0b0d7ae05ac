"""Table of all types of evidence; collection, command line, docs, messages and simulations read it."""

from __future__ import annotations

from guestlist.collecting.evidence import (
    distilled,
    full_answers,
    leaves,
    left_out,
    leverage,
    loss_trace,
    neighbours,
    perturbed,
    quantiles,
    spaces,
    white_box,
)
from guestlist.collecting.evidence.kind import QUERIES, Access, EvidenceType
from guestlist.views.evidence import Evidence

EVIDENCE: dict[str, EvidenceType] = {
    "distilled": distilled.EVIDENCE_TYPE,
    "left_out": left_out.EVIDENCE_TYPE,
    "perturbed": perturbed.EVIDENCE_TYPE,
    "quantiles": quantiles.EVIDENCE_TYPE,
    "full_answers": full_answers.EVIDENCE_TYPE,
    "white_box": white_box.EVIDENCE_TYPE,
    "neighbours": neighbours.EVIDENCE_TYPE,
    "leaves": leaves.EVIDENCE_TYPE,
    "leverage": leverage.EVIDENCE_TYPE,
    "loss_trace": loss_trace.EVIDENCE_TYPE,
    "spaces": spaces.EVIDENCE_TYPE,
}


def access_of(evidence: str) -> Access:
    """Return the access to the model that an attack on this evidence needs; ``queries`` without evidence."""
    return EVIDENCE[evidence].access if evidence in EVIDENCE else QUERIES


def missing_evidence() -> dict[str, str]:
    """Return, by type of evidence, the rest of a sentence about an attack that lacks it."""
    return {name: row.missing_message for name, row in EVIDENCE.items()}


def shared_with_mocks() -> frozenset[str]:
    """Return the types of evidence that stand-in targets share with the target."""
    return frozenset(name for name, row in EVIDENCE.items() if row.on_mocks)


def owner_evidence() -> frozenset[str]:
    """Return the types of evidence that only the model owner has, since they depend on membership."""
    return frozenset(name for name, row in EVIDENCE.items() if row.owner)


def with_perfect_fit(evidence: Evidence) -> Evidence:
    """Return the evidence about a target that fits every record perfectly."""
    for name, row in EVIDENCE.items():
        if row.perfect_fit is not None and name in evidence.parts:
            evidence = evidence.with_part(name, row.perfect_fit(evidence.need(name)))
    return evidence
