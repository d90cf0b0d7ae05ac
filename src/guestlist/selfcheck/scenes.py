"""Simulated targets on which attacks have failed before, and tests of what an attack reads."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from guestlist._views import NO_EVIDENCE, Evidence, Signals
from guestlist.attacks import Attack
from guestlist.evidence import SimulatedModels, signals_of_margin
from guestlist.selfcheck.simulations import SURE_MARGIN, Seed, as_rotation, gaussian, signals_of_rounded

CLASSES = 5
TILT = 0.8
POPULATION = 0.3
SCALE = 25.0  # scale of the margins of very confident models
# Frequencies of classes, two unequal ones and one rare.
UNEQUAL = (0.3, 0.7)
RARE = (0.1, 0.2, 0.7)
SURE = 1.5  # margins are clipped here: about a quarter of non-members' margins, and half of members'


@dataclass(frozen=True)
class Scene:
    """The adversary's view of one target, and the ground truth.

    Args:
        member: (records,).
        evaluated: (records,) false for the population.
        difficulty: (records,) mean margin of models that did not train on the record.
    """

    view: Signals
    member: np.ndarray
    evaluated: np.ndarray
    difficulty: np.ndarray


@dataclass(frozen=True)
class SceneVariant:
    """Difference of a simulation from the plain one.

    Args:
        words: Description that follows "with" in a message.
        options: Options of :func:`gaussian`.
        population: Share of records that are not evaluated.
    """

    words: str
    options: Mapping[str, Any] = field(default_factory=dict)
    population: float = 0.0


def saturated(margin: np.ndarray) -> np.ndarray:
    return np.minimum(margin, SURE)


def sure(margin: np.ndarray) -> np.ndarray:
    """Return margins of models so confident that about a third of their probabilities are exactly 0 or 1."""
    return np.clip(SCALE * margin, -SURE_MARGIN, SURE_MARGIN)


SCENE_VARIANTS: dict[str, SceneVariant] = {
    "plain": SceneVariant("continuous outputs"),
    "ties": SceneVariant("outputs that tie", {"output": np.round}),
    "saturated": SceneVariant("saturated outputs", {"output": saturated}),
    "classes": SceneVariant(f"{CLASSES} classes", {"classes": CLASSES}),
    "population": SceneVariant("a population", population=POPULATION),
    "labels": SceneVariant("labels that shift with membership", {"classes": 3, "tilt": TILT}),
    "frequencies": SceneVariant(
        "class frequencies that shift with membership", {"classes": 2, "shares": UNEQUAL, "tilt": 0.95}
    ),
    "rare": SceneVariant("unequal classes", {"classes": len(RARE), "shares": RARE}),
    "exact": SceneVariant("probabilities of exactly 0 and 1", {"output": sure, "signals_of": signals_of_rounded}),
    "awkward": SceneVariant(
        f"ties, saturated outputs, {CLASSES} classes and a population",
        {"output": lambda margin: np.minimum(np.round(margin), np.floor(SURE)), "classes": CLASSES},
        POPULATION,
    ),
}


def scene(name: str, shift: float, *, records: int, models: int, seed: Seed) -> Scene:
    """Simulate a target in the variant of that name in ``SCENE_VARIANTS``."""
    variant = SCENE_VARIANTS[name]
    simulated, together = gaussian(shift, records=records, models=models, seed=seed, **variant.options)
    return scene_of(simulated, together, variant.population)


def scene_of(simulated: SimulatedModels, together: np.ndarray | None = None, population: float = 0.0) -> Scene:
    """Take the first simulated model as the target, its members first."""
    not_evaluated = simulated.rng(99, 0).random(len(simulated.labels)) < population
    view = as_rotation(simulated, together, not_evaluated if population else None).facing(0)
    order = np.argsort(~simulated.member[0], kind="stable")
    return Scene(
        view=view.take(order),
        member=simulated.member[0][order],
        evaluated=~not_evaluated[order],
        difficulty=simulated.difficulty[order],
    )


SIZES: dict[str, Any] = {"records": 300, "models": 33}
LABELS_ONLY = "perturbed"  # the evidence that holds labels and no probabilities
RAISED = 1.0  # increase of the target's margins
FALLS = 0.02  # minimum share of raised records whose score falls; for a likelihood ratio about 0.5 if nothing leaks
DEPENDS = 0.05  # minimum share of unsaturated records whose score changes with their references; 0 without a comparison


@dataclass(frozen=True)
class AttackTraits:
    """An attack with the properties that decide how its metrics are judged.

    Args:
        attack: The attack.
        comparator: Name of the built-in attack that reads the same information: ``entropy`` for an attack that reads only
            entropies, ``correctness`` for one that reads only predicted labels, ``loss`` for all others.
        likelihood_ratio: Whether the score of a record falls for some records when the target's margin rises.
    """

    attack: Attack
    comparator: str = "loss"
    likelihood_ratio: bool = False


def attack_traits(attack: Attack, seed: int) -> AttackTraits:
    """Determine the traits of an attack from how its scores change with its inputs."""
    if not knows_right_from_wrong(attack, seed):
        return AttackTraits(attack, comparator="entropy")
    if _reads_only_labels(attack, seed):
        return AttackTraits(attack, comparator="correctness")
    return AttackTraits(attack, likelihood_ratio=not attack.learns and _falls_with_the_margin(attack, seed))


@lru_cache(maxsize=8)
def small_scene(name: str, seed: int) -> Scene:
    """One target with 300 records and 32 references, simulated once for all attacks; its arrays are read-only."""
    return scene(name, 1.0, seed=seed, **SIZES)


def knows_right_from_wrong(attack: Attack, seed: int) -> bool:
    """Return True if an attack reads anything that separates correct from wrong outputs; entropies do not.

    The score of such an attack rises with membership only where models are correct.
    """
    return not _same_without(attack, small_scene("plain", seed).view, "entropy", NO_EVIDENCE)


def ignores_references_where_saturated(attack: Attack, scene: Scene) -> bool:
    """Return True if references change the scores of ordinary records, but not of those with the largest output.

    The references of these records are exchanged with each other, within classes: an attack fitted on all references of
        a class reads the same set, and one that compares models on one record reads different references.
    """
    view = scene.view
    rng = np.random.default_rng(0)
    output = view.target("p_y")
    largest = scene.evaluated & (output == output.max())
    before = _scores(attack, view)

    def share_changed(chosen: np.ndarray) -> float:
        order = np.arange(len(chosen))
        for label in np.unique(view.labels):
            positions = np.flatnonzero(chosen & (view.labels == label))
            order[positions] = rng.permutation(positions)
        # The references' outputs and membership are permuted between records.
        values = {name: np.vstack([matrix[:1], matrix[1:, order]]) for name, matrix in view.values.items()}
        after = _scores(attack, replace(view, values=values, reference_member=view.reference_member[:, order]))
        exchanged = chosen & (order != np.arange(len(order)))
        return float(np.mean(~np.isclose(after, before, rtol=1e-6, atol=1e-8, equal_nan=True)[exchanged]))

    return share_changed(scene.evaluated & ~largest) > DEPENDS and share_changed(largest) == 0


def _reads_only_labels(attack: Attack, seed: int) -> bool:
    view = small_scene("plain", seed).view
    labels = Evidence({LABELS_ONLY: view.evidence.need(LABELS_ONLY)})
    return _same_without(attack, view, "correct", labels)


def _same_without(attack: Attack, view: Signals, signal: str, evidence: Evidence) -> bool:
    """Return True if an attack gives the same scores from one signal and some evidence only."""
    part = replace(view, values={signal: view.values[signal]}, evidence=evidence, outputs=None)
    try:
        scores = _scores(attack, part)
    except Exception:  # a custom attack may raise anything if an input is missing
        return False
    return bool(np.allclose(scores, _scores(attack, view), rtol=1e-6, atol=1e-8, equal_nan=True))


def _falls_with_the_margin(attack: Attack, seed: int) -> bool:
    """Return True if some scores fall when the target's margin rises on half of the records."""
    view = _without_leak(seed).view
    raised = np.random.default_rng(seed).random(len(view.labels)) < 0.5
    margin = view.target("margin") + RAISED * raised
    before = _scores(attack, view)
    after = _scores(attack, view.with_target(signals_of_margin(margin)))
    scored = raised & np.isfinite(before) & np.isfinite(after)
    if not scored.any():
        return False
    return bool(np.mean((after - before)[scored] < -1e-9 * np.std(before[scored])) > FALLS)


@lru_cache(maxsize=1)
def _without_leak(seed: int) -> Scene:
    """Return a target without leakage and with few references: the sign of IN minus OUT means is random."""
    return scene("plain", 0.0, records=400, models=9, seed=seed)


def _scores(attack: Attack, view: Signals) -> np.ndarray:
    return np.asarray(attack.score(view), dtype=np.float64)
