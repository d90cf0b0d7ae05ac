"""The model under audit, and how to train more like it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from guestlist.arrays.probability import SMALLEST_PROBABILITY
from guestlist.data import Data
from guestlist.errors import InputError
from guestlist.fingerprints import describe
from guestlist.targets.signals import signals_of_logits, signals_of_probabilities, smallest_answer

Predict = Callable[[np.ndarray | pd.DataFrame], np.ndarray]
Trainer = Callable[[Data, np.random.Generator], Predict]
SoftTrainer = Callable[[Data, np.ndarray, np.random.Generator], Predict]
Scale = Literal["probabilities", "logits"]

# How far a row of probabilities may be from a sum of 1: float32 softmax over many classes is within it.
SUM_TOLERANCE = 1e-3


class Neighbours(NamedTuple):
    """The space of a K-NN model's distances: (records, features), how many neighbours it asks, and the metric."""

    x: np.ndarray
    k: int
    metric: str


class Trees(NamedTuple):
    """The leaves of a tree model: (records, trees) numbers of leaves, and what the model file tells about each leaf.

    ``held`` is a table per tree: (leaves,) training records in each leaf, or (leaves, classes) by class; None: the model
    keeps no such numbers. ``weight`` is what each record adds to them, (records, trees), if that is not simply 1.
    """

    leaf: np.ndarray
    held: tuple[np.ndarray, ...] | None
    weight: np.ndarray | None = None


class Inside(NamedTuple):
    """What a model's parameters say about records: (records, features), and the features' names."""

    features: np.ndarray
    names: tuple[str, ...]


