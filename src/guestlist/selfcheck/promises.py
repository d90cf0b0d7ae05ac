"""Contract of every attack for one target: one score per record, independent of any order."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from guestlist.attacks import Attack
from guestlist.collecting.evidence.table import EVIDENCE
from guestlist.selfcheck.scenes import SITUATIONS, Scene, scene_of
from guestlist.selfcheck.subjects import SIZES, ignores_references_where_saturated, small_scene
from guestlist.selfcheck.worlds import gaussian
from guestlist.views.signals import Signals

# One target of each; every record has references of both kinds, so every record can be scored.
TARGETS = ("plain", "awkward")
# Saturated outputs: cut off at some margin, and probabilities that are exactly 0 or 1.
SATURATED = ("saturated", "exact")


def wrong_shape(attack: Attack, seed: int) -> str | None:
    """Describe a wrong shape of the scores; None if there is one per record."""
    view = small_scene(TARGETS[0], seed).view
    shape = np.shape(attack.score(view))
    records = len(view.labels)
    if shape == (records,):
        return None
    return f"gives scores shaped {shape} for {records} records"


def contract_violations(attack: Attack, seed: int) -> list[str]:
    """Return the violations of the contract on a plain target and on an awkward one."""
    plain, awkward = (_violations(attack, name, seed) for name in TARGETS)
    words = SITUATIONS["awkward"].words
    problems = plain + [f"{problem}, with {words}" for problem in awkward if problem not in plain]
    if attack.learns:  # its random start depends on the classes, and to fit it again takes seconds
        return problems
    return problems + _numbering(attack, seed) + _saturated(attack, seed)


def _numbering(attack: Attack, seed: int) -> list[str]:
    """Check that scores do not depend on the numbers of the classes."""
    first, second = _numbered_twice(seed)
    if _close(attack.score(first.view), attack.score(second.view)):
        return []
    return ["depends on how the classes are numbered"]


@lru_cache(maxsize=1)
def _numbered_twice(seed: int) -> tuple[Scene, Scene]:
    """One target with two numberings of its classes, and all else the same."""
    world, together = gaussian(1.0, seed=seed, **SITUATIONS["classes"].options, **SIZES)
    other = replace(world, labels=(world.labels + 1) % world.classes)
    return scene_of(world, together), scene_of(other, together)


def _saturated(attack: Attack, seed: int) -> list[str]:
    """Check that saturated outputs are compared with their references."""
    problem = "ignores the references of records with saturated outputs, although it compares other records with theirs"
    for name in SATURATED:
        if ignores_references_where_saturated(attack, small_scene(name, seed)):
            return [f"{problem}, with {SITUATIONS[name].words}"]
    return []


def _violations(attack: Attack, name: str, seed: int) -> list[str]:
    target = small_scene(name, seed)
    signals = target.view
    rng = np.random.default_rng(seed)
    scores = np.asarray(attack.score(signals), dtype=np.float64)
    problems = []
    silent = np.isnan(scores) & should_be_scored(attack, signals) & target.evaluated
    if silent.any():
        problems.append(f"leaves {silent.sum()} of {len(scores)} records without a score")
    records = rng.permutation(len(scores))
    if not _close(attack.score(signals.take(records)), scores[records]):
        problems.append("depends on the order of the records")
    if not _close(attack.score(_reordered(signals, rng.permutation(signals.references))), scores):
        problems.append("depends on the order of the references")
    return problems


def should_be_scored(attack: Attack, signals: Signals) -> np.ndarray:
    """(records,) true for those an attack should score: all but the ones whose membership it was told."""
    known = EVIDENCE[attack.evidence].known_membership if attack.evidence in EVIDENCE else None
    if known is None:
        return np.ones(len(signals.labels), dtype=bool)
    return ~known(signals.evidence.need(attack.evidence))


def _reordered(signals: Signals, order: np.ndarray) -> Signals:
    values = {name: matrix[np.r_[0, 1 + order]] for name, matrix in signals.values.items()}
    return replace(
        signals,
        values=values,
        reference_member=signals.reference_member[order],
        evidence=signals.evidence.take_references(order),
    )


def _close(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.allclose(a, b, rtol=1e-6, atol=1e-8, equal_nan=True))
