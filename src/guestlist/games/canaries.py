"""Games about single records: canaries, the strong adversary, and exchangeable pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import pandas as pd

from guestlist import privacy
from guestlist._util import choice, integer, stream
from guestlist.data import Data
from guestlist.errors import InputError
from guestlist.games.bernoulli import ENOUGH_OF_A_CLASS, person_numbers
from guestlist.games.game import Ensemble

PER_CANARY = 4  # candidates, by default


@dataclass(frozen=True)
class Canaries:
    """Every model trains on each canary with probability 0.5, and on all other records.

    Attributes:
        count: Number of canaries, the only evaluated records. No two are of one person.
        labels: ``wrong``: canaries get a random different label; ``own``: they keep theirs.
        candidates: Number of records that canaries are chosen from, those with the largest loss first; by default four per
            canary, and at most half of the records. If equal to ``count``, canaries are drawn at random.
        models: Size of the ensemble that ranks the candidates, trained on all other records.

    Raises:
        ValueError: If a number is less than 1, there are fewer candidates than canaries, or ``labels`` is unknown.

    Examples:
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> _, (x, y), _ = gl.testing.small_model()
        >>> game = gl.games.Canaries(40, candidates=40)
        >>> results = gl.play(game, DecisionTreeClassifier(), (x, y), references=0, attacks=["loss"])
        >>> results.subject.members + results.subject.nonmembers
        40
    """

    count: int = 500
    labels: Literal["wrong", "own"] = "wrong"
    candidates: int | None = None
    models: int = 4

    name: ClassVar[str] = "canaries"

    def __post_init__(self):
        integer("count", self.count, 1)
        integer("models", self.models, 1)
        if self.candidates is not None and self.candidates < self.count:
            raise ValueError(f"Expected candidates={self.candidates} to be count={self.count} or more.")
        choice("labels", self.labels, ("wrong", "own"))

    def prepared(self, data: Data, ensemble: Ensemble, seed: int) -> Data:
        """Return the records with canaries marked and, by default, mislabelled."""
        rng = stream(seed, "canaries")
        limit = self.candidates or max(self.count, min(PER_CANARY * self.count, len(data) // 2))
        candidates = _possible_canaries(data, rng)[:limit]
        if len(candidates) < self.count:
            raise InputError(
                f"{self.count:,} canaries were requested, but only {len(candidates):,} of {len(data):,} records can be "
                "canaries: some records of every class must stay unchanged, and no two canaries may belong to one "
                "person. Use fewer canaries."
            )
        changed = data
        if self.labels == "wrong":
            changed = data.changed(y=_mislabelled(data.y, candidates, rng))
        if len(candidates) > self.count:
            others = np.setdiff1d(np.arange(len(data)), candidates)
            loss = ensemble(changed.take(others), changed.take(candidates), self.models).mean(axis=0)
            candidates = candidates[np.argsort(-loss, kind="stable")][: self.count]
        marked = np.isin(np.arange(len(data)), candidates)
        return data.changed(y=np.where(marked, changed.y, data.y), marked=marked)

    def row(self, k: int, data: Data, seed: int) -> tuple[np.ndarray, np.ndarray]:
        if data.marked is None:
            raise InputError("No record is marked as a canary. Play the game with gl.play, which chooses the canaries.")
        return ~data.marked | (stream(seed, "rows", k).random(len(data)) < 0.5), data.marked

    def membership(self, labels: np.ndarray) -> privacy.Coins:
        return privacy.Coins()


def _possible_canaries(data: Data, rng: np.random.Generator) -> np.ndarray:
    """Return the records that can be canaries, in random order: one per person, and never the last few of a class.

    Labels of a regression are nearly all different, and none is reserved.
    """
    order = rng.permutation(len(data))
    labels = pd.Series(pd.factorize(data.y)[0][order])
    sizes = labels.map(labels.value_counts())
    reserved = np.minimum(sizes, ENOUGH_OF_A_CLASS).where(sizes > 1, 0)
    order = order[(labels.groupby(labels).cumcount() >= reserved).to_numpy()]
    return order[np.sort(np.unique(person_numbers(data)[order], return_index=True)[1])]


def _mislabelled(y: np.ndarray, records: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the labels, with a different label for some records, each equally likely."""
    codes, known = pd.factorize(y)
    if len(known) < 2:
        raise InputError(f"All records have label {y[0]}, so no label is wrong. Use labels='own'.")
    y = y.copy()
    y[records] = np.asarray(known)[(codes[records] + rng.integers(1, len(known), size=len(records))) % len(known)]
    return y


@dataclass(frozen=True)
class Strong:
    """Every model trains on the same records, and at random on one of two further records, or on one or none.

    Attributes:
        others: Number of records that every model trains on, drawn from the pool; None for all but the candidate records.
        against: ``another``: a second record replaces the first; ``nothing``: the first is included or excluded.
        record: Id of the first record; None draws it at random, as the second always is.

    Raises:
        ValueError: If ``others`` is less than 1, or ``against`` is unknown.

    Examples:
        >>> gl.games.Strong(against="nothing").replaces  # a bound about adding or removing one record
        False
    """

    others: int | None = None
    against: Literal["another", "nothing"] = "another"
    record: str | None = None

    name: ClassVar[str] = "strong"

    def __post_init__(self):
        if self.others is not None:
            integer("others", self.others, 1)
        choice("against", self.against, ("another", "nothing"))

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
                raise InputError(
                    f"{len(matches)} records have the id {self.record!r}; the game needs exactly one. Check record=."
                )
            order = np.concatenate([matches, order[order != matches[0]]])
        candidates = 1 + self.replaces
        others = self.others
        if others is None:
            others = len(data) - candidates
        if not 1 <= others <= len(data) - candidates:
            raise InputError(
                f"The game needs {candidates} candidate records and {max(others, 1):,} others; found {len(data):,} "
                "records. Provide more records, or use fewer others."
            )
        marked = np.isin(np.arange(len(data)), order[:candidates])
        return data.changed(marked=marked).take(np.sort(order[: candidates + others]))

    def row(self, k: int, data: Data, seed: int) -> tuple[np.ndarray, np.ndarray]:
        if data.marked is None:
            raise InputError("No record is marked as the candidate. Play the game with gl.play_many.")
        second = int(stream(seed, "rows", k).random() >= 0.5)
        member = ~data.marked
        member[np.flatnonzero(data.marked)[second : second + 1]] = True
        return member, data.marked


@dataclass(frozen=True)
class Exchangeable:
    """Every model draws members and one more record; the adversary distinguishes that record from a member.

    Attributes:
        members: Number of records that each model trains on.

    Raises:
        ValueError: If ``members`` is less than 1.

    Examples:
        >>> gl.games.Exchangeable(1000).replaces  # a bound about replacing one record
        True
    """

    members: int

    name: ClassVar[str] = "exchangeable"
    replaces: ClassVar[bool] = True

    def __post_init__(self):
        integer("members", self.members, 1)

    def row(self, k: int, data: Data, seed: int) -> tuple[np.ndarray, np.ndarray]:
        if self.members >= len(data):
            raise InputError(
                f"The game needs members={self.members} and one more record; found {len(data)}. Provide more records."
            )
        # All orders are equally likely, so each of the last two records is the member with probability 0.5.
        rank = np.argsort(stream(seed, "rows", k).permutation(len(data)))
        return rank < self.members, (rank == self.members - 1) | (rank == self.members)