@dataclass(frozen=True)
class Target:
    """A model that answers, and the recipe that trains its references.

    Args:
        predict: features to (records, classes) answers on the given ``scale``, columns ordered as ``classes``.
        classes: the labels, one per column of the answers.
        scale: whether the answers are probabilities or logits. Logits are better: they never saturate.
        train: ``(data, rng) -> predict`` for one reference; None if only the target-only attacks can run.
        recipe: text that changes when ``train`` does; part of the audit's fingerprint.
        name: for people.
        features: names of the columns the model reads, if it knows them; None: whatever is given.
        arrays: whether a table of numbers must become an array before the model gets it.
        width: how many columns the model reads, if it knows.
        untrainable: why there is no ``train``, if there is a reason to tell.
        distil: ``(data, soft, rng) -> predict``: the same training with (records, classes) probabilities in the place of
            labels; None if it cannot be done, and ``undistillable`` says why.
        neighbours: features to where a K-NN model looks for neighbours; None for other models.
        leaves: features to the leaves they fall in; None for models that are no trees.
        inner: ``(x, labels)``, the labels as positions, to what the parameters say; None where they cannot be seen.
    """

    predict: Predict
    classes: np.ndarray
    scale: Scale = "probabilities"
    train: Trainer | None = None
    recipe: str = ""
    name: str = "model"
    features: tuple[str, ...] | None = None
    arrays: bool = False
    width: int | None = None
    neighbours: Callable[[object], Neighbours] | None = None
    leaves: Callable[[object], Trees] | None = None
    untrainable: str = ""
    distil: SoftTrainer | None = None
    undistillable: str = ""
    inner: Callable[[object, np.ndarray], Inside] | None = None

    def __post_init__(self):
        if self.scale not in ("probabilities", "logits"):
            raise ValueError(f"Expected scale={self.scale!r} to be 'probabilities' or 'logits'.")
        if len(self.classes) < 2 or len(set(map(str, self.classes))) < len(self.classes):
            raise InputError(f"A classifier has two classes or more, all different; found {list(self.classes)}.")

    def fitting(self, data: Data, side: str) -> Data:
        """The records with the features in the form this model reads."""
        x = data.x
        if isinstance(x, pd.DataFrame) and self.features is not None:
            missing = [name for name in self.features if name not in x.columns]
            if missing:
                raise InputError(f"The model was fitted on columns that {side} lacks: {', '.join(missing)}.")
            x = x[list(self.features)]
        if isinstance(x, pd.DataFrame) and self.arrays:
            if self.width is not None and len(x.columns) - len(data.groups) == self.width:
                x = x.drop(columns=list(data.groups))  # groups that are no features
            try:
                x = x.to_numpy(dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise InputError(
                    f"The model was fitted on an array, but {side} has columns that are not numbers ({error}). "
                    "Audit the pipeline that encodes them, or give the encoded array."
                ) from error
        return data.with_x(x)


def answers(predict: Predict, x, classes: int, scale: Scale) -> np.ndarray:
    """(records, classes) float64 answers of one model, checked."""
    found = np.asarray(predict(x), dtype=np.float64)
    if found.shape != (len(x), classes):
        raise InputError(f"Expected answers shaped {(len(x), classes)} (records, classes), found {found.shape}.")
    check_answers(found, scale)
    return found


def check_answers(found: np.ndarray, scale: Scale) -> None:
    """Raise where answers are NaN, or where "probabilities" are none."""
    broken = np.isnan(found).any(axis=1)
    if broken.any():
        raise InputError(
            f"The model answers NaN for {broken.sum()} of {len(found)} records, first in row {broken.argmax()}."
        )
    if scale == "logits":
        if np.isinf(found).any():
            raise InputError(
                "The model answers with infinite logits; if these are logarithms of probabilities, clip them."
            )
        return
    away = np.abs(found.sum(axis=1) - 1) > SUM_TOLERANCE
    outside = ((found < 0) | (found > 1 + SUM_TOLERANCE)).any(axis=1)
    wrong = away | outside
    if wrong.any():
        row = int(wrong.argmax())
        raise InputError(
            f"{wrong.sum()} of {len(found)} answers are no probabilities (row {row} holds "
            f"{np.array2string(found[row], precision=3, threshold=6)}, sum {found[row].sum():.4g}). "
            "If they are logits, say so: scale='logits', or --scale logits."
        )


def resolution_of(found: np.ndarray, scale: Scale) -> float:
    """The smallest probability a target tells apart from 0, judged by its answers."""
    return smallest_answer(found) if scale == "probabilities" else SMALLEST_PROBABILITY


def signals_of(found: np.ndarray, labels: np.ndarray, scale: Scale, smallest: float) -> dict[str, np.ndarray]:
    """Every signal of one model's answers, on whichever scale they are: name to (records,)."""
    if scale == "logits":
        return signals_of_logits(found, labels)
    return signals_of_probabilities(found, labels, smallest)


def as_target(model) -> Target:
    """A target from a fitted scikit-learn-style classifier, or the target itself."""
    if isinstance(model, Target):
        return model
    if hasattr(model, "get_params") and hasattr(model, "fit"):
        from guestlist.targets.estimators import estimator_target

        return estimator_target(model)
    if type(model).__module__.startswith("torch") or any(
        c.__module__.startswith("torch.nn") for c in type(model).__mro__
    ):
        raise InputError(
            "Wrap a torch module with gl.torch_target(module, classes=..., train=...), which says how it is trained."
        )
    if callable(model):
        raise InputError(
            "Wrap a function with gl.function_target(predict, classes=..., train=...), which says what its columns are."
        )
    raise InputError(
        f"Expected a fitted scikit-learn-style classifier, found {type(model).__name__}. "
        "For anything else use gl.function_target(predict, classes=..., train=...)."
    )


def function_target(
    predict: Predict,
    *,
    classes,
    train: Trainer | None = None,
    distil: SoftTrainer | None = None,
    scale: Scale = "probabilities",
    recipe: str | None = None,
    name: str | None = None,
) -> Target:
    """A target from a plain function.

    Args:
        predict: features to (records, classes) answers.
        classes: the labels, one per column of the answers.
        train: ``(data, rng) -> predict``; trains one reference on ``data.x`` and ``data.y`` with all its
            randomness from ``rng``. Without it, only the attacks that need no references run.
        distil: ``(data, soft, rng) -> predict``, the same with (records, classes) probabilities in the place of labels.
        scale: ``probabilities`` or ``logits``.
        recipe: text that identifies ``train`` across runs; by default its source code and what it closes over.
    """
    return Target(
        predict=predict,
        classes=np.asarray(classes),
        scale=scale,
        train=train,
        distil=distil,
        recipe=describe([train, distil] if distil else train) if recipe is None else recipe,
        name=name or getattr(predict, "__name__", type(predict).__name__),
    )
