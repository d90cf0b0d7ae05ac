"""Targets with an output defence, and references with the same defence: the attacker knows it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from guestlist._util import choice
from guestlist.data import Data, as_data, encode
from guestlist.defences import ATTACKERS, OutputDefence, OutputTransform, Training, written
from guestlist.errors import InputError
from guestlist.models.scales import Probabilities, Scale
from guestlist.models.target import Predict, Target, as_target, query


def with_output_defence(
    model,
    defence: OutputDefence,
    *,
    members: Any = None,
    label: str | None = None,
    seed: int = 0,
    attacker: str = "adaptive",
) -> Target:
    """Return a target whose outputs an output defence changes.

    Args:
        model: Target, or fitted scikit-learn-style classifier.
        defence: Output defence such as ``Rounded(2)``, ``LabelOnly()`` or ``MemGuard(held_out)``.
        members: Training records, for a defence that learns from them.
        label: Label column of ``members``, if they are a table.
        seed: Random seed of the defence.
        attacker: ``adaptive`` has references with the same defence; ``naive`` does not know the defence.

    Returns:
        The target, for ``audit`` and the other entry points.

    Raises:
        InputError: If ``defence`` is no output defence, the model predicts values, or the defence needs ``members``.
        ValueError: If ``attacker`` is unknown.
    """
    target = as_target(model)
    if not isinstance(defence, OutputDefence):
        raise InputError(f"{type(defence).__name__} is not an output defence. Pass for example gl.defences.Rounded(2).")
    if not target.scale.has_classes:
        raise InputError(
            f"{target.name} predicts values, and {type(defence).__name__} changes probabilities of classes. Use a classifier."
        )
    choice("attacker", attacker, ATTACKERS)
    adaptive = attacker == "adaptive"
    if hasattr(defence, "held_out"):
        defence = replace(defence, held_out=target.fitting(defence.held_out, "held_out"))  # type: ignore[type-var]
    data = None
    if defence.learns:
        if members is None:
            raise InputError(
                f"{type(defence).__name__} is fitted on the records that the model was trained on. Pass members=."
            )
        records = target.fitting(as_data(members, side="members", label=label), "members")
        data = replace(records, y=encode(records.y, target.classes))
    training = target.training or Training(target.name)
    if training.attacker == "naive":
        attacker = "naive"
    predict = DefendedPredict(target.predict, target.scale)
    can = dict(target.can)
    for name in {"train", "distil"} & can.keys():
        can[name] = partial(
            _train_defended,
            train=can[name],
            defence=defence if adaptive else None,
            scale=target.scale,
            classes=target.classes,
        )
    return replace(
        target,
        predict=replace(predict, transform=defence.begin(partial(query, predict), data, np.random.default_rng(seed))),
        scale=Probabilities(),
        can={name: function for name, function in can.items() if name not in UNDEFENDED},
        cannot={**target.cannot, **dict.fromkeys(UNDEFENDED, "an output defence changes its outputs")},
        recipe=f"{target.recipe}\n{defence.describe() if adaptive else 'as probabilities'}",
        name=f"{target.name}, {type(defence).__name__}",
        training=replace(training, recipe=f"{training.recipe}, {written(defence)}", attacker=attacker),
    )


# Capabilities that read the model instead of its outputs: no output defence protects them. Retraining would lose the defence.
UNDEFENDED = ("white_box", "leaves", "neighbours", "checkpoints", "retrain")


@dataclass(frozen=True)
class DefendedPredict:
    """Probabilities of a model on any scale with classes, as a defence changes them; None does not change them."""

    predict: Predict
    scale: Scale
    transform: OutputTransform | None = None

    def __call__(self, x) -> np.ndarray:
        probabilities = np.asarray(self.scale.soft(np.asarray(self.predict(x), dtype=np.float64)))
        if self.transform is None:
            return probabilities
        return self.transform(probabilities)


def _train_defended(
    data: Data, *arguments, train: Callable, defence: OutputDefence | None, scale: Scale, classes: np.ndarray
) -> Predict:
    """Train one reference with the target's output defence; None outputs probabilities."""
    known = None
    if defence is not None and defence.learns:
        known = data.changed(y=encode(data.y, classes))
        data = data.copied()  # a model may write on its training records, which the defence reads afterwards
    predict = DefendedPredict(train(data, *arguments), scale)
    if defence is None:
        return predict
    return replace(predict, transform=defence.begin(partial(query, predict), known, arguments[-1]))
