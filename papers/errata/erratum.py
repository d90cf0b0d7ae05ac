"""Record of one error in a paper."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Erratum:
    """One error in a paper.

    Args:
        location: section, table or equation.
        printed: the printed content.
        correction: the correct content, and the evidence.
        matters: consequence for a reader of the paper.
    """

    location: str
    printed: str
    correction: str
    matters: str
