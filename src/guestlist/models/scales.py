"""Scales of outputs: probabilities, logits, labels, or predicted numbers.

Outputs are (records, columns): a column per class, or one for a predicted number. They are compared with the *labels* of a
scale: (records,) positions of the true classes, or true values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Protocol

import numpy as np
from scipy.special import log_softmax, softmax

from guestlist._kernels import SMALLEST_PROBABILITY
from guestlist._util import short_repr
from guestlist.errors import InputError
from guestlist.models import signals

# Maximum deviation of a row of probabilities from a sum of 1; float32 softmax over many classes stays below it.
SUM_TOLERANCE = 1e-3
ENOUGH = 10  # logits of this many records do not all sum to 1 by chance


class Scale(Protocol):
    """Interpretation of outputs."""

    name: ClassVar[str]
    signal_names: ClassVar[tuple[str, ...]]  # keys of ``signals``
    has_classes: ClassVar[bool]
    hides_logits: ClassVar[bool]  # True if the model computes more than it outputs

    def check(self, answers: np.ndarray) -> None:
        """Raise if outputs cannot be on this scale."""

    def resolved(self, answers: np.ndarray, labels: np.ndarray) -> Scale:
        """Return the scale with parameters estimated from the target's outputs, for all models."""

    def signals(self, answers: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
        """Return the name and (records,) values of every signal."""

    def hinge(self, answers: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Return (records,) the confidence in the label minus that in the next best class."""

    def soft(self, answers: np.ndarray) -> np.ndarray:
        """Return soft labels for distillation from these outputs."""

    def log_probabilities(self, answers: np.ndarray) -> np.ndarray:
        """Return (records, classes) logarithms of probabilities; raise if there are no classes.

        Single precision suffices to learn from, and halves the size on disk.
        """

    def correct(self, answers: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Return (records,) 1.0 if the prediction is the true class; raise if there are no classes."""

    def saturated(self, answers: np.ndarray) -> float:
        """Return the share of records whose output is at the end of the scale."""


@dataclass(frozen=True)
class Probabilities:
    """Rows that sum to 1.

    Args:
        smallest: Probability that replaces an output of 0; see :func:`guestlist.models.signals.smallest_answer`.
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
            return  # a check of each row takes ten times as long
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
        result = np.empty(answers.shape, dtype=np.float32)
        for block in signals.row_blocks(answers):
            result[block] = np.log(np.maximum(answers[block], self.smallest))
        return result

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
        result = np.empty(answers.shape, dtype=np.float32)
        for block in signals.row_blocks(answers):
            result[block] = log_softmax(answers[block], axis=1)
        return result

    def correct(self, answers: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return signals.correct(answers, labels)

    def saturated(self, answers: np.ndarray) -> float:
        return 0.0


@dataclass(frozen=True)
class Labels:
    """Predicted class only: 1 for it and 0 for the others."""

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
        floor: Floor of the squared residual in the margin; see :func:`guestlist.models.signals.value_margin`.
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


def as_scale(scale: str | Scale) -> Scale:
    """Return the scale of this name, or the scale itself; raise for anything else."""
    if isinstance(scale, Probabilities | Logits | Values | Labels):
        return scale
    if not isinstance(scale, str) or scale not in SCALES:
        *names, final = map(repr, SCALES)
        raise ValueError(f"Expected scale={short_repr(scale)} to be {', '.join(names)} or {final}.")
    return SCALES[scale]()


def _check_numbers(answers: np.ndarray) -> None:
    if answers.size and not np.isnan(answers.min()):
        return
    broken = np.isnan(answers).any(axis=1)
    if broken.any():
        raise InputError(
            f"The model answers NaN for {broken.sum()} of {len(answers)} records, first in row {broken.argmax()}."
        )
