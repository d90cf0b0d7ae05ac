"""How far the target's answer about each record follows the record's own label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from guestlist.collecting.evidence.kind import Kind
from guestlist.collecting.evidence.owners import collect_values, kept_values
from guestlist.collecting.site import Site
from guestlist.data import Data
from guestlist.games import Split
from guestlist.store import Store
from guestlist.targets.target import Target
from guestlist.views.evidence import OwnersView


@dataclass(frozen=True)
class Leverage:
    """Compute the leverage of every record that is asked about."""

    name: ClassVar[str] = "leverage"
    grows: ClassVar[tuple[str, ...]] = ()

    def check(self, target: Target, pool: Data, split: Split) -> None:
        target.needs(
            "leverage",
            "{name} is neither a linear, ridge or logistic regression of scikit-learn nor a torch target{why}. Leave "
            "'leverage' out.",
        )

    def collect(self, site: Site) -> None:
        find = site.target.needs("leverage")
        collect_values(site, self, lambda data, member: {"leverage": find(data, member)})

    @staticmethod
    def read(store: Store) -> OwnersView | None:
        return kept_values(store, Leverage.name)


KIND = Kind(
    plan=Leverage,
    view=OwnersView,
    summary="how far the answer about each record follows its own label",
    cost="one decomposition of the features, or of a network's last hidden layer",
    missing="looks at the leverage of records, which takes the members to compute: it is for whoever trained the model.",
    target="a linear, ridge or logistic regression, or a torch target",
    owner=True,
    default=True,
)
