"""What every game is: a value that draws, model by model, who trains on what and what the adversary is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

import numpy as np

from guestlist.data import Data
from guestlist.games.split import Split

if TYPE_CHECKING:  # loads what takes a second, and every process that trains a reference loads this file
    from guestlist.privacy import Coins, FixedSize

# (records to train on, records to ask about, how many models) to (models, records asked about) losses.
Ensemble = Callable[[Data, Data, int], np.ndarray]


class Game(Protocol):
    """How members are chosen. A frozen dataclass whose fields are the options."""

    name: ClassVar[str]

    def row(self, k: int, data: Data, seed: int) -> tuple[np.ndarray, np.ndarray | None]:
        """(records,) whom model ``k`` trains on, and (records,) whom the adversary is asked about; None: as for model 0.

        Every model draws from a stream of its own, so that more of them later leave the earlier ones as they were.
        """
        ...


@runtime_checkable
class Restricted(Protocol):
    """A game whose references train on records of a part of the pool only."""

    def allowed(self, asked: np.ndarray, seed: int) -> np.ndarray:
        """(records,) true for the records of that part, where ``asked`` are those that model 0 is asked about."""
        ...


@runtime_checkable
class Dependent(Protocol):
    """A game whose members may be other people than its non-members."""

    @property
    def is_iid(self) -> bool:
        """Whether members and non-members differ by chance alone."""
        ...


@runtime_checkable
class Hiding(Protocol):
    """A game that rests on columns which no model may see: they would tell members by themselves."""

    @property
    def hides(self) -> tuple[str, ...]: ...


@runtime_checkable
class Preparing(Protocol):
    """A game that changes the records before members are drawn. Who will be a member it cannot know."""

    def prepared(self, data: Data, ensemble: Ensemble, seed: int) -> Data:
        """The records that are played with; those that the game singles out are marked."""
        ...


@runtime_checkable
class Provable(Protocol):
    """A game whose draw a bound on epsilon from one run can rest on."""

    def membership(self, labels: np.ndarray) -> Coins | FixedSize | None:
        """How the target's members were drawn, where the records have these labels; None: by coins that are not fair."""
        ...


@runtime_checkable
class Trials(Game, Protocol):
    """A game in which every model is a trial of its own, with one coin: who of two records is in, or whether one is."""

    @property
    def replaces(self) -> bool:
        """Whether one record is in the place of another, and not one record more or less."""
        ...


def is_iid(game: Game) -> bool:
    """Whether members and non-members differ by chance alone: what bounds on attacks and on epsilon rest on."""
    return not isinstance(game, Dependent) or game.is_iid


def hidden_columns(game: Game) -> tuple[str, ...]:
    """Columns that the game needs and no model may see."""
    return game.hides if isinstance(game, Hiding) else ()


def draw(game: Game, data: Data, models: int, seed: int, given: Split | None = None) -> Split:
    """The split of so many models.

    Args:
        given: the first rows, where they are known already: a user's own target, or what was drawn before.
    """
    rows = [] if given is None else list(zip(given.member, given.evaluated, strict=True))[:models]
    if not rows:
        rows = [game.row(0, data, seed)]
    of_target = rows[0][1]
    allowed = game.allowed(of_target, seed) if isinstance(game, Restricted) else np.ones(len(data), dtype=bool)
    part = data if allowed.all() else data.take(allowed)
    for k in range(len(rows), models):
        member, asked = game.row(k, part, seed)
        rows.append((_spread(member, allowed), None if asked is None else _spread(asked, allowed)))
    return Split(
        np.stack([member for member, _ in rows]),
        np.stack([of_target if asked is None else asked for _, asked in rows]),
    )


def _spread(of_part: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """(records,) of the whole pool, false outside the part."""
    whole = np.zeros(len(allowed), dtype=bool)
    whole[allowed] = of_part
    return whole
