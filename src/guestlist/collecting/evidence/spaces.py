"""SHAPr of each member in feature spaces of the target, such as a layer of a network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from guestlist.collecting.evidence.kind import EvidenceType
from guestlist.collecting.evidence.owners import collect_values, read_values
from guestlist.collecting.site import CollectContext
from guestlist.data import Data
from guestlist.errors import InputError
from guestlist.games import Split
from guestlist.neighbours.shapr import shapr_of_members
from guestlist.store import Store
from guestlist.targets.spaces import SPACES, space_of
from guestlist.targets.target import Target
from guestlist.views.evidence import OwnersView


@dataclass(frozen=True)
class Spaces:
    """Compute SHAPr in some spaces.

    Args:
        names: ``first_layer``, ``last_hidden`` or ``inputs``. The space of the target's outputs needs no evidence.
    """

    names: tuple[str, ...] = ("first_layer",)

    name: ClassVar[str] = "spaces"
    grows: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self):
        object.__setattr__(self, "names", (self.names,) if isinstance(self.names, str) else tuple(self.names))
        unknown = [name for name in self.names if name not in SPACES or name == "outputs"]
        if unknown or not self.names:
            raise ValueError(f"Expected names={self.names} among first_layer, last_hidden and inputs.")

    def check(self, target: Target, pool: Data, split: Split) -> None:
        if not target.scale.has_classes:
            raise InputError(f"{target.name} predicts values, and SHAPr is about classes. Leave 'spaces' out.")
        for name in self.names:
            space_of(target, name, pool.take(np.flatnonzero(split.members)[:2]).x)

    def collect(self, context: CollectContext) -> None:
        target = context.target

        def compute(data: Data, member: np.ndarray) -> dict[str, np.ndarray]:
            labels = target.labels_of(data.y)
            return {
                name: shapr_of_members(space_of(target, name, data.x), labels, member, ~member) for name in self.names
            }

        collect_values(context, self, compute)

    @staticmethod
    def read(store: Store) -> OwnersView | None:
        return read_values(store, Spaces.name)


EVIDENCE_TYPE = EvidenceType(
    plan=Spaces,
    view=OwnersView,
    summary="SHAPr of members in the space of a layer, or of the inputs",
    cost="a distance for each member and non-member, in each space",
    missing="looks at SHAPr, which takes the members to compute: it is for whoever trained the model.",
    owner=True,
)
