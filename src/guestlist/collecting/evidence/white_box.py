"""White-box features, for an attacker who knows the membership of some records.

The attacker holds the model. A classifier is fitted on the records with known membership, and the others are evaluated
(Nasr et al. 2019).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from guestlist.collecting.evidence.kind import MODEL_FILE, EvidenceType
from guestlist.collecting.evidence.made_up import SimulatedModels
from guestlist.collecting.evidence.plan import begin_plan, evidence_folder, stored_arrays
from guestlist.collecting.site import CollectContext
from guestlist.data import Data
from guestlist.errors import InputError
from guestlist.games import Split
from guestlist.randomness import stream
from guestlist.store import Store
from guestlist.targets.target import Target
from guestlist.views.evidence import WhiteBoxView

_FILE = "features.npz"


@dataclass(frozen=True)
class WhiteBox:
    """Compute gradients, activations and logits of the target.

    Args:
        known: Share of the members, and of the non-members, that the attacker knows; these get no score.
    """

    known: float = 0.5

    name: ClassVar[str] = "white_box"
    grows: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self):
        if not 0 < self.known < 1:
            raise ValueError(f"Expected known={self.known} in (0, 1).")

    def check(self, target: Target, pool: Data, split: Split) -> None:
        target.needs(
            "white_box",
            "The white box needs a torch target, whose gradients can be computed; {name} is not one{why}. Leave "
            "'white_box' out, or wrap the module with gl.torch_target(module, …).",
        )
        for side in ("members", "nonmembers"):
            count = int(getattr(split, side).sum())
            if not 0 < round(self.known * count) < count:
                raise InputError(
                    f"Of {count} {side}, known={self.known} leaves none to learn from, or none to ask about."
                )

    def collect(self, context: CollectContext) -> None:
        begin_plan(context.store, self)
        path = evidence_folder(context.store, self.name) / _FILE
        if path.exists():
            context.store.check(path)
            return
        split = context.store.split
        evaluated = np.flatnonzero(split.evaluated[0])
        compute = context.target.needs("white_box")
        computed = compute(context.pool.copied(evaluated).x, context.extractor.labels[evaluated])
        features = np.full((len(context.pool), len(computed.names)), np.nan)
        features[evaluated] = computed.features
        known = self._known(split, context.seed)
        context.store.write(path, {"features": features, "names": np.array(computed.names), "known": known})

    def _known(self, split: Split, seed: int) -> np.ndarray:
        """Draw known records, (records,): the same share of members as of non-members."""
        # The first name of this evidence: results depend on these bytes.
        rng = stream(seed, "evidence", *b"inner")
        known = np.zeros(split.member.shape[1], dtype=bool)
        for side in (split.members & split.evaluated[0], split.nonmembers):
            records = np.flatnonzero(side)
            known[rng.permutation(records)[: round(self.known * len(records))]] = True
        return known

    @staticmethod
    def read(store: Store) -> WhiteBoxView | None:
        """Read the features, with the membership of known records only."""
        arrays = stored_arrays(store, WhiteBox.name, _FILE)
        if arrays is None:
            return None
        member = store.split.members & arrays["known"]
        return WhiteBoxView(arrays["features"], tuple(map(str, arrays["names"])), arrays["known"], member)


def _simulate(world: SimulatedModels, k: int) -> WhiteBoxView:
    """Simulate parameters that reveal the margin, with half of the records known."""
    known = world.rng(5, k).random(len(world.labels)) < 0.5
    return WhiteBoxView(world.margin[k][:, None], ("margin",), known, known & world.member[k])


EVIDENCE_TYPE = EvidenceType(
    plan=WhiteBox,
    view=WhiteBoxView,
    summary="gradients and activations of a torch target",
    cost="one backward pass per record",
    missing="looks into the target's parameters, which was not done.",
    attacker="has the model and knows of some records whether they are members",
    access=MODEL_FILE,
    simulate=_simulate,
    known_membership=lambda view: view.known,
)
