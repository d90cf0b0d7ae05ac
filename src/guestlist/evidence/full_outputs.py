"""Outputs of the references for every class, which attacks with a fitted classifier read.

A reference that does not exist yet is trained here, and its signals are written with its outputs. One that exists is trained
again with the same random stream, so that it is bitwise identical.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np

from guestlist._collect import CollectContext, Files, TrainReference, train_reference
from guestlist._store import Store, file_numbers, model_path
from guestlist._views import FullOutputsView
from guestlist.data import Data
from guestlist.errors import InputError
from guestlist.evidence.plan import (
    EvidenceType,
    FilesTask,
    SimulatedModels,
    Work,
    begin_plan,
    evidence_folder,
    evidence_path,
    missing_files,
    outputs_of_margin,
    plan_of,
)
from guestlist.games import Split
from guestlist.models import Target


@dataclass(frozen=True)
class FullOutputs:
    """Keep the outputs of the references for every class."""

    name: ClassVar[str] = "full_outputs"
    grows: ClassVar[tuple[str, ...]] = ()

    def check(self, target: Target, pool: Data, split: Split) -> None:
        target.needs(
            "train",
            "'full_outputs' needs reference models, and {name} has no training recipe{why}. Pass train= in Python, or omit "
            "'full_outputs' from evidence= (--evidence).",
        )
        if not target.scale.has_classes:
            raise InputError(
                f"{target.name} predicts values, and 'full_outputs' needs a classifier. Omit it from evidence= "
                "(--evidence)."
            )

    def collect(self, context: CollectContext) -> None:
        begin_plan(context.store, self)
        folder = evidence_folder(context.store, self.name)
        query = partial(
            query_reference,
            reference=train_reference(context),
            with_signals=frozenset(context.store.models()),
            folder=folder,
        )
        context.run(FilesTask(query), missing_files(context.store, folder, "model", context.references))

    @staticmethod
    def read(store: Store) -> FullOutputsView | None:
        """Read the outputs of the references that have signals, in the same order."""
        if plan_of(store, FullOutputs.name) is None:
            return None
        folder = evidence_folder(store, FullOutputs.name)
        models = set(store.models())
        numbers = [k for k in file_numbers(folder, "model") if k in models]
        if not numbers:
            return None
        log_p = np.stack([store.read(evidence_path(folder, "model", k))["log_p"] for k in numbers])
        return FullOutputsView(log_p, store.split.member[numbers])


def query_reference(
    k: int, pool: Data, *, reference: TrainReference, with_signals: frozenset[int], folder: Path
) -> Files:
    """Train one reference and return its outputs, and its signals unless the folder holds them."""
    extractor = reference.extractor
    outputs = reference.outputs(k, pool)
    files = {evidence_path(folder, "model", k): {"log_p": extractor.scale.log_probabilities(outputs)}}
    if k in with_signals:
        return files
    return {model_path(reference.folder, k): extractor.signals(outputs), **files}


def write_full_outputs(store: Store, k: int, log_p: np.ndarray) -> None:
    """Write (records, classes) log-probabilities of a model that the user trained.

    Args:
        store: Audit folder.
        k: Number of the model.
        log_p: (records, classes) log-probabilities; NaN for records for which it was not queried.
    """
    begin_plan(store, FullOutputs())
    store.write(evidence_path(evidence_folder(store, FullOutputs.name), "model", k), {"log_p": log_p})


def _missing_trainings(plan: FullOutputs, split: Split, store: Store | None) -> Work:
    """Return the references to train again, whose signals were stored without their outputs."""
    if store is None:
        return Work()
    queried = file_numbers(evidence_folder(store, FullOutputs.name), "model")
    return Work(trainings=len(set(store.models()) - {0, *queried}))  # 0 is the target


def _simulate(simulated: SimulatedModels, k: int) -> FullOutputsView:
    others = simulated.others(k)
    return FullOutputsView(
        outputs_of_margin(simulated.margin[others], simulated.labels, simulated.classes), simulated.member[others]
    )


EVIDENCE_TYPE = EvidenceType(
    plan=FullOutputs,
    view=FullOutputsView,
    summary="outputs of reference models for every class",
    cost="trains existing reference models again; disk space for every class",
    work=_missing_trainings,
    missing="needs the outputs of reference models for every class.",
    simulate=_simulate,
)
