"""Leaves of the records in a tree model, and the training counts in its file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from guestlist.calling import query
from guestlist.collecting.evidence.kind import MODEL_FILE, EvidenceType
from guestlist.collecting.evidence.plan import share_of_members
from guestlist.data import Data
from guestlist.games import Split
from guestlist.targets.target import Target
from guestlist.views.evidence import LeavesView


@dataclass(frozen=True)
class Leaves:
    """Look up the leaves of every record. They reveal features, so they are not written."""

    name: ClassVar[str] = "leaves"

    def check(self, target: Target, pool: Data, split: Split) -> None:
        target.needs("leaves", "{name} is not a model of trees that we know{why}. Leave 'leaves' out.")

    def take(self, target: Target, pool: Data, split: Split) -> LeavesView:
        rate, evaluated = share_of_members(split)
        leaf, tables, weight = query(target.needs("leaves"), pool.x)
        if tables is None:
            return LeavesView(leaf=leaf, held=None, by_class=False, bag=None, rate=rate, evaluated=evaluated)
        by_class = tables[0].ndim == 2
        classes = (target.classes_of(pool.y),) if by_class else ()
        held = np.stack([table[(leaf[:, tree], *classes)] for tree, table in enumerate(tables)], axis=1)
        return LeavesView(
            leaf=leaf,
            held=held,
            by_class=by_class,
            bag=np.array([table.sum() for table in tables]),
            rate=rate,
            evaluated=evaluated,
            weight=weight,
        )


EVIDENCE_TYPE = EvidenceType(
    plan=Leaves,
    view=LeavesView,
    summary="the leaves of a tree model, and the training counts that its file keeps",
    cost="nothing; not written, since it says much about features",
    missing=(
        "looks at the leaves of trees, and the target is not one that it knows: a tree, forest or boosted trees of "
        "scikit-learn, XGBoost or LightGBM, alone or last in a pipeline."
    ),
    attacker="has the model file",
    access=MODEL_FILE,
    target="a tree model",
    default=True,
)
