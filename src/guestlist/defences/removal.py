"""Removal of the members with the largest risk.

Other members may become outliers instead (the onion effect, Carlini et al. 2022). The audit therefore evaluates the remaining
members, and reports the removed ones separately.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from guestlist.errors import InputError
from guestlist.fingerprints import described


@dataclass(frozen=True)
class Removal:
    """Train without the members that have the largest risk. Records of one person are removed together.

    Args:
        share: Share of the members to remove; 0 is plain training.
        risk: Name of a column ``risk_<name>`` in an audit's table of records, also of a custom risk.
    """

    share: float = 0.1
    risk: str = "mu"

    def __post_init__(self):
        if not 0 <= self.share < 1:
            raise ValueError(f"Expected share={self.share} in [0, 1).")

    def leaving(self, records: pd.DataFrame) -> np.ndarray:
        """Return the ids of the members to remove, from an audit's table of records; ties are in the order of ids."""
        column = f"risk_{self.risk}"
        if column not in records:
            names = ", ".join(name.removeprefix("risk_") for name in records if _is_risk(name)) or "none"
            raise InputError(f"The audit has no risk {self.risk!r}; its risks are: {names}.")
        members = records[records["member"].to_numpy(dtype=bool)]
        risk = members[column].to_numpy(dtype=float)
        who = members["person" if "person" in members else "id"].astype(str)
        # A person has the largest risk of their records. A record without a risk is never removed for it.
        worst = pd.Series(np.where(np.isnan(risk), -np.inf, risk)).groupby(who.to_numpy()).max()
        order = worst.sort_index().sort_values(ascending=False, kind="stable")
        sizes = who.value_counts()[order.index].to_numpy()
        allowed = (np.cumsum(sizes) <= self.share * len(members) + 1e-9) & np.isfinite(order.to_numpy())
        return members["id"][who.isin(order.index[allowed])].to_numpy()

    def describe(self) -> str:
        return described(self)


def _is_risk(column) -> bool:
    return str(column).startswith("risk_") and not str(column).endswith(("_low", "_high"))
