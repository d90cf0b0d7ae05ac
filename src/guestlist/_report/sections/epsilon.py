"""Claimed epsilon: what it allows any attack, and what the scores of this model show."""

from guestlist._findings import REFUSED, Epsilon, Results
from guestlist._report import Section, fill_section, prose, sentences, wording
from guestlist._util import compact


def section(results: Results) -> Section | None:
    """Render the test of a claimed epsilon; None where none is claimed."""
    if results.epsilon is None or results.epsilon.claimed is None:
        return None
    title = f"Does the claimed ε of {compact(results.epsilon.claimed.epsilon)} hold?"
    return fill_section("epsilon", title, "epsilon.html", sentences=claim_sentences(results))


def claim_sentences(results: Results) -> list[str]:
    """Report whether a claim holds, what it allows and when that binds attacks; empty without a claim."""
    if results.epsilon is None or results.epsilon.claimed is None:
        return []
    allowed = sentences("epsilon.allowed", results.epsilon, wording.headline_attack(results))
    return [epsilon_verdict(results.epsilon), *allowed]


def epsilon_verdict(result: Epsilon) -> str:
    """Report the lower bound on epsilon and whether it contradicts the claim."""
    return prose("epsilon.verdict", result, REFUSED)
