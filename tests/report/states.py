"""States of the verdict: the one place in tests that knows the first words of each."""

from __future__ import annotations

STATES = {
    "most": "Yes, most training records",
    "many": "Yes, many training records",
    "some": "Yes, some training records",
    "on average": "Yes, on average.",
    "slight": "Yes, but only slightly.",
    "uncertain size": "Yes, but how much is uncertain.",
    "likely": "Likely, beyond what the records themselves reveal.",
    "likely, slight": "Likely, but only slightly.",
    "signs": "There are signs that they can.",
    "unclear": "Unclear.",
    "not measured": "Not measured.",
    "no evidence": "No evidence",
}


def state(verdict: str) -> str:
    """Return the state of a verdict, by its first words."""
    (matching,) = (name for name, words in STATES.items() if verdict.startswith(words))
    return matching
