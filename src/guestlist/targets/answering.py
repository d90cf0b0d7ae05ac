"""A target that answers in another way, and references that answer so too: the attacker knows the defence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from guestlist.calling import OnCopies
from guestlist.data import Data, as_data, encode
from guestlist.defences.answers import Answering, Say
from guestlist.defences.training import Training, check_attacker, written
from guestlist.errors import InputError
from guestlist.targets.scales import Probabilities, Scale
from guestlist.targets.target import Predict, Target, as_target


def answering(
    model, how: Answering, *, members: Any = None, label: str | None = None, seed: int = 0, attacker: str = "adaptive"
) -> Target:
    """The target that says what ``how`` makes of its answers.

    Args:
        model: a target, or a fitted scikit-learn-style classifier.
        how: such as ``Rounded(2)``, ``LabelOnly()`` or ``MemGuard(held_out)``.
        members: the records it was trained on, for a way that learns from them.
        label: the column of the label in ``members``, if they are a table.
        seed: of what the way draws.
        attacker: ``adaptive`` has references that answer in the same way; ``naive`` does not know of it.
    """
    target = as_target(model)
    if not isinstance(how, Answering):
        raise InputError(f"Expected a way to answer such as gl.Rounded(2), found {type(how).__name__}.")
    if not target.scale.has_classes:
        raise InputError(f"{target.name} predicts values; {type(how).__name__} changes probabilities of classes.")
    check_attacker(attacker)
    if hasattr(how, "held_out"):
        how = replace(how, held_out=target.fitting(how.held_out, "held_out"))  # type: ignore[type-var]
    data = None
    if how.learns:
        if members is None:
            raise InputError(
                f"{type(how).__name__} learns from the records that the model was trained on: give members=…."
            )
        given = target.fitting(as_data(members, side="members", label=label), "members")
        data = replace(given, y=encode(given.y, target.classes))
    ask = Ask(target.predict, target.scale)
    can = dict(target.can)
    for name in ("train", "distil"):
        if name in can:
            can[name] = Trained(can[name], how if attacker == "adaptive" else None, target.scale, target.classes)
    return replace(
        target,
        predict=Said(ask, how.begin(OnCopies(ask), data, np.random.default_rng(seed))),
        scale=Probabilities(),
        can={name: function for name, function in can.items() if name not in (*LOOKING, "retrain")},
        cannot={**target.cannot, **dict.fromkeys((*LOOKING, "retrain"), "its answers are not its own")},
        recipe=f"{target.recipe}\n{how.describe() if attacker == 'adaptive' else 'as probabilities'}",
        name=f"{target.name}, {type(how).__name__}",
        training=_training(target, how, attacker),
    )


def _training(target: Target, how: Answering, attacker: str) -> Training:
    """How the model was trained, and how it answers."""
    before = target.training or Training(target.name)
    naive = "naive" in (before.attacker, attacker)
    return replace(before, recipe=f"{before.recipe}, {written(how)}", attacker="naive" if naive else "adaptive")


# What looks past the answers, into the model: an attacker who has it is not stopped by any way to answer.
LOOKING = ("white_box", "leaves", "neighbours", "checkpoints")


@dataclass(frozen=True)
class Ask:
    """A model's probabilities, whatever its answers are."""

    predict: Predict
    scale: Scale

    def __call__(self, x) -> np.ndarray:
        return np.asarray(self.scale.soft(np.asarray(self.predict(x), dtype=np.float64)))


@dataclass(frozen=True)
class Said:
    """What a model says in the place of its probabilities."""

    ask: Ask
    say: Say

    def __call__(self, x) -> np.ndarray:
        return self.say(self.ask(x))


@dataclass(frozen=True)
class Trained:
    """Train one reference, and let it answer as the target does; None: as probabilities."""

    train: Callable
    how: Answering | None
    scale: Scale
    classes: np.ndarray

    def __call__(self, data: Data, *more) -> Predict:
        rng = more[-1]
        learns = self.how is not None and self.how.learns
        # A model may write on what it is trained on, and the records are read once more below.
        ask = Ask(self.train(data.copied() if learns else data, *more), self.scale)
        if self.how is None:
            return ask
        known = data.changed(y=encode(data.y, self.classes)) if learns else None
        return Said(ask, self.how.begin(OnCopies(ask), known, rng))
