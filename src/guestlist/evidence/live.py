"""Evidence that the target itself gives at once, whenever it is at hand: it is not asked for, and not kept."""

from __future__ import annotations

import numpy as np

from guestlist.data import Data
from guestlist.evidence.views import Neighbourhood
from guestlist.targets.target import Target


def live_kinds(target: Target) -> set[str]:
    """The parts of ``Evidence`` that this target gives."""
    return {"neighbourhood"} if target.neighbours else set()


def live_evidence(target: Target, pool: Data, sides: np.ndarray) -> dict[str, object]:
    """Those parts, by name."""
    if not target.neighbours:
        return {}
    asked = sides != "population"
    rate = float((sides[asked] == "members").mean())
    return {"neighbourhood": Neighbourhood(*target.neighbours(pool.x), rate, asked)}
