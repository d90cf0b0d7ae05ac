"""Evidence that the target itself gives at once, whenever it is at hand: it is not asked for, and not kept."""

from __future__ import annotations

import numpy as np

from guestlist.data import Data
from guestlist.targets.target import Target
from guestlist.views.evidence import Leaves, Neighbourhood


def live_kinds(target: Target) -> set[str]:
    """The parts of ``Evidence`` that this target gives."""
    gives = {"neighbourhood": "neighbours", "leaves": "leaves"}
    return {name for name, capability in gives.items() if capability in target.can}


def live_evidence(target: Target, pool: Data, sides: np.ndarray) -> dict[str, object]:
    """Those parts, by name."""
    asked = sides != "population"
    rate = float((sides[asked] == "members").mean())
    found: dict[str, object] = {}
    if "neighbours" in target.can:
        found["neighbourhood"] = Neighbourhood(*target.can["neighbours"](pool.x), rate, asked)
    if "leaves" in target.can:
        found["leaves"] = _leaves(target, pool, rate, asked)
    return found


def _leaves(target: Target, pool: Data, rate: float, asked: np.ndarray) -> Leaves:
    leaf, tables, weight = target.can["leaves"](pool.x)
    if tables is None:
        return Leaves(leaf, None, False, None, rate, asked)
    by_class = tables[0].ndim == 2
    own = (target.classes_of(pool.y),) if by_class else ()
    held = np.stack([table[(leaf[:, tree], *own)] for tree, table in enumerate(tables)], axis=1)
    return Leaves(leaf, held, by_class, np.array([table.sum() for table in tables]), rate, asked, weight)
