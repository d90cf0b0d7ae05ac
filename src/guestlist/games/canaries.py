"""Canaries: records that a model can hardly know but by heart, each in by a fair coin; everybody else always trains.

A bound on epsilon from one run needs coins, and records that leave a trace. Tossing for all records would cost half of them; of a
few hundred canaries nobody misses the half that stays out. A wrong label has to be learnt by heart, since nothing else
explains it (Steinke, Nasr & Jagielski 2023); the candidates that a small ensemble finds least likely are the ones to take.

Labels are changed, and canaries chosen, before anybody's coin is tossed, from a stream of their own and by models that are
trained on none of the candidates: neither says anything about who will be a member.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import pandas as pd

from guestlist.data import Data
from guestlist.errors import InputError
from guestlist.games.bernoulli import ENOUGH_OF_A_CLASS, person_numbers
from guestlist.games.game import Ensemble
from guestlist.randomness import stream

if TYPE_CHECKING:
    from guestlist.privacy import Coins

PER_CANARY = 4  # candidates, by default


@dataclass(frozen=True)
class Canaries:
    """So many canaries, of which every model trains on each with probability one half; it trains on all other records too.

    Args:
        count: of canaries, who are asked about; the others are not. No two are of one person.
        labels: ``wrong``: canaries get a label of others, drawn at random; ``own``: they keep theirs.
        candidates: from which canaries are chosen, those with the largest loss first; by default four for each, and no more than
            half of the records. As many as canaries: they are drawn at random.
        models: of the ensemble that the choice is left to, trained on all but the candidates.
    """

    count: int = 500
    labels: Literal["wrong", "own"] = "wrong"
    candidates: int | None = None
    models: int = 4

    name: ClassVar[str] = "canaries"

    def __post_init__(self):
        for option in ("count", "models"):
            if getattr(self, option) < 1:
                raise ValueError(f"Expected {option}={getattr(self, option)} to be 1 or more.")
        if self.candidates is not None and self.candidates < self.count:
            raise ValueError(f"Expected candidates={self.candidates} to be count={self.count} or more.")
        if self.labels not in ("wrong", "own"):
            raise ValueError(f"Expected labels={self.labels!r} to be 'wrong' or 'own'.")

    def prepared(self, data: Data, ensemble: Ensemble, seed: int) -> Data:
        """The same records, with canaries marked and, by default, mislabelled."""
        rng = stream(seed, "canaries")
        candidates = _able(data, rng)[: self._candidates(len(data))]
        if len(candidates) < self.count:
            raise InputError(
                f"Expected {self.count:,} records that can be canaries, found {len(candidates):,} of {len(data):,}: some of "
                "every class must stay as they are, and no two may be of one person. Ask for fewer."
            )
        changed = data.changed(y=_wrong(data.y, candidates, rng)) if self.labels == "wrong" else data
        if len(candidates) > self.count:
            others = np.setdiff1d(np.arange(len(data)), candidates)
            loss = ensemble(changed.take(others), changed.take(candidates), self.models).mean(axis=0)
            candidates = candidates[np.argsort(-loss, kind="stable")][: self.count]
        marked = np.zeros(len(data), dtype=bool)
        marked[candidates] = True
        y = data.y.copy()
        y[marked] = changed.y[marked]
        return data.changed(y=y, marked=marked)

    def row(self, k: int, data: Data, seed: int) -> tuple[np.ndarray, np.ndarray]:
        if data.marked is None:
            raise InputError("No record is marked as a canary: play the game with gl.play, which chooses them.")
        return ~data.marked | (stream(seed, "rows", k).random(len(data)) < 0.5), data.marked

    def membership(self, labels: np.ndarray) -> Coins:
        from guestlist.privacy import Coins

        return Coins()

    def _candidates(self, records: int) -> int:
        if self.candidates is None:
            return max(self.count, min(PER_CANARY * self.count, records // 2))
        return self.candidates


def _able(data: Data, rng: np.random.Generator) -> np.ndarray:
    """Records that can be canaries, in random order: one of each person, and never the last few of a class.

    Labels of a regression are nearly all different, and need not stay.
    """
    order = rng.permutation(len(data))
    labels = pd.Series(pd.factorize(data.y)[0][order])
    sizes = labels.map(labels.value_counts())
    kept = np.minimum(sizes, ENOUGH_OF_A_CLASS).where(sizes > 1, 0)
    order = order[(labels.groupby(labels).cumcount() >= kept).to_numpy()]
    return order[np.sort(np.unique(person_numbers(data)[order], return_index=True)[1])]


def _wrong(y: np.ndarray, records: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The labels, where some records have another than theirs, each with the same chance."""
    place, known = pd.factorize(y)
    if len(known) < 2:
        raise InputError(f"All records have label {y[0]}: there is no wrong one. Give labels='own'.")
    y = y.copy()
    y[records] = np.asarray(known)[(place[records] + rng.integers(1, len(known), size=len(records))) % len(known)]
    return y
