"""Members whose risk rose or fell: each is tested, and few of those named are named by chance.

A member's mu in one audit against that in the other, in standard errors. What chance alone does to this figure is not assumed
but seen: in either audit, two halves of the references are as far apart as equal recipes would be, with fewer models each, and
so rather further. The p-value is the share of records, over both audits, whose halves are as far apart, in either direction;
which is right on average over records, as Benjamini and Hochberg (1995) need it.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import false_discovery_control

from guestlist.arrays.conformal import conformal_p_values
from guestlist.comparing.comparison import RiskChanges
from guestlist.comparing.pairing import Side
from guestlist.risks.steadiness import standardised_difference

Q = 0.1
NEEDED = ("mu_estimate", "mu_error", "mu_halves")


def risk_changes(first: Side, second: Side) -> RiskChanges | None:
    """The members whose mu is shown to have changed; None where one audit did not record how sure it is."""
    if not all(side.has(*NEEDED) for side in (first, second)):
        return None
    far = standardised_difference(
        *(side.values(name) for side in (first, second) for name in ("mu_estimate", "mu_error"))
    )
    far = np.where(first.member, far, np.nan)
    halves = np.concatenate([side.values("mu_halves") for side in (first, second)])
    halves = halves[np.isfinite(halves)]
    chance = np.concatenate([halves, -halves])  # which half is the first says nothing
    ids = first.records.index.astype(str)
    rose, fell = (tuple(ids[rows]) for rows in (_significant_rows(far, chance), _significant_rows(-far, chance)))
    return RiskChanges(Q, int(np.isfinite(far).sum()), rose, fell)


def _significant_rows(far: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """Rows of those who are further than chance takes them, the furthest first."""
    tested = np.flatnonzero(np.isfinite(far))
    if not len(tested) or not len(chance):
        return np.array([], dtype=int)
    p_value = conformal_p_values(far[tested], chance)
    significant = tested[false_discovery_control(p_value) <= Q]
    return significant[np.argsort(-far[significant], kind="stable")]
