"""What is said of one slip."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Erratum:
    """One slip in a paper.

    Args:
        place: section, table or equation.
        printed: what stands there.
        found: what it should be, and how we know.
        matters: what follows for a reader of the paper.
    """

    place: str
    printed: str
    found: str
    matters: str
