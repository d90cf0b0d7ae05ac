"""Settings of the K-NN classifier that values refer to."""

from __future__ import annotations

from dataclasses import dataclass

from guestlist import arguments
from guestlist.neighbours.checks import LARGEST, check_k

METRICS = ("euclidean", "cosine")
TIES = ("average", "index")


@dataclass(frozen=True)
class Knn:
    """K-NN classifier: number of neighbours, metric and treatment of ties.

    Args:
        k: neighbours that vote. A training set smaller than k is valued correctly, too.
        metric: "euclidean" or "cosine".
        precision: "exact" compares distances in float64; "fast" in float32, for many features.
        ties: "average" over all orders of equally distant records, so that equal records get equal values and
            the order of rows is of no account; or "index", lower rows first, as other libraries have it. The
            latter is there for values on test records alone; all other functions refuse it.

    >>> Knn(k=3)
    Knn(k=3, metric='euclidean', precision='exact', ties='average')
    """

    k: int = 5
    metric: str = "euclidean"
    precision: str = "exact"
    ties: str = "average"

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", check_k(self.k))  # integers of numpy, too
        arguments.choice("metric", self.metric, METRICS)
        arguments.choice("precision", self.precision, LARGEST)
        arguments.choice("ties", self.ties, TIES)


def require_average_ties(knn: Knn) -> Knn:
    """Return ``knn``; raise unless it averages over ties."""
    if require_knn(knn).ties != "average":
        raise ValueError(
            f"Expected ties='average', found {knn.ties!r}: only values on test records (knn_shapley, knn_banzhaf, "
            "waka, knn_loo and their blocks) can order ties by row."
        )
    return knn


def require_knn(knn: Knn) -> Knn:
    """Return ``knn``; raise if it is not a ``Knn``, for example a number of neighbours."""
    if not isinstance(knn, Knn):
        raise ValueError(f"Expected knn={arguments.short_repr(knn)} to be a Knn, such as Knn(k=3).")
    return knn
