"""Ways to answer: the model is trained as ever, and says less.

Each is begun once for each model, which may ask for the records it was trained on, and turns probabilities into probabilities.
An answer depends on the question alone: asking twice tells nothing new.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from guestlist.data import Data
from guestlist.fingerprints import described

Say = Callable[[np.ndarray], np.ndarray]  # (records, classes) probabilities to those that are told
Ask = Callable[[object], np.ndarray]  # features to (records, classes) probabilities


@runtime_checkable
class Answering(Protocol):
    """A way to answer."""

    learns: bool  # whether it looks at the records that the model was trained on

    def begin(self, ask: Ask, data: Data | None, rng: np.random.Generator) -> Say:
        """What one model says in the place of its probabilities.

        Args:
            ask: the model, undefended.
            data: what it was trained on, labels as positions of classes; None unless the defence learns.
        """

    def describe(self) -> str:
        """Every option, as of a recipe."""


@dataclass(frozen=True)
class Rounded:
    """Probabilities to so many digits; a row that rounds to nothing keeps its largest class."""

    digits: int = 2
    learns = False

    def __post_init__(self):
        if self.digits < 0:
            raise ValueError(f"Expected digits={self.digits} to be 0 or more.")

    def begin(self, ask: Ask, data: Data | None, rng: np.random.Generator) -> Say:
        return self.said

    def said(self, p: np.ndarray) -> np.ndarray:
        """
        >>> Rounded(1).said(np.array([[0.62, 0.34, 0.04]])).round(3)
        array([[0.667, 0.333, 0.   ]])
        """
        rounded = np.round(p, self.digits)
        rounded = np.where(rounded.sum(axis=1, keepdims=True) > 0, rounded, labels_of(p))
        return rounded / rounded.sum(axis=1, keepdims=True)

    def describe(self) -> str:
        return described(self)


@dataclass(frozen=True)
class TopK:
    """The ``k`` largest probabilities; what is left is spread evenly over the other classes."""

    k: int = 3
    learns = False

    def __post_init__(self):
        if self.k < 1:
            raise ValueError(f"Expected k={self.k} to be 1 or more.")

    def begin(self, ask: Ask, data: Data | None, rng: np.random.Generator) -> Say:
        return self.said

    def said(self, p: np.ndarray) -> np.ndarray:
        """
        >>> TopK(1).said(np.array([[0.5, 0.2, 0.3]]))
        array([[0.5 , 0.25, 0.25]])
        """
        others = p.shape[1] - self.k
        if others < 2:
            return p.copy()
        # Equal ones are kept in the order of the classes.
        rank = np.argsort(np.argsort(-p, axis=1, kind="stable"), axis=1, kind="stable")
        kept = np.where(rank < self.k, p, 0.0)
        rest = np.maximum(1 - kept.sum(axis=1, keepdims=True), 0.0)
        return np.where(rank < self.k, p, rest / others)

    def describe(self) -> str:
        return described(self)


@dataclass(frozen=True)
class LabelOnly:
    """The class alone, and nothing about how sure the model is."""

    learns = False

    def begin(self, ask: Ask, data: Data | None, rng: np.random.Generator) -> Say:
        return labels_of

    def describe(self) -> str:
        return described(self)


@dataclass(frozen=True)
class Temperature:
    """Flatter probabilities, in the proportions of their ``1 / temperature``-th powers; below 1 they are sharper."""

    temperature: float = 2.0
    learns = False

    def __post_init__(self):
        if not self.temperature > 0:
            raise ValueError(f"Expected temperature={self.temperature} above 0.")

    def begin(self, ask: Ask, data: Data | None, rng: np.random.Generator) -> Say:
        return self.said

    def said(self, p: np.ndarray) -> np.ndarray:
        """
        >>> Temperature(2).said(np.array([[0.8, 0.2]])).round(4)
        array([[0.6667, 0.3333]])
        """
        powers = (p / p.max(axis=1, keepdims=True)) ** (1 / self.temperature)
        return powers / powers.sum(axis=1, keepdims=True)

    def describe(self) -> str:
        return described(self)


def labels_of(p: np.ndarray) -> np.ndarray:
    """(records, classes) 1 for the most likely class, 0 for the others; of equal ones, the first."""
    return np.eye(p.shape[1])[p.argmax(axis=1)]
