"""The K-NN classifier, and validation of its inputs."""

import os
from dataclasses import dataclass

import numpy as np

from guestlist._util import validation

# Squared distances of larger entries would overflow in that precision.
LARGEST = {"exact": 1e150, "fast": 1e15}
MOST_THREADS = 1024
# Larger than any number of records.
MOST_NEIGHBOURS = 10**9


def check_records(x, name: str, *, metric: str = "euclidean", precision: str = "exact") -> np.ndarray:
    """Return ``x`` as a float64 matrix (records, features), scaled to unit length for the cosine metric."""
    x = validation.array(name, x)
    if x.ndim != 2 or 0 in x.shape or x.dtype.kind not in "fiub":
        raise ValueError(
            f"Expected {name} to be a matrix of numbers (records, features), found {x.dtype} shaped {x.shape}."
        )
    x = np.ascontiguousarray(x, dtype=np.float64)
    largest = np.abs(x).max()
    if not largest <= LARGEST[precision]:  # also catches NaN
        raise ValueError(
            f"{name} must be finite and within ±{LARGEST[precision]:g}; found {_worst(x)}. Impute missing values, or "
            "scale the features."
        )
    return _unit_length(x, name) if metric == "cosine" else x


def check_labels(y, n: int, name: str) -> np.ndarray:
    """Return ``y`` as an array (n,) of labels of any type that can be compared."""
    y = validation.array(name, y)
    if y.dtype.kind == "O" and all(isinstance(label, str) for label in y.flat):  # tables store strings as objects
        y = y.astype(str)
    if y.shape != (n,):
        raise ValueError(f"Expected {name} shaped ({n},), one label per record, found {y.shape}.")
    if y.dtype.kind == "f" and np.isnan(y).any():
        raise ValueError(f"{name} has {int(np.isnan(y).sum())} NaN. Drop these records.")
    if y.dtype.kind not in "iufbUS":
        raise ValueError(f"Expected {name} of one type (integers or strings), found {y.dtype}.")
    return y


def check_comparable(x: np.ndarray, y: np.ndarray, x_test: np.ndarray, y_test: np.ndarray) -> None:
    """Raise unless training and test records have the same number of features and type of labels."""
    if (y.dtype.kind in "US") != (y_test.dtype.kind in "US"):
        raise ValueError(f"Expected y and y_test of one type, found {y.dtype} and {y_test.dtype}.")
    if x.shape[1] != x_test.shape[1]:
        raise ValueError(f"Expected x_test with {x.shape[1]} features like x, found {x_test.shape[1]}.")


def check_k(k) -> int:
    """Return ``k`` as an integer of at least 1."""
    return validation.integer("k", k, 1, MOST_NEIGHBOURS)


def check_keep_probability(p) -> float:
    return validation.number("p", p, 0, 1, "(]")


def check_rows(which, n: int, name: str) -> np.ndarray:
    """Return ``which``, row numbers or a mask (n,), as row numbers."""
    which = validation.array(name, which)
    if which.dtype == bool:
        if which.shape != (n,):
            raise ValueError(f"Expected a mask {name} shaped ({n},), found {which.shape}.")
        return np.flatnonzero(which)
    if not which.size:  # numpy reads an empty list as floats
        return np.empty(0, dtype=np.intp)
    if which.ndim != 1 or which.dtype.kind not in "iu":
        raise ValueError(f"Expected {name} to be row numbers or a mask, found {which.dtype} shaped {which.shape}.")
    if not (which.min() >= 0 and which.max() < n):
        raise ValueError(f"Expected {name} to be rows in [0, {n}), found [{which.min()}, {which.max()}].")
    return which.astype(np.intp)


def check_losses(target_loss, n: int) -> np.ndarray:
    """Return ``target_loss`` as (n,) floats in [0, 1]; NaN where the target was not queried."""
    target_loss = validation.numbers("target_loss", target_loss)
    if target_loss.shape != (n,):
        raise ValueError(f"Expected target_loss shaped ({n},), one per queried record, found {target_loss.shape}.")
    if not np.all(np.isnan(target_loss) | ((target_loss >= 0) & (target_loss <= 1))):
        raise ValueError(
            "target_loss must be in [0, 1], the share of the k neighbours with a different label; found "
            f"[{np.nanmin(target_loss):g}, {np.nanmax(target_loss):g}]."
        )
    return target_loss


def check_jobs(n_jobs) -> int:
    """Return the number of threads; -1 means one per core."""
    is_integer = isinstance(n_jobs, int | np.integer) and not isinstance(n_jobs, bool)
    if not is_integer or (n_jobs != -1 and not 1 <= n_jobs <= MOST_THREADS):
        raise ValueError(
            f"Expected n_jobs={validation.short_repr(n_jobs)} to be an integer from 1 to {MOST_THREADS}, or -1 for all "
            "cores."
        )
    return (os.cpu_count() or 1) if n_jobs == -1 else int(n_jobs)


def _worst(x: np.ndarray) -> str:
    for word, bad in (("NaN", np.isnan(x)), ("infinite", np.isinf(x))):
        if bad.any():
            return f"{int(bad.any(axis=1).sum())} records with {word} entries"
    return f"{np.abs(x).max():g}"


def _unit_length(x: np.ndarray, name: str) -> np.ndarray:
    length = np.sqrt(np.einsum("ij,ij->i", x, x))
    if not length.all():
        raise ValueError(
            f"{int((length == 0).sum())} records of {name} are all zeros, for which cosine distances are undefined. Drop "
            "them, or use euclidean distances."
        )
    return x / length[:, None]


METRICS = ("euclidean", "cosine")
TIES = ("average", "index")


@dataclass(frozen=True)
class Knn:
    """K-NN classifier: number of neighbours, metric and treatment of ties.

    Args:
        k: number of neighbours that vote. Values are also correct for training sets smaller than k.
        metric: "euclidean" or "cosine".
        precision: "exact" compares distances in float64; "fast" in float32, for many features.
        ties: "average" over all orders of equally distant records, so that equal records get equal values and
            the order of rows does not matter; or "index", lower rows first, as in other libraries. Only values on
            test records support "index"; all other functions reject it.

    >>> Knn(k=3)
    Knn(k=3, metric='euclidean', precision='exact', ties='average')
    """

    k: int = 5
    metric: str = "euclidean"
    precision: str = "exact"
    ties: str = "average"

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", check_k(self.k))  # also accepts numpy integers
        validation.choice("metric", self.metric, METRICS)
        validation.choice("precision", self.precision, LARGEST)
        validation.choice("ties", self.ties, TIES)


def require_average_ties(knn: Knn) -> Knn:
    """Return ``knn``; raise unless it averages over ties."""
    if require_knn(knn).ties != "average":
        raise ValueError(
            f"ties={knn.ties!r} is only supported by values on test records (knn_shapley, knn_banzhaf, waka, knn_loo and "
            "their blocks). Use ties='average'."
        )
    return knn


def require_knn(knn: Knn) -> Knn:
    """Return ``knn``; raise if it is not a ``Knn``, for example a number of neighbours."""
    if not isinstance(knn, Knn):
        raise ValueError(f"Expected knn={validation.short_repr(knn)} to be a Knn, such as Knn(k=3).")
    return knn
