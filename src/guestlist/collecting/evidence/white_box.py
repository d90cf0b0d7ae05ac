"""What the target's own parameters say about each record, to an attacker who knows a part of the answer.

The attacker holds the model itself, and knows of some records whether it trained on them; those teach a classifier, and
the others are asked about (Nasr et al. 2019).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from guestlist.collecting.evidence.plan import Site, begin_plan, noted, place
from guestlist.data import Data
from guestlist.errors import InputError
from guestlist.randomness import stream
from guestlist.store import Store, reading
from guestlist.store.files import read_npz, write_npz
from guestlist.targets.target import Target
from guestlist.views.evidence import WhiteBox


@dataclass(frozen=True)
class Inner:
    """Look into the target: gradients, activations, logits.

    Args:
        known: share of the members, and of the non-members, that the attacker knows; these get no score.
    """

    known: float = 0.5

    name: ClassVar[str] = "inner"
    grows: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self):
        if not 0 < self.known < 1:
            raise ValueError(f"Expected known={self.known} in (0, 1).")

    def check(self, target: Target, pool: Data, sides: np.ndarray) -> None:
        target.needs(
            "white_box",
            "The white box needs a torch target, whose gradients can be computed; {name} is not one{why}. Leave 'inner' "
            "out, or wrap the module with gl.torch_target(module, …).",
        )
        for side in ("members", "nonmembers"):
            count = int((sides == side).sum())
            if not 0 < round(self.known * count) < count:
                raise InputError(
                    f"Of {count} {side}, known={self.known} leaves none to learn from, or none to ask about."
                )

    def collect(self, site: Site) -> None:
        begin_plan(site.store, self)
        path = _path(site.store)
        if path.exists():
            return
        sides = site.store.pool()["side"].to_numpy()
        asked = np.flatnonzero(sides != "population")
        found = site.target.needs("white_box")(site.pool.take(asked).x, site.readout.labels[asked])
        features = np.full((len(sides), len(found.names)), np.nan)
        features[asked] = found.features
        write_npz(path, features=features, names=np.array(found.names), known=self._known(sides, site.seed))

    def _known(self, sides: np.ndarray, seed: int) -> np.ndarray:
        """(records,) true for those drawn: the same share of members as of non-members."""
        rng, known = stream(seed, "evidence", *b"inner"), np.zeros(len(sides), dtype=bool)
        for side in ("members", "nonmembers"):
            records = np.flatnonzero(sides == side)
            known[rng.permutation(records)[: round(self.known * len(records))]] = True
        return known

    @staticmethod
    def read(store: Store) -> WhiteBox | None:
        """Membership goes out for known records only."""
        if noted(store, Inner.name) is None or not _path(store).exists():
            return None
        kept = reading(_path(store), read_npz)
        member = (store.pool()["side"] == "members").to_numpy() & kept["known"]
        return WhiteBox(kept["features"], tuple(map(str, kept["names"])), kept["known"], member)


def _path(store: Store) -> Path:
    return place(store, Inner.name) / "features.npz"
