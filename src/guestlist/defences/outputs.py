"""Output defences: the model is trained as usual, and its outputs reveal less.

Each defence is prepared once for each model, with the model's training records if it needs them, and maps probabilities to
probabilities. The output depends only on the input, so repeating a query reveals nothing new.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from guestlist._util import DescribedRecipe, integer, number
from guestlist.data import Data

OutputTransform = Callable[[np.ndarray], np.ndarray]  # (records, classes) probabilities to the defended ones
PredictProbabilities = Callable[[object], np.ndarray]  # features to (records, classes) probabilities


@runtime_checkable
class OutputDefence(Protocol):
    """An output defence."""

    learns: bool  # True if it reads the records that the model was trained on

    def begin(self, predict: PredictProbabilities, data: Data | None, rng: np.random.Generator) -> OutputTransform:
        """Return the function that changes the probabilities of one model.

        Args:
            predict: the undefended model.
            data: its training records, with positions of classes as labels; None unless the defence learns.
        """

    def describe(self) -> str:
        """Identify the defence with every option, as a recipe does."""


class OutputChange(DescribedRecipe, ABC):
    """Base of output defences that need no training records: they change the probabilities of every model alike."""

    learns = False

    def begin(self, predict: PredictProbabilities, data: Data | None, rng: np.random.Generator) -> OutputTransform:
        return self.apply

    @abstractmethod
    def apply(self, p: np.ndarray) -> np.ndarray:
        """Return the defended (records, classes) probabilities."""


@dataclass(frozen=True)
class Rounded(OutputChange):
    """Round probabilities to a number of digits; a row that rounds to zeros keeps its largest class.

    Attributes:
        digits: Number of digits; 0 or more.

    Raises:
        ValueError: If it is negative.
    """

    digits: int = 2

    def __post_init__(self):
        integer("digits", self.digits)

    def apply(self, p: np.ndarray) -> np.ndarray:
        """
        >>> Rounded(1).apply(np.array([[0.62, 0.34, 0.04]])).round(3)
        array([[0.667, 0.333, 0.   ]])
        """
        rounded = np.round(p, self.digits)
        rounded = np.where(rounded.sum(axis=1, keepdims=True) > 0, rounded, labels_of(p))
        return rounded / rounded.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class TopK(OutputChange):
    """Output the ``k`` largest probabilities; the other classes share the remainder equally.

    Attributes:
        k: Number of probabilities; 1 or more.

    Raises:
        ValueError: If it is less than 1.
    """

    k: int = 3

    def __post_init__(self):
        integer("k", self.k, 1)

    def apply(self, p: np.ndarray) -> np.ndarray:
        """
        >>> TopK(1).apply(np.array([[0.5, 0.2, 0.3]]))
        array([[0.5 , 0.25, 0.25]])
        """
        others = p.shape[1] - self.k
        if others < 2:
            return p.copy()
        # Ties are broken by the order of the classes.
        rank = np.argsort(np.argsort(-p, axis=1, kind="stable"), axis=1, kind="stable")
        remainder = np.maximum(1 - np.where(rank < self.k, p, 0.0).sum(axis=1, keepdims=True), 0.0)
        return np.where(rank < self.k, p, remainder / others)


@dataclass(frozen=True)
class LabelOnly(OutputChange):
    """Output only the predicted class, without confidence."""

    def apply(self, p: np.ndarray) -> np.ndarray:
        return labels_of(p)


@dataclass(frozen=True)
class Temperature(OutputChange):
    """Flatten probabilities by raising them to the power ``1 / temperature``; a temperature below 1 sharpens them.

    Attributes:
        temperature: Temperature; above 0.

    Raises:
        ValueError: If it is not above 0.
    """

    temperature: float = 2.0

    def __post_init__(self):
        number("temperature", self.temperature, 0)

    def apply(self, p: np.ndarray) -> np.ndarray:
        """
        >>> Temperature(2).apply(np.array([[0.8, 0.2]])).round(4)
        array([[0.6667, 0.3333]])
        """
        powers = (p / p.max(axis=1, keepdims=True)) ** (1 / self.temperature)
        return powers / powers.sum(axis=1, keepdims=True)


def labels_of(p: np.ndarray) -> np.ndarray:
    """Return (records, classes): 1 for the likeliest class (the first of ties), 0 for the others."""
    return np.eye(p.shape[1])[p.argmax(axis=1)]
