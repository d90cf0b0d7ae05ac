"""Evidence from the model itself: tree leaves, K-NN neighbours, gradients and activations."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from guestlist._collect import CollectContext
from guestlist._store import Store
from guestlist._util import number, stream
from guestlist._views import LeavesView, NeighboursView, WhiteBoxView
from guestlist.data import Data
from guestlist.errors import InputError
from guestlist.evidence.plan import (
    MODEL_FILE,
    EvidenceType,
    SimulatedModels,
    Work,
    begin_file,
    share_of_members,
    stored_arrays,
    work_of_one_file,
)
from guestlist.games import Split
from guestlist.models import Target, query


@dataclass(frozen=True)
class Leaves:
    """Look up the leaves of every record. They reveal features, so they are not written."""

    name: ClassVar[str] = "leaves"

    def check(self, target: Target, pool: Data, split: Split) -> None:
        target.needs(
            "leaves",
            "{name} is not a tree model that guestlist supports{why}. Omit 'leaves' from evidence= (--evidence).",
        )

    def take(self, target: Target, pool: Data, split: Split) -> LeavesView:
        rate, evaluated = share_of_members(split)
        leaf, tables, weight = query(target.needs("leaves"), pool.x)
        if tables is None:
            return LeavesView(leaf=leaf, held=None, by_class=False, bag=None, rate=rate, evaluated=evaluated)
        by_class = tables[0].ndim == 2
        classes = (target.classes_of(pool.y),) if by_class else ()
        return LeavesView(
            leaf=leaf,
            held=np.stack([table[(leaf[:, tree], *classes)] for tree, table in enumerate(tables)], axis=1),
            by_class=by_class,
            bag=np.array([table.sum() for table in tables]),
            rate=rate,
            evaluated=evaluated,
            weight=weight,
        )


LEAVES_TYPE = EvidenceType(
    plan=Leaves,
    view=LeavesView,
    summary="the leaves of a tree model, and the training counts that its file keeps",
    cost="nothing; not written, since it reveals features",
    missing=(
        "reads the leaves of trees. The target must be a tree, forest or boosted trees of scikit-learn, XGBoost or "
        "LightGBM, alone or last in a pipeline."
    ),
    attacker="has the model file",
    access=MODEL_FILE,
    target="a tree model",
    default=True,
)


@dataclass(frozen=True)
class Neighbours:
    """Take the space of the target's distances. It holds features, so it is not written."""

    name: ClassVar[str] = "neighbours"

    def check(self, target: Target, pool: Data, split: Split) -> None:
        target.needs(
            "neighbours",
            "{name} is not a K-NN model that guestlist supports{why}. Omit 'neighbours' from evidence= (--evidence).",
        )

    def take(self, target: Target, pool: Data, split: Split) -> NeighboursView:
        x, k, metric = query(target.needs("neighbours"), pool.x)
        rate, evaluated = share_of_members(split)
        return NeighboursView(x=x, k=k, metric=metric, rate=rate, evaluated=evaluated)


NEIGHBOURS_TYPE = EvidenceType(
    plan=Neighbours,
    view=NeighboursView,
    summary="the space in which a K-NN target measures distances",
    cost="nothing; not written, since it holds features",
    missing=(
        "computes the outputs of K-NN models. The target must be a scikit-learn KNeighborsClassifier with uniform "
        "weights and euclidean or cosine distances, alone or last in a pipeline."
    ),
    target="a K-NN target",
    default=True,
    on_stand_ins=True,
)


_FILE = "features.npz"


@dataclass(frozen=True)
class WhiteBox:
    """Compute gradients, activations and logits of the target.

    Attributes:
        known: Share of the members, and of the non-members, that the attacker knows, in (0, 1); these get no score.

    Raises:
        ValueError: If ``known`` is not in (0, 1).
    """

    known: float = 0.5

    name: ClassVar[str] = "white_box"
    grows: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self):
        number("known", self.known, 0, 1)

    def check(self, target: Target, pool: Data, split: Split) -> None:
        target.needs(
            "white_box",
            "{name} is not a torch target{why}, whose gradients 'white_box' needs. Wrap the module with "
            "gl.torch_target(module, …), or omit 'white_box' from evidence= (--evidence).",
        )
        for side in ("members", "nonmembers"):
            count = int(getattr(split, side).sum())
            if not 0 < round(self.known * count) < count:
                raise InputError(
                    f"known={self.known} of {count} {side} leaves none to fit on, or none to evaluate. Use more records, "
                    "or another share."
                )

    def collect(self, context: CollectContext) -> None:
        path = begin_file(context.store, self, _FILE)
        if path is None:
            return
        split = context.store.split
        evaluated = np.flatnonzero(split.evaluated[0])
        labels = context.extractor.labels[evaluated]
        computed = context.target.needs("white_box")(context.pool.copied(evaluated).x, labels)
        features = np.full((len(context.pool), len(computed.names)), np.nan)
        features[evaluated] = computed.features
        # Known records: the same share of members as of non-members.
        known = np.zeros(len(context.pool), dtype=bool)
        rng = stream(context.seed, "evidence", *b"inner")  # the first name of this evidence, which results depend on
        for side in (split.members & split.evaluated[0], split.nonmembers):
            records = np.flatnonzero(side)
            known[rng.permutation(records)[: round(self.known * len(records))]] = True
        context.store.write(path, {"features": features, "names": np.array(computed.names), "known": known})

    @staticmethod
    def read(store: Store) -> WhiteBoxView | None:
        """Read the features, with the membership of known records only."""
        arrays = stored_arrays(store, WhiteBox.name, _FILE)
        if arrays is None:
            return None
        member = store.split.members & arrays["known"]
        return WhiteBoxView(arrays["features"], tuple(map(str, arrays["names"])), arrays["known"], member)


def _simulate(simulated: SimulatedModels, k: int) -> WhiteBoxView:
    """Simulate parameters that reveal the margin, with half of the records known."""
    known = simulated.rng(5, k).random(len(simulated.labels)) < 0.5
    return WhiteBoxView(simulated.margin[k][:, None], ("margin",), known, known & simulated.member[k])


EVIDENCE_TYPE = EvidenceType(
    plan=WhiteBox,
    view=WhiteBoxView,
    summary="gradients and activations of a torch target",
    cost="one backward pass per record",
    work=work_of_one_file(Work(queries=3)),
    missing="needs gradients and activations of the target.",
    attacker="has the model and knows of some records whether they are members",
    access=MODEL_FILE,
    simulate=_simulate,
    known_membership=lambda view: view.known,
)
