"""The interface of a game, and the split it draws: which model trains on which record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from guestlist import privacy
from guestlist.data import Data

# (training records, evaluated records, number of models) to (models, evaluated records) losses.
Ensemble = Callable[[Data, Data, int], np.ndarray]


class Game(Protocol):
    """Rule that draws members: a frozen dataclass with its options as fields.

    A game may also have these members:

    * ``allowed(evaluated, seed)``: (records,) true for the only records that references train on, given the evaluated
      records of model 0;
    * ``is_iid``: false if members may be drawn from a different population than non-members;
    * ``hides``: columns that the game needs and no model may see, since they would reveal membership.
    """

    name: ClassVar[str]

    def row(self, k: int, data: Data, seed: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Draw (records,) the training set of model ``k``, and (records,) its evaluated records; None: as for model 0.

        Every model draws from its own random stream, so adding models does not change the earlier ones.
        """


@runtime_checkable
class Preparing(Protocol):
    """A game that changes the records before members are drawn, independently of membership."""

    def prepared(self, data: Data, ensemble: Ensemble, seed: int) -> Data:
        """Return the records of the game; those that it singles out are marked."""


@runtime_checkable
class Provable(Protocol):
    """A game whose randomised inclusion supports a bound on epsilon from one run."""

    def membership(self, labels: np.ndarray) -> privacy.Coins | privacy.FixedSize | None:
        """Describe the draw of the target's members for records with these labels; None if no bound is valid."""


@runtime_checkable
class Trials(Game, Protocol):
    """A game in which every model is one trial: one of two records is included at random, or one or none."""

    @property
    def replaces(self) -> bool:
        """True if one record replaces another; False if one record is added or removed."""


def is_iid(game: Game) -> bool:
    """Return whether members and non-members differ only by chance, as bounds on attacks and epsilon assume.

    Args:
        game: Game with its options.

    Returns:
        True if they are exchangeable.
    """
    return getattr(game, "is_iid", True)


def hidden_columns(game: Game) -> tuple[str, ...]:
    """Return the columns that the game needs and no model may see.

    Args:
        game: Game with its options.

    Returns:
        Names of columns.
    """
    return getattr(game, "hides", ())


def draw(game: Game, data: Data, models: int, seed: int, start: Split | None = None) -> Split:
    """Draw the split of some models.

    Args:
        game: Game with its options.
        data: Records of the pool.
        models: Number of models.
        seed: Random seed.
        start: First rows of the split, if they are already known: the user's target, or rows drawn before.

    Returns:
        Training sets and evaluated records of all models.
    """
    rows: list[tuple[np.ndarray, np.ndarray | None]] = []
    if start is not None:
        rows = list(zip(start.member, start.evaluated, strict=True))[:models]
    if not rows:
        rows = [game.row(0, data, seed)]
    target_evaluated = rows[0][1]
    assert target_evaluated is not None, "a game names the evaluated records of model 0"
    allowed = np.ones(len(data), dtype=bool)
    if hasattr(game, "allowed"):
        allowed = game.allowed(target_evaluated, seed)
    part = data if allowed.all() else data.take(allowed)
    for k in range(len(rows), models):
        member, evaluated = game.row(k, part, seed)
        rows.append((_over_pool(member, allowed), evaluated if evaluated is None else _over_pool(evaluated, allowed)))
    return Split(
        np.stack([member for member, _ in rows]),
        np.stack([target_evaluated if evaluated is None else evaluated for _, evaluated in rows]),
    )


def _over_pool(values: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Return a mask over the whole pool, false outside the part."""
    pool = np.zeros(len(allowed), dtype=bool)
    pool[allowed] = values
    return pool


@dataclass(frozen=True)
class Split:
    """Training sets and evaluated records; model 0 is the target, the others are its references.

    Attributes:
        member: (models, records), true where a model trains on a record.
        evaluated: (models, records), true where the adversary predicts membership. Of the other records, members are known
            to be members, and non-members are the population, known not to be members.

    Raises:
        ValueError: If the two arrays are not boolean, (models, records) and of one shape.

    Examples:
        >>> member = np.array([[True, True, False, False]])
        >>> split = gl.games.Split(member, evaluated=np.array([[True, True, True, False]]))
        >>> split.nonmembers.tolist(), split.population.tolist()
        ([False, False, True, False], [False, False, False, True])
    """

    member: np.ndarray
    evaluated: np.ndarray

    def __post_init__(self):
        for name in ("member", "evaluated"):
            matrix = getattr(self, name)
            if matrix.dtype != bool or matrix.ndim != 2 or matrix.shape != self.member.shape:
                raise ValueError(
                    f"Expected {name} to be Boolean, with the shape (models, records) of member; found {matrix.dtype} "
                    f"shaped {matrix.shape}."
                )

    def __len__(self) -> int:
        """Return the number of models."""
        return len(self.member)

    @property
    def members(self) -> np.ndarray:
        """(records,) true for the target's members."""
        return self.member[0]

    @property
    def nonmembers(self) -> np.ndarray:
        """(records,) true for evaluated records that the target did not train on."""
        return self.evaluated[0] & ~self.member[0]

    @property
    def population(self) -> np.ndarray:
        """(records,) true for records that the target did not train on and that are not evaluated."""
        return ~self.evaluated[0] & ~self.member[0]

    @property
    def always_included(self) -> np.ndarray:
        """(records,) true for records that every model trains on and that are never evaluated."""
        return np.logical_and(~self.evaluated.any(axis=0), self.member.all(axis=0))

    def take(self, models) -> Split:
        """Return the split of some of the models."""
        return Split(self.member[models], self.evaluated[models])


def single_target_split(member: np.ndarray, evaluated: np.ndarray) -> Split:
    """Return a split of one model from (records,) masks.

    Args:
        member: (records,) true for the target's training records.
        evaluated: (records,) true where the adversary predicts membership.

    Returns:
        The split.
    """
    return Split(np.asarray(member, dtype=bool)[None], np.asarray(evaluated, dtype=bool)[None])
