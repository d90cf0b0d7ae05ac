"""One record against another, or against nobody, in many models: what an adversary reaches who knows all the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from guestlist.data import Data
from guestlist.errors import InputError
from guestlist.games.game import Ensemble
from guestlist.randomness import stream


@dataclass(frozen=True)
class Strong:
    """Every model trains on the same others and on one of two records, or on one record or not: a coin decides, for each model.

    Args:
        others: records that every model trains on, drawn from the pool; None: all but those in question.
        against: ``another``: a second record is in where the first is not; ``nothing``: the first is in, or left out.
        record: the id of the first; None: drawn at random, as the second always is.
    """

    others: int | None = None
    against: Literal["another", "nothing"] = "another"
    record: str | None = None

    name: ClassVar[str] = "strong"

    def __post_init__(self):
        if self.others is not None and self.others < 1:
            raise ValueError(f"Expected others={self.others} to be 1 or more.")
        if self.against not in ("another", "nothing"):
            raise ValueError(f"Expected against={self.against!r} to be 'another' or 'nothing'.")

    @property
    def replaces(self) -> bool:
        """Whether one record is in the place of another, and not one record more or less."""
        return self.against == "another"

    def prepared(self, data: Data, ensemble: Ensemble, seed: int) -> Data:
        """The others, and the one or two records in question, marked."""
        order = stream(seed, "pool").permutation(len(data))
        if self.record is not None:
            named = np.flatnonzero(data.ids.astype(str) == self.record)
            if len(named) != 1:
                raise InputError(f"Expected one record with the id {self.record!r}, found {len(named)}.")
            order = np.concatenate([named, order[order != named[0]]])
        asked = 2 if self.replaces else 1
        others = len(data) - asked if self.others is None else self.others
        if not 1 <= others <= len(data) - asked:
            raise InputError(
                f"Expected {asked} of the records in question and {max(others, 1):,} others, found {len(data):,}."
            )
        marked = np.zeros(len(data), dtype=bool)
        marked[order[:asked]] = True
        return data.changed(marked=marked).take(np.sort(order[: asked + others]))

    def row(self, k: int, data: Data, seed: int) -> tuple[np.ndarray, np.ndarray]:
        if data.marked is None:
            raise InputError("No record is marked as the one in question: play the game with gl.play_many.")
        first = stream(seed, "rows", k).random() < 0.5
        inside = np.flatnonzero(data.marked)[0 if first else 1 :][:1]
        member = ~data.marked
        member[inside] = True
        return member, data.marked
