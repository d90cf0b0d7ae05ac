"""A world that is made up, as far as evidence about its models can be made up too: nothing is trained.

Margins are normal, and all other signals are those of a model with two classes and that margin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit


@dataclass(frozen=True)
class World:
    """What is known about every record and model of a made-up world.

    Args:
        difficulty: (records,) mean margin over models that did not train on the record.
        deviation: (records,) standard deviation of its margin over models.
        margin: (models, records).
        member: (models, records) who trained on what.
        labels: (records,) true class of each record, 0 or 1.
        others: model to the models that are its references.
        seed: of the world.
    """

    difficulty: np.ndarray
    deviation: np.ndarray
    margin: np.ndarray
    member: np.ndarray
    labels: np.ndarray
    others: Callable[[int], np.ndarray]
    seed: tuple[int, ...]

    def rng(self, purpose: int, k: int) -> np.random.Generator:
        """Chance of its own for model ``k`` and for each purpose: every kind of evidence has its own number."""
        return np.random.default_rng([*self.seed, purpose, k])


def binary_signals(margin: np.ndarray) -> dict[str, np.ndarray]:
    """Every signal of models with two classes whose true class has these log-odds."""
    right, wrong, loss = expit(margin), expit(-margin), np.logaddexp(0, -margin)
    return {
        "margin": margin,
        "loss": loss,
        "p_y": right,
        "correct": (margin > 0).astype(np.float64),
        "entropy": right * loss + wrong * np.logaddexp(0, margin),
        "mentr": 2 * wrong * loss,
    }


def binary_answers(margin: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """(…, records, 2) logarithms of the probabilities that such models answer with."""
    right, wrong = -np.logaddexp(0, -margin), -np.logaddexp(0, margin)
    return np.where(np.eye(2, dtype=bool)[labels], right[..., None], wrong[..., None]).astype(np.float32)
