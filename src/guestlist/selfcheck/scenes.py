"""Situations in which attacks have failed before, and what an attack reads."""

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
SCALE = 25.0  # of the margins of very sure models
# frequencies of classes
UNEQUAL = (0.3, 0.7)
RARE = (0.1, 0.2, 0.7)
SURE = 1.5  # margins beyond this are not said: about a quarter of those of non-members, and half of those of members


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
class Situation:
    """Difference of a simulation from the plain one.

    Args:
        words: the rest of a sentence, "with …".
        options: of :func:`gaussian`.
        population: share of records that are not evaluated.
    """

    words: str
    options: Mapping[str, Any] = field(default_factory=dict)
    population: float = 0.0


def saturated(margin: np.ndarray) -> np.ndarray:
    return np.minimum(margin, SURE)


def sure(margin: np.ndarray) -> np.ndarray:
    """Return margins of models so sure that about a third of their probabilities are exactly 0 or 1."""
    return np.clip(SCALE * margin, -SURE_MARGIN, SURE_MARGIN)


def rounded_and_saturated(margin: np.ndarray) -> np.ndarray:
    return np.minimum(np.round(margin), np.floor(SURE))


SITUATIONS: dict[str, Situation] = {
    "plain": Situation("continuous answers"),
    "ties": Situation("answers that tie", {"says": np.round}),
    "saturated": Situation("saturated answers", {"says": saturated}),
    "classes": Situation(f"{CLASSES} classes", {"classes": CLASSES}),
    "population": Situation("a population", population=POPULATION),
    "labels": Situation("labels that shift with membership", {"classes": 3, "tilt": TILT}),
    "frequencies": Situation(
        "class frequencies that shift with membership", {"classes": 2, "shares": UNEQUAL, "tilt": 0.95}
    ),
    "rare": Situation("unequal classes", {"classes": len(RARE), "shares": RARE}),
    "exact": Situation("probabilities of exactly 0 and 1", {"says": sure, "signals_of": signals_of_rounded}),
    "awkward": Situation(
        f"ties, saturated answers, {CLASSES} classes and a population",
        {"says": rounded_and_saturated, "classes": CLASSES},
        POPULATION,
    ),
}


def scene(name: str, shift: float, *, records: int, models: int, seed: Seed) -> Scene:
    """A target in the situation of that name in ``SITUATIONS``."""
    situation = SITUATIONS[name]
    world, together = gaussian(shift, records=records, models=models, seed=seed, **situation.options)
    return scene_of(world, together, situation.population)


def scene_of(world: SimulatedModels, together: np.ndarray | None = None, population: float = 0.0) -> Scene:
    """The first model of a world as the target, its members first."""
    not_evaluated = world.rng(99, 0).random(len(world.labels)) < population
    view = as_rotation(world, together, not_evaluated if population else None).facing(0)
    order = np.argsort(~world.member[0], kind="stable")
    return Scene(view.take(order), world.member[0][order], ~not_evaluated[order], world.difficulty[order])


SIZES: dict[str, Any] = {"records": 300, "models": 33}
LABELS_ONLY = "perturbed"  # the evidence that holds labels and no probabilities
RAISED = 1.0  # by which the target's margins are raised
FALLS = 0.02  # share of raised records; a likelihood ratio falls on about half of them where nothing leaks
DEPENDS = 0.05  # share of unsaturated records whose scores change with their references; 0 where nothing is compared


@dataclass(frozen=True)
class Subject:
    """An attack with what is known about it before any simulation.

    Args:
        attack: The attack.
        comparator: Name of the built-in attack that reads the same information: ``entropy`` for an attack that reads only
            entropies, ``correctness`` for one that reads only predicted labels, ``loss`` for all others.
        likelihood_ratio: Whether the score of a record falls for some records when the target's margin rises.
    """

    attack: Attack
    comparator: str = "loss"
    likelihood_ratio: bool = False


