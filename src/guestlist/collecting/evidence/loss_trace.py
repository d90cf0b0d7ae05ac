"""Loss trace: variation of the loss of each record during the target's training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from guestlist.collecting.evidence.kind import EvidenceType
from guestlist.collecting.evidence.owners import collect_values, read_values
from guestlist.collecting.site import CollectContext
from guestlist.data import Data
from guestlist.games import Split
from guestlist.store import Store
from guestlist.targets.target import Target
from guestlist.views.evidence import OwnersView


@dataclass(frozen=True)
class LossTrace:
    """Query the target's checkpoints about every record, and keep the interquartile range of its losses."""

    name: ClassVar[str] = "loss_trace"
    grows: ClassVar[tuple[str, ...]] = ()

    def check(self, target: Target, pool: Data, split: Split) -> None:
        target.needs(
            "checkpoints",
            "How losses fell is seen in checkpoints of the training, and {name} comes without any{why}. Give gl.torch_target(…, "
            "checkpoints=gl.Fit(…).checkpoints(module, data, rng)), or those that your own training kept; or leave "
            "'loss_trace' out.",
        )

    def collect(self, context: CollectContext) -> None:
        target = context.target
        scale = context.extractor.scale

        def compute(data: Data, member: np.ndarray) -> dict[str, np.ndarray]:
            labels = target.labels_of(data.y)
            outputs = target.needs("checkpoints")(data.x)
            trace = [scale.signals(each.reshape(len(data), target.columns), labels)["loss"] for each in outputs]
            low, high = np.quantile(trace, [0.25, 0.75], axis=0)
            return {"spread": high - low}

        collect_values(context, self, compute)

    @staticmethod
    def read(store: Store) -> OwnersView | None:
        return read_values(store, LossTrace.name)


EVIDENCE_TYPE = EvidenceType(
    plan=LossTrace,
    view=OwnersView,
    summary="how far the loss of each record moved in the course of training",
    cost="asks every checkpoint once",
    missing="looks at how losses moved in training, which is for whoever trained the model.",
    target="a torch target with checkpoints",
    owner=True,
    default=True,
)
