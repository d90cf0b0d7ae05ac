"""What every game is: a value that draws, model by model, who trains on what and what the adversary is asked."""

from __future__ import annotations

from typing import ClassVar, Protocol

import numpy as np

from guestlist.data import Data
from guestlist.games.split import Split


class Game(Protocol):
    """How members are chosen. A frozen dataclass whose fields are the options."""

    name: ClassVar[str]

    def row(self, k: int, data: Data, seed: int) -> tuple[np.ndarray, np.ndarray | None]:
        """(records,) whom model ``k`` trains on, and (records,) whom the adversary is asked about; None: as for model 0.

        Every model draws from a stream of its own, so that more of them later leave the earlier ones as they were.
        """
        ...


def draw(game: Game, data: Data, models: int, seed: int, given: Split | None = None) -> Split:
    """The split of so many models.

    Args:
        given: the first rows, where they are known already: a user's own target, or what was drawn before.
    """
    first = [] if given is None else list(zip(given.member, given.asked, strict=True))[:models]
    rows = [*first, *(game.row(k, data, seed) for k in range(len(first), models))]
    of_target = rows[0][1]
    return Split(
        np.stack([member for member, _ in rows]),
        np.stack([of_target if asked is None else asked for _, asked in rows]),
    )
