"""Game in which an attribute is more common, or rarer, among members than among non-members."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from guestlist.data import MISSING, Data
from guestlist.games.mixture import Draw, Parts, check_sizes, column_of, drawn, reference


@dataclass(frozen=True)
class Bias:
    """A share of the members has the attribute, and half of the non-members; models are trained without it.

    Args:
        column: Name of the attribute; it is not a feature.
        value: Value of the attribute, as text.
        share: Share of the members that have it; at 0.5, members and non-members have one distribution.
        members, nonmembers: Numbers of records drawn.
        iid: True for the i.i.d. control, which draws the members from all drawn records.
        rate: Probability that a reference trains on a record; by default the target's share of the pool.
    """

    column: str
    value: str
    share: float
    members: int
    nonmembers: int
    iid: bool = False
    rate: float | None = None

    name: ClassVar[str] = "bias"

    def __post_init__(self):
        check_sizes(self.members, self.nonmembers, self.rate)
        if not 0 <= self.share <= 1:
            raise ValueError(f"Expected share={self.share} in [0, 1].")

    @property
    def hides(self) -> tuple[str, ...]:
        """Columns that no model may see."""
        return (self.column,)

    @property
    def is_iid(self) -> bool:
        """True if members and non-members differ only by chance."""
        return self.iid or self.share == 0.5

    def row(self, k: int, data: Data, seed: int) -> tuple[np.ndarray, np.ndarray | None]:
        if k:
            return reference(k, data, self.members, self.rate, seed), None
        return drawn(self.parts(data), data, iid=self.iid, seed=seed)

    def parts(self, data: Data) -> Parts:
        values = column_of(data, self.column)
        have = values == str(self.value)
        lack = ~have & (values != MISSING)  # Records without a value are neither members nor non-members.
        return Parts(self._with(have, lack, self.members, self.share), self._with(have, lack, self.nonmembers, 0.5))

    def _with(self, have: np.ndarray, lack: np.ndarray, count: int, share: float) -> list[Draw]:
        with_value = round(share * count)
        return [
            Draw(have, with_value, f"{self.column} = {self.value}"),
            Draw(lack, count - with_value, f"another {self.column} than {self.value}"),
        ]
