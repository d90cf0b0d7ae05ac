"""What the answers of a model are: probabilities, logits, labels alone, or predicted numbers. A scale knows how to read them.

Answers are (records, columns): a column per class, or one for a predicted number. What they are judged by are the
*labels* of a scale: (records,) positions of the true classes, or true values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Protocol

import numpy as np
from scipy.special import log_softmax, softmax

from guestlist.arguments import short_repr
from guestlist.arrays.probability import SMALLEST_PROBABILITY
from guestlist.errors import InputError
from guestlist.targets import signals

# How far a row of probabilities may be from a sum of 1: float32 softmax over many classes is within it.
SUM_TOLERANCE = 1e-3
ENOUGH = 10  # records whose logits do not all sum to 1 by chance


class Scale(Protocol):
    """How answers are read."""

    name: ClassVar[str]
    signal_names: ClassVar[tuple[str, ...]]  # what ``signals`` gives
    has_classes: ClassVar[bool]
    hides_logits: ClassVar[bool]  # whether the model knows more than it answers

    def check(self, answers: np.ndarray) -> None:
        """Raise, in words, where the answers cannot be what the scale says."""

    def resolved(self, answers: np.ndarray, labels: np.ndarray) -> Scale:
        """The scale with what is learnt from the target's answers, and then holds for all models."""

    def signals(self, answers: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
        """Name to (records,) of every signal."""

    def hinge(self, answers: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """(records,) how sure the model is of the label, against the next best answer."""

    def soft(self, answers: np.ndarray) -> np.ndarray:
        """What a model that is taught by these answers learns from."""

    def log_probabilities(self, answers: np.ndarray) -> np.ndarray:
        """(records, classes) logarithms of probabilities; an error where there are no classes.

        In single precision, which is enough to learn from and halves the disk.
        """

    def correct(self, answers: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """(records,) 1.0 where the answer is the true class; an error where there are no classes."""

    def saturated(self, answers: np.ndarray) -> float:
        """Share of records whose answer stands at the end of the scale."""


@dataclass(frozen=True)
class Probabilities:
    """Rows that sum to 1.

    Args:
        smallest: the probability that an answer of 0 stands for; see :func:`guestlist.targets.signals.smallest_answer`.
    """

    smallest: float = SMALLEST_PROBABILITY

    name: ClassVar[str] = "probabilities"
    signal_names: ClassVar[tuple[str, ...]] = tuple(signals.SIGNALS)
    has_classes: ClassVar[bool] = True
    hides_logits: ClassVar[bool] = True

    def check(self, answers: np.ndarray) -> None:
        _check_numbers(answers)
        away = np.abs(signals.row_sums(answers) - 1) > SUM_TOLERANCE
        if answers.size and not away.any() and answers.min() >= 0 and answers.max() <= 1 + SUM_TOLERANCE:
            return  # said of all numbers at once: to look at each row takes ten times as long
        outside = ((answers < 0) | (answers > 1 + SUM_TOLERANCE)).any(axis=1)
        wrong = away | outside
        if wrong.any():
            row = int(wrong.argmax())
            hint = "If they are logits, say so: scale='logits', or --scale logits."
            if answers.min() >= 0 and np.abs(signals.row_sums(answers) - 100).max() <= 100 * SUM_TOLERANCE:
                hint = "They look like percentages: divide them by 100."
            raise InputError(
                f"{wrong.sum()} of {len(answers)} answers are not probabilities (row {row} holds "
                f"{np.array2string(answers[row], precision=3, threshold=6)}, sum {answers[row].sum():.4g}). {hint}"
            )

    def resolved(self, answers: np.ndarray, labels: np.ndarray) -> Probabilities:
        return replace(self, smallest=signals.smallest_answer(answers))

    def signals(self, answers: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
        return signals.in_blocks(partial(signals.signals_of_probabilities, smallest=self.smallest), answers, labels)

    def hinge(self, answers: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return signals.hinge(np.log(np.maximum(answers, self.smallest)), labels)

    def soft(self, answers: np.ndarray) -> np.ndarray:
        return answers / answers.sum(axis=1, keepdims=True)

    def log_probabilities(self, answers: np.ndarray) -> np.ndarray:
        found = np.empty(answers.shape, dtype=np.float32)
        for block in signals.blocks_of(answers):
            found[block] = np.log(np.maximum(answers[block], self.smallest))
        return found

    def correct(self, answers: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return signals.correct(answers, labels)

    def saturated(self, answers: np.ndarray) -> float:
        return float((answers.max(axis=1) >= 1.0).mean())


@dataclass(frozen=True)
class Logits:
    """Logarithms of probabilities, up to a constant per record. They never saturate."""

    name: ClassVar[str] = "logits"
    signal_names: ClassVar[tuple[str, ...]] = tuple(signals.SIGNALS)
    has_classes: ClassVar[bool] = True
    hides_logits: ClassVar[bool] = False

    def check(self, answers: np.ndarray) -> None:
        _check_numbers(answers)
        if np.isinf(answers).any():
            raise InputError(
                "The model answers with infinite logits; if these are logarithms of probabilities, clip them."
            )
        if len(answers) >= ENOUGH and (answers >= 0).all() and np.abs(answers.sum(axis=1) - 1).max() < SUM_TOLERANCE:
            raise InputError(
                f"All {len(answers)} answers sum to 1 and none is negative: they are probabilities, and not logits. Leave the "
                "softmax out of the module (a log_softmax may stay); of a function or predictions say "
                "scale='probabilities', or --scale probabilities."
            )

    def resolved(self, answers: np.ndarray, labels: np.ndarray) -> Logits:
        return self

    def signals(self, answers: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
        return signals.in_blocks(signals.signals_of_logits, answers, labels)

    def hinge(self, answers: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return signals.hinge(answers, labels)

    def soft(self, answers: np.ndarray) -> np.ndarray:
        return softmax(answers, axis=1)

    def log_probabilities(self, answers: np.ndarray) -> np.ndarray:
        found = np.empty(answers.shape, dtype=np.float32)
        for block in signals.blocks_of(answers):
            found[block] = log_softmax(answers[block], axis=1)
        return found

    def correct(self, answers: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return signals.correct(answers, labels)

    def saturated(self, answers: np.ndarray) -> float:
        return 0.0


@dataclass(frozen=True)
class Labels:
    """The class alone: 1 for it and 0 for the others. Nothing is known but whether it is right."""

    name: ClassVar[str] = "labels"
    signal_names: ClassVar[tuple[str, ...]] = ("correct",)
    has_classes: ClassVar[bool] = True
    hides_logits: ClassVar[bool] = True

    def check(self, answers: np.ndarray) -> None:
        wrong = ~(((answers == 0) | (answers == 1)).all(axis=1) & (answers.sum(axis=1) == 1))
        if wrong.any():
            row = int(wrong.argmax())
            raise InputError(
                f"{wrong.sum()} of {len(answers)} answers are not one class each (row {row} holds "
                f"{np.array2string(answers[row], precision=3, threshold=6)}). If they are probabilities, say so: "
                "scale='probabilities'."
            )

    def resolved(self, answers: np.ndarray, labels: np.ndarray) -> Labels:
        return self

    def signals(self, answers: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
        return {"correct": signals.correct(answers, labels)}

    def hinge(self, answers: np.ndarray, labels: np.ndarray) -> np.ndarray:
        raise InputError("Labels alone do not say how sure a model is: this needs probabilities or logits.")

    def soft(self, answers: np.ndarray) -> np.ndarray:
        return answers

    def log_probabilities(self, answers: np.ndarray) -> np.ndarray:
        return Probabilities(signals.smallest_answer(answers)).log_probabilities(answers)

    def correct(self, answers: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return signals.correct(answers, labels)

    def saturated(self, answers: np.ndarray) -> float:
        return 0.0


@dataclass(frozen=True)
class Values:
    """Predicted numbers: regression.

    Args:
        floor: of the squared residual in the margin; see :func:`guestlist.targets.signals.value_margin`.
    """

    floor: float = 1.0

    name: ClassVar[str] = "values"
    signal_names: ClassVar[tuple[str, ...]] = tuple(signals.VALUE_SIGNALS)
    has_classes: ClassVar[bool] = False
    hides_logits: ClassVar[bool] = False

    def check(self, answers: np.ndarray) -> None:
        _check_numbers(answers)
        if np.isinf(answers).any():
            raise InputError("The model predicts infinite values.")

    def resolved(self, answers: np.ndarray, labels: np.ndarray) -> Values:
        return replace(self, floor=signals.residual_floor(labels - answers[:, 0]))

    def signals(self, answers: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
        return signals.signals_of_values(answers[:, 0], labels, self.floor)

    def hinge(self, answers: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return self.signals(answers, labels)["margin"]

    def soft(self, answers: np.ndarray) -> np.ndarray:
        return answers

    def log_probabilities(self, answers: np.ndarray) -> np.ndarray:
        raise InputError("Predicted values have no probabilities: this needs a classifier.")

    def correct(self, answers: np.ndarray, labels: np.ndarray) -> np.ndarray:
        raise InputError("Predicted values are not right or wrong: this needs a classifier.")

    def saturated(self, answers: np.ndarray) -> float:
        return 0.0


SCALES: Mapping[str, type[Probabilities] | type[Logits] | type[Values] | type[Labels]] = {
    scale.name: scale for scale in (Probabilities, Logits, Values, Labels)
}


def as_scale(given: str | Scale) -> Scale:
    """The scale of this name, or the scale itself; anything else is refused in words."""
    if isinstance(given, Probabilities | Logits | Values | Labels):
        return given
    if not isinstance(given, str) or given not in SCALES:
        *most, final = map(repr, SCALES)
        raise ValueError(f"Expected scale={short_repr(given)} to be {', '.join(most)} or {final}.")
    return SCALES[given]()


def _check_numbers(answers: np.ndarray) -> None:
    if answers.size and not np.isnan(answers.min()):
        return
    broken = np.isnan(answers).any(axis=1)
    if broken.any():
        raise InputError(
            f"The model answers NaN for {broken.sum()} of {len(answers)} records, first in row {broken.argmax()}."
        )
