"""Members from one cluster of every class, non-members from the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from guestlist.data import Data
from guestlist.errors import InputError
from guestlist.games.mixture import Draw, Parts, check_sizes, drawn, reference
from guestlist.lines import reason


@dataclass(frozen=True)
class Clusters:
    """Members whose features resemble each other: k-means within each class, and one cluster of each class for the members.

    The clusters are the same for every seed; who is drawn from them is not.

    Args:
        members, nonmembers: how many are drawn; None: the whole cluster, and all others.
        cluster: from which members are drawn.
        clusters: of each class.
        iid: the counterpart, in which those who were drawn are mixed.
        rate: probability that a reference trains on a record; by default the target's share of the pool.
    """

    members: int | None = None
    nonmembers: int | None = None
    cluster: int = 0
    clusters: int = 2
    iid: bool = False
    rate: float | None = None

    name: ClassVar[str] = "clusters"

    def __post_init__(self):
        check_sizes(self.members, self.nonmembers, self.rate)
        if not 0 <= self.cluster < self.clusters or self.clusters < 2:
            raise ValueError(f"Expected cluster={self.cluster} below clusters={self.clusters}, and 2 clusters or more.")

    @property
    def is_iid(self) -> bool:
        """Whether members and non-members differ by chance alone."""
        return self.iid

    def row(self, k: int, data: Data, seed: int) -> tuple[np.ndarray, np.ndarray | None]:
        if k:
            return reference(k, data, self.members or len(data) // self.clusters, self.rate, seed), None
        return drawn(self.parts(data), data, iid=self.iid, seed=seed)

    def parts(self, data: Data) -> Parts:
        own = clustered(data, self.clusters) == self.cluster
        return Parts(
            members=[Draw(own, self.members, f"cluster {self.cluster}")],
            nonmembers=[Draw(~own, self.nonmembers, "the other clusters")],
        )


def clustered(data: Data, clusters: int) -> np.ndarray:
    """(records,) the cluster of each record within its class, by k-means on the features as they are."""
    from sklearn.cluster import KMeans

    x = _numbers(data)
    found = np.zeros(len(data), dtype=int)
    positions, classes = pd.factorize(data.y)
    for position, label in enumerate(classes):
        of_class = positions == position
        if len(np.unique(x[of_class], axis=0)) < clusters:
            raise InputError(f"Class {label!r} has fewer than {clusters} different records to cluster.")
        found[of_class] = KMeans(clusters, n_init=10, random_state=0).fit_predict(x[of_class])
    return found


def _numbers(data: Data) -> np.ndarray:
    try:
        x = np.asarray(data.x, dtype=np.float64).reshape(len(data), -1)
    except (TypeError, ValueError) as error:
        raise InputError(f"Clusters need features that are numbers ({reason(error)}). Encode them first.") from error
    if not np.isfinite(x).all():
        raise InputError("Some features are missing or not finite: clusters need numbers. Fill them first.")
    return x
