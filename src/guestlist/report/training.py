"""Sentences about a training procedure: what the attacker knows about it, and its privacy guarantee."""

from __future__ import annotations

from guestlist.defences.training import Training
from guestlist.report.format import compact, count


def attacker_phrase(training: Training | None) -> str:
    """Report whether the attacker knows the defence; empty where the training is unknown."""
    if training is None:
        return ""
    knows = "knows the defence" if training.attacker == "adaptive" else "does not know of the defence"
    return f"{training.attacker} attacker, who {knows}"


def privacy_guarantee(training: Training | None) -> str:
    """Report the epsilon of a differentially private training; empty for other trainings."""
    if training is None:
        return ""
    trainings = f"{count(training.tried or 1)} trainings"
    searched = (training.tried or 1) > 1
    if training.noise is None:
        return f"chosen from {trainings}" if searched else ""
    if training.noise == 0:
        return "no noise, so that no ε is promised"
    if training.epsilon is None or training.delta is None:
        return f"noise {compact(training.noise)}; its ε takes the extra dp"
    epsilon = f"ε = {compact(training.epsilon)} at δ = {compact(training.delta)}"
    if searched:
        return f"{epsilon}: ε of one run; the search for it was not counted ({trainings})"
    return f"{epsilon}, for one training"
