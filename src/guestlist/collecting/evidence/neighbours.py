"""Feature space of a K-NN target: outputs of other models are then computed instead of trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from guestlist.calling import query
from guestlist.collecting.evidence.kind import EvidenceType
from guestlist.collecting.evidence.plan import share_of_members
from guestlist.data import Data
from guestlist.games import Split
from guestlist.targets.target import Target
from guestlist.views.evidence import NeighboursView


@dataclass(frozen=True)
class Neighbours:
    """Take the space of the target's distances. It holds features, so it is not written."""

    name: ClassVar[str] = "neighbours"

    def check(self, target: Target, pool: Data, split: Split) -> None:
        target.needs("neighbours", "{name} is not a K-NN model that we know{why}. Leave 'neighbours' out.")

    def take(self, target: Target, pool: Data, split: Split) -> NeighboursView:
        x, k, metric = query(target.needs("neighbours"), pool.x)
        rate, evaluated = share_of_members(split)
        return NeighboursView(x=x, k=k, metric=metric, rate=rate, evaluated=evaluated)


EVIDENCE_TYPE = EvidenceType(
    plan=Neighbours,
    view=NeighboursView,
    summary="the space in which a K-NN target measures distances",
    cost="nothing; not written, since it holds features",
    missing=(
        "computes what K-NN models would say, and the target is not one that it knows: a scikit-learn "
        "KNeighborsClassifier with uniform weights and euclidean or cosine distances, alone or last in a pipeline."
    ),
    target="a K-NN target",
    default=True,
    on_mocks=True,
)
