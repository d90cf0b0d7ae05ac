"""What every attack promises about one target, whatever the world: one score per record, and no look at any order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from guestlist.attacks import Attack
from guestlist.collecting.evidence.table import EVIDENCE
from guestlist.selfcheck.scenes import SITUATIONS, scene
from guestlist.views.evidence import NOTHING
from guestlist.views.signals import Signals

# One target of each; every record has references of both kinds, so every record can be scored.
TARGETS = ("plain", "awkward")
SIZES = {"records": 300, "models": 33}


def wrong_shape(attack: Attack, seed: int) -> str | None:
    """What is wrong with the shape of the scores; None where there is one per record."""
    view = scene(TARGETS[0], 1.0, seed=seed, **SIZES).view
    shape, records = np.shape(attack.score(view)), len(view.labels)
    return None if shape == (records,) else f"gives scores shaped {shape} for {records} records"


def broken_promises(attack: Attack, seed: int) -> list[str]:
    """What an attack does that none may do, on one target without and one with all that is awkward."""
    plain, awkward = (_broken(attack, name, seed) for name in TARGETS)
    words = SITUATIONS["awkward"].words
    return plain + [f"{problem}, with {words}" for problem in awkward if problem not in plain]


def _broken(attack: Attack, name: str, seed: int) -> list[str]:
    found = scene(name, 1.0, seed=seed, **SIZES)
    signals, rng = found.view, np.random.default_rng(seed)
    scores = np.asarray(attack.score(signals), dtype=np.float64)
    problems = []
    silent = np.isnan(scores) & to_score(attack, signals) & found.asked
    if silent.any():
        problems.append(f"leaves {silent.sum()} of {len(scores)} records without a score")
    records = rng.permutation(len(scores))
    if not _close(attack.score(signals.take(records)), scores[records]):
        problems.append("depends on the order of the records")
    if not _close(attack.score(_reordered(signals, rng.permutation(signals.references))), scores):
        problems.append("depends on the order of the references")
    return problems


def knows_right_from_wrong(attack: Attack, seed: int) -> bool:
    """Whether an attack reads anything that tells a right answer from a wrong one; entropies alone do not.

    Such an attack rises with membership only where models are right.
    """
    whole = scene("plain", 1.0, seed=seed, **SIZES).view
    entropies = replace(whole, values={"entropy": whole.values["entropy"]}, evidence=NOTHING, answers=None)
    try:
        return not _close(attack.score(entropies), attack.score(whole))
    except Exception:  # it misses what it reads, in whatever way an attack from elsewhere says so
        return True


def to_score(attack: Attack, signals: Signals) -> np.ndarray:
    """(records,) true for those an attack should score: all but the ones whose membership it was told."""
    told = EVIDENCE[attack.evidence].told if attack.evidence in EVIDENCE else None
    if told is None:
        return np.ones(len(signals.labels), dtype=bool)
    return ~told(signals.evidence.need(attack.evidence))


def _reordered(signals: Signals, order: np.ndarray) -> Signals:
    values = {name: matrix[np.r_[0, 1 + order]] for name, matrix in signals.values.items()}
    return replace(
        signals,
        values=values,
        reference_member=signals.reference_member[order],
        evidence=signals.evidence.among(order),
    )


def _close(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.allclose(a, b, rtol=1e-6, atol=1e-8, equal_nan=True))
