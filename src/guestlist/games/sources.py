"""Game with members from one source of records, such as a hospital, and non-members from others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from guestlist.data import MISSING, Data
from guestlist.errors import InputError
from guestlist.games.mixture import Draw, Parts, check_sizes, column_of, drawn, reference


@dataclass(frozen=True)
class Sources:
    """The target trains on records of one hospital, school or region; non-members come from others.

    Args:
        column: Name of the column that holds the source; it is not a feature.
        of_members: Source of the members, as text.
        of_nonmembers: Source of the non-members; None: any other.
        members, nonmembers: Numbers of records drawn; None: all of them.
        iid: True for the i.i.d. control, which draws the members from all drawn records.
        rate: Probability that a reference trains on a record; by default the target's share of the pool.
    """

    column: str
    of_members: str
    of_nonmembers: str | None = None
    members: int | None = None
    nonmembers: int | None = None
    iid: bool = False
    rate: float | None = None

    name: ClassVar[str] = "sources"

    def __post_init__(self):
        check_sizes(self.members, self.nonmembers, self.rate)
        if self.of_members == self.of_nonmembers:
            raise ValueError(f"Expected of_nonmembers={self.of_nonmembers!r} to be another than of_members.")

    @property
    def hides(self) -> tuple[str, ...]:
        """Columns that no model may see."""
        return (self.column,)

    @property
    def is_iid(self) -> bool:
        """True if members and non-members differ only by chance."""
        return self.iid

    def row(self, k: int, data: Data, seed: int) -> tuple[np.ndarray, np.ndarray | None]:
        if k:
            members = self.members or int((column_of(data, self.column) == str(self.of_members)).sum())
            return reference(k, data, members, self.rate, seed), None
        return drawn(self.parts(data), data, iid=self.iid, seed=seed)

    def parts(self, data: Data) -> Parts:
        values = column_of(data, self.column)
        of_members = values == str(self.of_members)
        if self.of_nonmembers is None:
            others = ~of_members & (values != MISSING)  # Records without a source are not drawn.
        else:
            others = values == str(self.of_nonmembers)
        for wanted, part in ((self.of_members, of_members), (self.of_nonmembers, others)):
            if not part.any():
                known = ", ".join(map(str, np.unique(values)[:10]))
                raise InputError(f"No record has {self.column} = {wanted}; there are {known}.")
        return Parts(
            members=[Draw(of_members, self.members, f"{self.column} = {self.of_members}")],
            nonmembers=[Draw(others, self.nonmembers, f"{self.column} = {self.of_nonmembers or 'another'}")],
        )
