"""Record of one error in a paper."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Erratum:
    """One error in a paper.

    Args:
        place: section, table or equation.
        printed: the printed content.
        found: the correct content, and the evidence.
        matters: consequence for a reader of the paper.
    """

    place: str
    printed: str
    found: str
    matters: str
