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
from guestlist.collecting.evidence.kind import QUERIES, Access, Kind
from guestlist.views.evidence import Evidence

EVIDENCE: dict[str, Kind] = {
    "distilled": distilled.KIND,
    "left_out": left_out.KIND,
    "perturbed": perturbed.KIND,
    "quantiles": quantiles.KIND,
    "full_answers": full_answers.KIND,
    "white_box": white_box.KIND,
    "neighbours": neighbours.KIND,
    "leaves": leaves.KIND,
    "leverage": leverage.KIND,
    "loss_trace": loss_trace.KIND,
    "spaces": spaces.KIND,
}


def access_of(evidence: str) -> Access:
    """Return what of the model an attack on this evidence takes; ``queries`` where it takes no evidence."""
    return EVIDENCE[evidence].access if evidence in EVIDENCE else QUERIES


def missing_evidence() -> dict[str, str]:
    """Kind to the rest of a sentence about an attack that lacks it: what it is, and how to get it."""
    return {name: kind.lacking for name, kind in EVIDENCE.items()}


def shared_with_mocks() -> frozenset[str]:
    """The kinds that references, as mock targets, have as the target has them."""
    return frozenset(name for name, kind in EVIDENCE.items() if kind.on_mocks)


def of_owner() -> frozenset[str]:
    """The kinds that only whoever trained the model has: they say who is a member."""
    return frozenset(name for name, kind in EVIDENCE.items() if kind.owner)


def without_fault(evidence: Evidence) -> Evidence:
    """The same evidence about a target that fits every record without fault."""
    for name, kind in EVIDENCE.items():
        part = evidence.get(name) if kind.faultless else None
        if kind.faultless and part is not None:
            evidence = evidence.with_part(name, kind.faultless(part))
    return evidence
