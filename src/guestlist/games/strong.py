"""Strong-adversary game: one record against another, or against none, in many models with the same other records."""

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
    """Every model trains on the same others, and at random on one of two records, or on one record or none.

    Args:
        others: Number of records that every model trains on, drawn from the pool; None: all but the candidate records.
        against: ``another``: a second record replaces the first; ``nothing``: the first is included or excluded.
        record: Id of the first record; None: drawn at random, as the second always is.
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
        """True if one record replaces another; False if one record is added or removed."""
        return self.against == "another"

    def prepared(self, data: Data, ensemble: Ensemble, seed: int) -> Data:
        """Return the others and the one or two candidate records, which are marked."""
        order = stream(seed, "pool").permutation(len(data))
        if self.record is not None:
            matches = np.flatnonzero(data.ids.astype(str) == self.record)
            if len(matches) != 1:
                raise InputError(f"Expected one record with the id {self.record!r}, found {len(matches)}.")
            order = np.concatenate([matches, order[order != matches[0]]])
        candidates = 1 + self.replaces
        others = self.others
        if others is None:
            others = len(data) - candidates
        if not 1 <= others <= len(data) - candidates:
            raise InputError(
                f"Expected {candidates} of the records in question and {max(others, 1):,} others, found {len(data):,}."
            )
        marked = np.zeros(len(data), dtype=bool)
        marked[order[:candidates]] = True
        return data.changed(marked=marked).take(np.sort(order[: candidates + others]))

    def row(self, k: int, data: Data, seed: int) -> tuple[np.ndarray, np.ndarray]:
        if data.marked is None:
            raise InputError("No record is marked as the one in question: play the game with gl.play_many.")
        second = int(stream(seed, "rows", k).random() >= 0.5)
        member = ~data.marked
        member[np.flatnonzero(data.marked)[second : second + 1]] = True
        return member, data.marked
