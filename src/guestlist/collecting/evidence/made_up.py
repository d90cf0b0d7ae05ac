"""A world that is made up, as far as evidence about its models can be made up too: nothing is trained.

Margins are normal, and all other signals are those of a model with that margin which tells all wrong classes alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from guestlist.views.evidence import ModelsView


def signals_of_margin(margin: np.ndarray, classes: int = 2) -> dict[str, np.ndarray]:
    """Every signal of models whose true class has these log-odds, and whose other classes are all as likely."""
    right, wrong, loss = expit(margin), expit(-margin), np.logaddexp(0, -margin)
    others = classes - 1
    return {
        "margin": margin,
        "loss": loss,
        "p_y": right,
        "correct": (margin > -np.log(others)).astype(np.float64),
        "entropy": right * loss + wrong * (np.logaddexp(0, margin) + np.log(others)),
        "mentr": wrong * (loss - _log_of_rest(wrong, loss, others)),
    }


def _log_of_rest(wrong: np.ndarray, loss: np.ndarray, others: int) -> np.ndarray:
    """log(1 - p) of each wrong class; with one of them that is log p of the right one, to its last digit."""
    return -loss if others == 1 else np.log1p(-wrong / others)


@dataclass(frozen=True)
class Simulation:
    """What is known about every record and model of a made-up world.

    Args:
        difficulty: (records,) mean margin over models that did not train on the record.
        deviation: (records,) standard deviation of its margin over models.
        margin: (models, records).
        member: (models, records) who trained on what.
        labels: (records,) true class of each record.
        others: model to the models that are its references.
        seed: of the world.
        classes: how many there are.
        says: what models say of a margin, where they round it or cannot say more; ``margin`` is what they said.
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
    says: Callable[[np.ndarray], np.ndarray] = np.asarray
    signals_of: Callable[[np.ndarray, int], dict[str, np.ndarray]] = signals_of_margin

    def signals(self, margin: np.ndarray) -> dict[str, np.ndarray]:
        """Every signal of models of this world that have such a margin."""
        return self.signals_of(self.says(margin), self.classes)

    def rng(self, purpose: int, k: int) -> np.random.Generator:
        """Chance of its own for model ``k`` and for each purpose: every kind of evidence has its own number."""
        return np.random.default_rng([*self.seed, purpose, k])


# How many models, trained for it alone, each target of a made-up world is compared with.
MODELS = 16


def models_without(world: Simulation, k: int, *, purpose: int) -> ModelsView:
    """Models that never trained on the record asked about, as references that did not."""
    shape = (MODELS, len(world.labels))
    values = world.signals(world.difficulty + world.deviation * world.rng(purpose, k).normal(size=shape))
    return ModelsView(values, np.zeros(shape, dtype=bool))


def answers_of_margin(margin: np.ndarray, labels: np.ndarray, classes: int = 2) -> np.ndarray:
    """(…, records, classes) logarithms of the probabilities that such models answer with."""
    right, wrong = -np.logaddexp(0, -margin), -np.logaddexp(0, margin) - np.log(classes - 1)
    return np.where(np.eye(classes, dtype=bool)[labels], right[..., None], wrong[..., None]).astype(np.float32)