def subject(attack: Attack, seed: int) -> Subject:
    """Examine an attack."""
    if not knows_right_from_wrong(attack, seed):
        return Subject(attack, comparator="entropy")
    if _reads_only_labels(attack, seed):
        return Subject(attack, comparator="correctness")
    return Subject(attack, likelihood_ratio=not attack.learns and _falls_with_the_margin(attack, seed))


@lru_cache(maxsize=8)
def small_scene(name: str, seed: int) -> Scene:
    """One target with 300 records and 32 references, simulated once for all attacks; its arrays are read-only."""
    return scene(name, 1.0, seed=seed, **SIZES)


def knows_right_from_wrong(attack: Attack, seed: int) -> bool:
    """Return True if an attack reads anything that separates correct from wrong outputs; entropies do not.

    Such an attack rises with membership only where models are right.
    """
    whole = small_scene("plain", seed).view
    return not _same_without(attack, whole, "entropy", NO_EVIDENCE)


def ignores_references_where_saturated(attack: Attack, of: Scene) -> bool:
    """Return True if references change the scores of ordinary records, but not of those with the largest output.

    The references of these records are exchanged with each other, within classes: an attack that learns from all references
    of a class sees the same set of them, and one that compares models on one record sees others.
    """
    view = of.view
    rng = np.random.default_rng(0)
    output = view.target("p_y")
    largest = of.evaluated & (output == output.max())
    before = _scores(attack, view)

    def changed(among: np.ndarray) -> float:
        order = np.arange(len(among))
        for label in np.unique(view.labels):
            places = np.flatnonzero(among & (view.labels == label))
            order[places] = rng.permutation(places)
        after = _scores(attack, _with_references_of(view, order))
        moved = among & (order != np.arange(len(order)))
        return float(np.mean(~np.isclose(after, before, rtol=1e-6, atol=1e-8, equal_nan=True)[moved]))

    return changed(of.evaluated & ~largest) > DEPENDS and changed(largest) == 0


def _reads_only_labels(attack: Attack, seed: int) -> bool:
    whole = small_scene("plain", seed).view
    labels = Evidence({LABELS_ONLY: whole.evidence.need(LABELS_ONLY)})
    return _same_without(attack, whole, "correct", labels)


def _same_without(attack: Attack, whole: Signals, signal: str, evidence: Evidence) -> bool:
    """Return True if an attack gives the same scores from one signal and some evidence only."""
    part = replace(whole, values={signal: whole.values[signal]}, evidence=evidence, answers=None)
    try:
        scores = _scores(attack, part)
    except Exception:  # it misses what it reads, in whatever way an attack from elsewhere says so
        return False
    return bool(np.allclose(scores, _scores(attack, whole), rtol=1e-6, atol=1e-8, equal_nan=True))


def _falls_with_the_margin(attack: Attack, seed: int) -> bool:
    """Return True if some scores fall when the target's margin rises on half of the records."""
    view = _without_leak(seed).view
    raised = np.random.default_rng(seed).random(len(view.labels)) < 0.5
    margin = view.target("margin") + RAISED * raised
    before = _scores(attack, view)
    after = _scores(attack, view.with_target(signals_of_margin(margin)))
    scored = raised & np.isfinite(before) & np.isfinite(after)
    tolerance = 1e-9 * np.std(before[scored]) if scored.any() else 0.0
    return bool(scored.any() and np.mean((after - before)[scored] < -tolerance) > FALLS)


@lru_cache(maxsize=1)
def _without_leak(seed: int) -> Scene:
    """One target that leaks nothing, with few references: the sign of IN minus OUT means is chance."""
    return scene("plain", 0.0, records=400, models=9, seed=seed)


def _with_references_of(view: Signals, order: np.ndarray) -> Signals:
    """Return the same target with references that output, and trained on, what they did of other records."""
    values = {name: np.vstack([matrix[:1], matrix[1:, order]]) for name, matrix in view.values.items()}
    return replace(view, values=values, reference_member=view.reference_member[:, order])


def _scores(attack: Attack, view: Signals) -> np.ndarray:
    return np.asarray(attack.score(view), dtype=np.float64)
