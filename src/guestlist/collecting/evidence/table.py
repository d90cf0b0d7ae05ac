"""Facts about evidence: collecting, the command line, the docs, messages and made-up worlds read this table."""

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
    """Return what of the model an attack on this evidence takes; ``queries`` where it takes no evidence."""
    return EVIDENCE[evidence].access if evidence in EVIDENCE else QUERIES


def missing_evidence() -> dict[str, str]:
    """EvidenceType to the rest of a sentence about an attack that lacks it: what it is, and how to get it."""
    return {name: kind.missing_message for name, kind in EVIDENCE.items()}


def shared_with_mocks() -> frozenset[str]:
    """The kinds that references, as mock targets, have as the target has them."""
    return frozenset(name for name, kind in EVIDENCE.items() if kind.on_mocks)


def owner_evidence() -> frozenset[str]:
    """The kinds that only whoever trained the model has: they say who is a member."""
    return frozenset(name for name, kind in EVIDENCE.items() if kind.owner)


def with_perfect_fit(evidence: Evidence) -> Evidence:
    """The same evidence about a target that fits every record without fault."""
    for name, kind in EVIDENCE.items():
        part = evidence.get(name) if kind.perfect_fit else None
        if kind.perfect_fit and part is not None:
            evidence = evidence.with_part(name, kind.perfect_fit(part))
    return evidence
