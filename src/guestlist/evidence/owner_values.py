"""Evidence that only the model's owner has: leverage, loss traces and K-NN values in feature spaces."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from guestlist._collect import CollectContext
from guestlist._store import Store
from guestlist._util import number, one_thread
from guestlist._views import OwnersView
from guestlist.data import Data
from guestlist.errors import InputError
from guestlist.evidence.plan import EvidenceType, begin_file, stored_arrays
from guestlist.games import Split
from guestlist.models import SPACES, Target, space_of

FILE = "values.npz"
SHAPR_K = 5


def shapr(x, y, x_test, y_test, *, k: int = SHAPR_K, n_jobs: int = 1) -> np.ndarray:
    """Compute SHAPr: exact K-NN Shapley values, averaged over test records (Duddu et al. 2022).

    Args:
        x, y: (members, dimensions) and (members,) positions of members in the space, and their classes.
        x_test, y_test: the same for records that the target was not trained on.
        k: number of neighbours that vote.
        n_jobs: number of threads; -1 for all cores. Results do not depend on it.

    >>> shapr([[0.0], [1.0], [2.0]], [1, 0, 1], [[0.1]], [1], k=1).round(4)
    array([ 0.8333, -0.1667,  0.3333])

    Returns:
        (members,) values; at risk if above 0.
    """
    from guestlist.knn import Knn, knn_shapley  # imports numba

    return knn_shapley(x, y, x_test, y_test, Knn(k), n_jobs=n_jobs)


def shapr_of_members(space: np.ndarray, labels: np.ndarray, members: np.ndarray, tests: np.ndarray) -> np.ndarray:
    """Return (records,) SHAPr of members, with other records as tests; NaN for all others.

    Args:
        space: (records, dimensions).
        members, tests: (records,) masks.
    """
    values = np.full(len(labels), np.nan)
    if members.any() and tests.any():
        values[members] = shapr(space[members], labels[members], space[tests], labels[tests])
    return values


@dataclass(frozen=True)
class OwnerPlan(ABC):
    """Plan that computes values of the evaluated records; the members must be known."""

    name: ClassVar[str]
    grows: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def check(self, target: Target, pool: Data, split: Split) -> None:
        """Raise, before any long work, if this target or these records do not support it."""

    @abstractmethod
    def compute(self, context: CollectContext, data: Data, member: np.ndarray) -> dict[str, np.ndarray]:
        """Return (records,) values by name of the members, given by a mask, and of the evaluated records."""

    def collect(self, context: CollectContext) -> None:
        """Compute and write the values of evaluated records, unless they were written before."""
        path = begin_file(context.store, self, FILE)
        if path is None:
            return
        split = context.store.split
        rows = np.flatnonzero(split.members | split.evaluated[0])
        with one_thread():  # identical results on any number of cores
            values = self.compute(context, context.pool.copied(rows), split.members[rows])
        evaluated = split.evaluated[0][rows]
        arrays = {name: np.full(len(context.pool), np.nan) for name in values}
        for name, array in arrays.items():
            array[rows[evaluated]] = values[name][evaluated]
        context.store.write(path, arrays)

    @classmethod
    def read(cls, store: Store) -> OwnersView | None:
        """Read the values; None if they were not collected."""
        values = stored_arrays(store, cls.name, FILE)
        if values is None:
            return None
        return OwnersView(values)


@dataclass(frozen=True)
class Leverage(OwnerPlan):
    """Compute the leverage of every evaluated record.

    Attributes:
        most: Largest number of multiplications; with more it is not collected by default.

    Raises:
        ValueError: If ``most`` is not above 0.
    """

    most: float = 1e11

    name: ClassVar[str] = "leverage"

    def check(self, target: Target, pool: Data, split: Split) -> None:
        find: Any = target.needs(
            "leverage",
            "{name} is neither a linear, ridge or logistic regression of scikit-learn nor a torch target{why}. Omit "
            "'leverage' from evidence= (--evidence).",
        )
        takes = find.takes(pool)
        if takes > self.most:
            raise InputError(
                f"The leverage of {len(pool):,} records takes about {takes:.0e} multiplications; the limit is "
                f"most={self.most:.0e}. Pass gl.evidence.Leverage(most={2 * takes:.0e}) (--evidence "
                f"leverage:most={2 * takes:.0e}), or omit it."
            )

    def __post_init__(self):
        number("most", self.most, 0, ends="(]")

    def compute(self, context: CollectContext, data: Data, member: np.ndarray) -> dict[str, np.ndarray]:
        return {"leverage": context.target.needs("leverage")(data, member)}


LEVERAGE_TYPE = EvidenceType(
    plan=Leverage,
    view=OwnersView,
    summary="how strongly the output for each record depends on its own label",
    cost="one decomposition of the features, or of a network's last hidden layer",
    missing="needs the leverage of records, which the model owner computes from the members.",
    target="a linear, ridge or logistic regression, or a torch target",
    owner=True,
    default=True,
)


@dataclass(frozen=True)
class LossTrace(OwnerPlan):
    """Query the target's checkpoints for every record, and store the interquartile range of its losses."""

    name: ClassVar[str] = "loss_trace"

    def check(self, target: Target, pool: Data, split: Split) -> None:
        target.needs(
            "checkpoints",
            "{name} has no checkpoints of its training{why}, which 'loss_trace' needs. Pass gl.torch_target(…, "
            "checkpoints=gl.defences.Fit(…).checkpoints(module, data, rng)), or checkpoints of your own training; or omit "
            "'loss_trace' from evidence= (--evidence).",
        )

    def compute(self, context: CollectContext, data: Data, member: np.ndarray) -> dict[str, np.ndarray]:
        target = context.target
        scale = context.extractor.scale
        labels = target.labels_of(data.y)
        trace = [
            scale.signals(outputs.reshape(len(data), target.columns), labels)["loss"]
            for outputs in target.needs("checkpoints")(data.x)
        ]
        low, high = np.quantile(trace, [0.25, 0.75], axis=0)
        return {"spread": high - low}


