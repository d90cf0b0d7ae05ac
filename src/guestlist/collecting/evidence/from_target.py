"""Evidence that the target itself gives at once, whenever it is at hand: it is not asked for, and not kept."""

from __future__ import annotations

import numpy as np

from guestlist.data import Data, encode
from guestlist.targets.target import Target
from guestlist.views.evidence import Leaves, Neighbourhood


def live_kinds(target: Target) -> set[str]:
    """The parts of ``Evidence`` that this target gives."""
    gives = {"neighbourhood": target.neighbours, "leaves": target.leaves}
    return {name for name, given in gives.items() if given}


def live_evidence(target: Target, pool: Data, sides: np.ndarray) -> dict[str, object]:
    """Those parts, by name."""
    asked = sides != "population"
    rate = float((sides[asked] == "members").mean())
    found: dict[str, object] = {}
    if target.neighbours:
        found["neighbourhood"] = Neighbourhood(*target.neighbours(pool.x), rate, asked)
    if target.leaves:
        found["leaves"] = _leaves(target, pool, rate, asked)
    return found


def _leaves(target: Target, pool: Data, rate: float, asked: np.ndarray) -> Leaves:
    leaf, tables, weight = target.leaves(pool.x)
    if tables is None:
        return Leaves(leaf, None, False, None, rate, asked)
    by_class = tables[0].ndim == 2
    own = (encode(pool.y, target.classes),) if by_class else ()
    held = np.stack([table[(leaf[:, tree], *own)] for tree, table in enumerate(tables)], axis=1)
    return Leaves(leaf, held, by_class, np.array([table.sum() for table in tables]), rate, asked, weight)
