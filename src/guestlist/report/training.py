"""How a model was trained, in words: what the attacker knows of it, and what it promises."""

from __future__ import annotations

from guestlist.defences.training import Training
from guestlist.report.format import compact, count


def attacker_phrase(training: Training | None) -> str:
    """Whether the attacker knows of the defence; nothing where nobody said."""
    if training is None:
        return ""
    knows = "knows the defence" if training.attacker == "adaptive" else "does not know of the defence"
    return f"{training.attacker} attacker, who {knows}"


def privacy_guarantee(training: Training | None) -> str:
    """What a training with differential privacy promises; nothing for others."""
    if training is None or training.noise is None:
        return f"chosen from {_trainings(training.tried)}" if training is not None and _searched(training) else ""
    if training.noise == 0:
        return "no noise, so that no ε is promised"
    if training.epsilon is None or training.delta is None:
        return f"noise {compact(training.noise)}; its ε takes the extra dp"
    epsilon = f"ε = {compact(training.epsilon)} at δ = {compact(training.delta)}"
    if _searched(training):
        return f"{epsilon}: ε of one run; the search for it was not counted ({_trainings(training.tried)})"
    return f"{epsilon}, for one training"


def _searched(training: Training) -> bool:
    return (training.tried or 1) > 1


def _trainings(tried: int | None) -> str:
    return f"{count(tried or 1)} trainings"
