"""The records of two audits, pair by pair; what cannot be paired is refused."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from guestlist.arrays.samples import consecutive_codes
from guestlist.errors import InputError
from guestlist.findings.results import Results


@dataclass(frozen=True, eq=False)
class Side:
    """One audit: its name, its headline attack, and its records in an order that all audits share."""

    name: str
    attack: str
    records: pd.DataFrame
    results: Results

    @cached_property
    def member(self) -> np.ndarray:
        return self.records["member"].to_numpy(dtype=bool)

    @cached_property
    def persons(self) -> np.ndarray | None:
        return consecutive_codes(self.records["person"].to_numpy()) if "person" in self.records else None

    @cached_property
    def scores(self) -> np.ndarray:
        return self.values(f"score_{self.attack}")

    def values(self, column: str) -> np.ndarray:
        return self.records[column].to_numpy(dtype=float)

    def has(self, *columns: str) -> bool:
        return all(column in self.records for column in columns)


def side_of(name: str, results: Results) -> Side:
    """An audit as it is compared: its records by their ids."""
    if results.records is None or results.headline is None:
        raise InputError(f"The audit {name!r} has no table of records: read it from its folder, or audit again.")
    table = results.records.set_index("id").sort_index(kind="stable")
    if table.index.has_duplicates:
        raise InputError(f"In the audit {name!r} several records have one id, so that they cannot be paired.")
    attack = results.headline.name
    if f"score_{attack}" not in table:
        raise InputError(f"The audit {name!r} has no scores of its headline attack, {attack!r}: audit again.")
    return Side(name, attack, table, results)


def check_pairs(first: Side, second: Side) -> None:
    """Raise unless both have the same records, members and labels."""
    a = first.records
    b = second.records
    missing = len(a.index.symmetric_difference(b.index))
    if missing:
        raise InputError(
            f"{missing} records of {first.name!r} and {second.name!r} are not in both: audit the same members and "
            "non-members."
        )
    for column in ("member", "label"):
        unlike = int((a[column].astype(str) != b[column].astype(str)).sum())
        if unlike:
            raise InputError(
                f"{unlike} records have another {column} in {second.name!r} than in {first.name!r}: compare the same split."
            )
