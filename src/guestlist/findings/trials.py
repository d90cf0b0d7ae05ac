"""One score of every model, in games in which each model is a trial.

No other model is looked at for a score, so that trials stay independent of each other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from guestlist.case import Case
from guestlist.games import Split, Trials, game_of

SIGNAL = "margin"


@dataclass(frozen=True)
class Runs:
    """Trials, one of each model.

    Args:
        scores: (models,) how much better the model fits the first record in question than the second, if there is one.
        member: (models,) whether the first was in.
        replaced: whether the second was in where the first was not.
    """

    scores: np.ndarray
    member: np.ndarray
    replaced: bool


def trials_of(case: Case) -> Runs | None:
    """None where a game has one target, and the others are its references."""
    if case.setting.predictions or case.truth.models is None:
        return None
    game = game_of(dict(case.setting.game))
    if not isinstance(game, Trials):
        return None
    return Runs(*scored(case.view.values[SIGNAL], case.truth.models), game.replaces)


def scored(signal: np.ndarray, models: Split) -> tuple[np.ndarray, np.ndarray]:
    """Scores and membership of the first of the records in question, by (models, records) what models say about them."""
    every = np.arange(len(signal))
    first = models.evaluated.argmax(axis=1)
    last = models.evaluated.shape[1] - 1 - models.evaluated[:, ::-1].argmax(axis=1)
    alone = first == last
    second = np.where(alone, 0.0, signal[every, last])
    return signal[every, first] - second, models.member[every, first]
