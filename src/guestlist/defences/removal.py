"""Leaving out the members with the largest risk.

They are members no more; who stood next to them may now stand out in their place (the onion effect, Carlini et al. 2022), so
what is judged is the rest, and those who left are told of by themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from guestlist.errors import InputError
from guestlist.fingerprints import described


@dataclass(frozen=True)
class Removal:
    """Train on the members but for the share of them with the largest risk; of several records of a person, all or none.

    Args:
        share: of the members that leave; 0 is plain training.
        risk: the column ``risk_<name>`` of an audit's table of records; any that is there, your own as well.
    """

    share: float = 0.1
    risk: str = "mu"

    def __post_init__(self):
        if not 0 <= self.share < 1:
            raise ValueError(f"Expected share={self.share} in [0, 1).")

    def leaving(self, records: pd.DataFrame) -> np.ndarray:
        """Ids of the members that leave, by an audit's table of records; those of equal risk in the order of their ids."""
        column = f"risk_{self.risk}"
        if column not in records:
            there = ", ".join(name.removeprefix("risk_") for name in records if _is_risk(name)) or "none"
            raise InputError(f"The audit has no risk {self.risk!r}; its risks are: {there}.")
        members = records[records["member"].to_numpy(dtype=bool)]
        risk = members[column].to_numpy(dtype=float)
        who = members["person" if "person" in members else "id"].astype(str)
        # A person is as exposed as the most exposed record; what has no risk is never removed for it.
        worst = pd.Series(np.where(np.isnan(risk), -np.inf, risk)).groupby(who.to_numpy()).max()
        order = worst.sort_index().sort_values(ascending=False, kind="stable")
        sizes = who.value_counts()[order.index].to_numpy()
        allowed = (np.cumsum(sizes) <= self.share * len(members) + 1e-9) & np.isfinite(order.to_numpy())
        return members["id"][who.isin(order.index[allowed])].to_numpy()

    def describe(self) -> str:
        return described(self)


def _is_risk(column) -> bool:
    return str(column).startswith("risk_") and not str(column).endswith(("_low", "_high"))