LOSS_TRACE_TYPE = EvidenceType(
    plan=LossTrace,
    view=OwnersView,
    summary="how far the loss of each record moved during training",
    cost="queries every checkpoint once",
    missing="needs the losses during training, which the model owner has in checkpoints.",
    target="a torch target with checkpoints",
    owner=True,
    default=True,
)


@dataclass(frozen=True)
class Spaces(OwnerPlan):
    """Compute SHAPr in some feature spaces.

    Attributes:
        names: ``first_layer``, ``last_hidden`` or ``inputs``. The space of the target's outputs needs no evidence.

    Raises:
        ValueError: If a space is unknown.
    """

    names: tuple[str, ...] = ("first_layer",)

    name: ClassVar[str] = "spaces"

    def __post_init__(self):
        object.__setattr__(self, "names", (self.names,) if isinstance(self.names, str) else tuple(self.names))
        if not self.names or not set(self.names) <= set(SPACES) - {"outputs"}:
            raise ValueError(f"names={self.names} must be among first_layer, last_hidden and inputs.")

    def check(self, target: Target, pool: Data, split: Split) -> None:
        if not target.scale.has_classes:
            raise InputError(
                f"{target.name} predicts values, and SHAPr needs a classifier. Omit 'spaces' from evidence= (--evidence)."
            )
        for name in self.names:
            space_of(target, name, pool.take(np.flatnonzero(split.members)[:2]).x)

    def compute(self, context: CollectContext, data: Data, member: np.ndarray) -> dict[str, np.ndarray]:
        labels = context.target.labels_of(data.y)
        return {
            name: shapr_of_members(space_of(context.target, name, data.x), labels, member, ~member)
            for name in self.names
        }


SPACES_TYPE = EvidenceType(
    plan=Spaces,
    view=OwnersView,
    summary="SHAPr of members in the space of a layer, or of the inputs",
    cost="a distance for each member and non-member, in each space",
    missing="needs SHAPr values, which the model owner computes from the members.",
    owner=True,
)
