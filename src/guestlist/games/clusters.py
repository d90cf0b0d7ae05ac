"""Game with members from one cluster of every class, and non-members from the others."""

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
    """Members with similar features: one k-means cluster of each class.

    The clusters are the same for every seed; the records drawn from them are not.

    Args:
        members, nonmembers: Numbers of records drawn; None: the whole cluster, and all others.
        cluster: Number of the cluster that members are drawn from.
        clusters: Number of clusters of each class.
        iid: True for the i.i.d. control, which draws the members from all drawn records.
        rate: Probability that a reference trains on a record; by default the target's share of the pool.
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
        """True if members and non-members differ only by chance."""
        return self.iid

    def row(self, k: int, data: Data, seed: int) -> tuple[np.ndarray, np.ndarray | None]:
        if k:
            return reference(k, data, self.members or len(data) // self.clusters, self.rate, seed), None
        return drawn(self.parts(data), data, iid=self.iid, seed=seed)

    def parts(self, data: Data) -> Parts:
        in_cluster = clustered(data, self.clusters) == self.cluster
        return Parts(
            members=[Draw(in_cluster, self.members, f"cluster {self.cluster}")],
            nonmembers=[Draw(~in_cluster, self.nonmembers, "the other clusters")],
        )


def clustered(data: Data, clusters: int) -> np.ndarray:
    """(records,) number of the k-means cluster of each record within its class, from unscaled features."""
    from sklearn.cluster import KMeans

    x = _numeric_features(data)
    cluster = np.zeros(len(data), dtype=int)
    positions, classes = pd.factorize(data.y)
    for position, label in enumerate(classes):
        of_class = positions == position
        if len(np.unique(x[of_class], axis=0)) < clusters:
            raise InputError(f"Class {label!r} has fewer than {clusters} different records to cluster.")
        cluster[of_class] = KMeans(clusters, n_init=10, random_state=0).fit_predict(x[of_class])
    return cluster


def _numeric_features(data: Data) -> np.ndarray:
    try:
        x = np.asarray(data.x, dtype=np.float64).reshape(len(data), -1)
    except (TypeError, ValueError) as error:
        raise InputError(f"Clusters need features that are numbers ({reason(error)}). Encode them first.") from error
    if not np.isfinite(x).all():
        raise InputError("Some features are missing or not finite: clusters need numbers. Fill them first.")
    return x
