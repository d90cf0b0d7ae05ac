"""Simulations with known ground truth, for evidence that can be simulated without training.

Margins are normal, and all other signals are those of a model with that margin for which all wrong classes are equally likely.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from guestlist.views.evidence import ModelsView


def signals_of_margin(margin: np.ndarray, classes: int = 2) -> dict[str, np.ndarray]:
    """Return every signal of models with these log-odds of the true class and equally likely other classes."""
    right = expit(margin)
    wrong = expit(-margin)
    loss = np.logaddexp(0, -margin)
    others = classes - 1
    return {
        "margin": margin,
        "loss": loss,
        "p_y": right,
        "correct": (margin > -np.log(others)).astype(np.float64),
        "entropy": right * loss + wrong * (np.logaddexp(0, margin) + np.log(others)),
        "mentr": wrong * (loss - _log_of_complement(wrong, loss, others)),
    }


def _log_of_complement(wrong: np.ndarray, loss: np.ndarray, others: int) -> np.ndarray:
    """Return log(1 - p) of each wrong class; with one wrong class it is exactly log p of the right one."""
    if others == 1:
        return -loss
    return np.log1p(-wrong / others)


@dataclass(frozen=True)
class SimulatedModels:
    """Ground truth of every record and model of a simulation.

    Args:
        difficulty: (records,) mean margin over models that did not train on the record.
        deviation: (records,) standard deviation of its margin over models.
        margin: (models, records) margins that the models output.
        member: (models, records) training sets.
        labels: (records,) true class of each record.
        others: Function from a model to the models that are its references.
        seed: Random seed.
        classes: Number of classes.
        output: Function from a margin to the margin that models output, for example rounded.
        signals_of: Function from margins and the number of classes to signals by name.
    """

    difficulty: np.ndarray
    deviation: np.ndarray
    margin: np.ndarray
    member: np.ndarray
    labels: np.ndarray
    others: Callable[[int], np.ndarray]
    seed: tuple[int, ...]
    classes: int = 2
    output: Callable[[np.ndarray], np.ndarray] = np.asarray
    signals_of: Callable[[np.ndarray, int], dict[str, np.ndarray]] = signals_of_margin

    def signals(self, margin: np.ndarray) -> dict[str, np.ndarray]:
        """Return every signal of models with these margins."""
        return self.signals_of(self.output(margin), self.classes)

    def rng(self, purpose: int, k: int) -> np.random.Generator:
        """Return the random stream of model ``k`` for one purpose: every type of evidence has its own number."""
        return np.random.default_rng([*self.seed, purpose, k])


# Number of separate models that each target of a simulation is compared with.
MODELS = 16


def models_without(world: SimulatedModels, k: int, *, purpose: int) -> ModelsView:
    """Simulate models that did not train on the queried record."""
    shape = (MODELS, len(world.labels))
    values = world.signals(world.difficulty + world.deviation * world.rng(purpose, k).normal(size=shape))
    return ModelsView(values, np.zeros(shape, dtype=bool))


def answers_of_margin(margin: np.ndarray, labels: np.ndarray, classes: int = 2) -> np.ndarray:
    """Return (…, records, classes) log-probabilities of models with these margins."""
    right = -np.logaddexp(0, -margin)
    wrong = -np.logaddexp(0, margin) - np.log(classes - 1)
    return np.where(np.eye(classes, dtype=bool)[labels], right[..., None], wrong[..., None]).astype(np.float32)
