"""Leverage: how strongly the target's output for each record follows the record's own label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from guestlist.collecting.evidence.kind import EvidenceType
from guestlist.collecting.evidence.owners import collect_values, read_values
from guestlist.collecting.site import CollectContext
from guestlist.data import Data
from guestlist.errors import InputError
from guestlist.games import Split
from guestlist.store import Store
from guestlist.targets.target import Target
from guestlist.views.evidence import OwnersView


@dataclass(frozen=True)
class Leverage:
    """Compute the leverage of every evaluated record.

    Args:
        most: Largest number of multiplications; with more it is not collected by default.
    """

    most: float = 1e11

    name: ClassVar[str] = "leverage"
    grows: ClassVar[tuple[str, ...]] = ()

    def check(self, target: Target, pool: Data, split: Split) -> None:
        find: Any = target.needs(
            "leverage",
            "{name} is neither a linear, ridge or logistic regression of scikit-learn nor a torch target{why}. Leave "
            "'leverage' out.",
        )
        takes = find.takes(pool)
        if takes > self.most:
            raise InputError(
                f"The leverage of {len(pool):,} records takes about {takes:.0e} multiplications, and most={self.most:.0e} are "
                f"allowed. Give gl.Leverage(most={2 * takes:.0e}) (--evidence leverage:most={2 * takes:.0e}), or leave "
                "'leverage' out."
            )

    def __post_init__(self):
        if not self.most > 0:
            raise ValueError(f"Expected most={self.most} above 0.")

    def collect(self, context: CollectContext) -> None:
        def compute(data: Data, member: np.ndarray) -> dict[str, np.ndarray]:
            return {"leverage": context.target.needs("leverage")(data, member)}

        collect_values(context, self, compute)

    @staticmethod
    def read(store: Store) -> OwnersView | None:
        return read_values(store, Leverage.name)


EVIDENCE_TYPE = EvidenceType(
    plan=Leverage,
    view=OwnersView,
    summary="how far the answer about each record follows its own label",
    cost="one decomposition of the features, or of a network's last hidden layer",
    missing="looks at the leverage of records, which takes the members to compute: it is for whoever trained the model.",
    target="a linear, ridge or logistic regression, or a torch target",
    owner=True,
    default=True,
)
