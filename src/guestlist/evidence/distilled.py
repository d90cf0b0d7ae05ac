"""Distilled models: trained as the target was, on records with the target's outputs instead of labels.

They inherit the target's knowledge of the population, but not its memory of single training records, unless such a record is
among their own (Ye et al. 2022, attack D).
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from guestlist._collect import CollectContext, Files, SignalExtractor
from guestlist._store import Store
from guestlist._util import choice, integer, stream
from guestlist._views import ModelsView
from guestlist.data import Data
from guestlist.errors import InputError
from guestlist.evidence.plan import (
    EvidenceType,
    FilesTask,
    Work,
    begin_plan,
    evidence_folder,
    evidence_path,
    missing_files,
    models_without,
    number_of_files,
    read_files,
)
from guestlist.games import Split, draw_inclusion
from guestlist.models import SoftTrainer, Target


@dataclass(frozen=True)
class Distilled:
    """Train models on records that the target has labelled.

    Attributes:
        models: Number of models.
        records: Records to train on: ``population``, or the whole ``pool``, in which case a record is compared only with models
            that did not train on it. ``auto`` takes the population if it has at least twice the number of members: with fewer,
            all models would train on much the same records.

    Raises:
        ValueError: If ``models`` is less than 1, or ``records`` is unknown.
    """

    models: int = 64
    records: Literal["auto", "population", "pool"] = "auto"

    name: ClassVar[str] = "distilled"
    grows: ClassVar[tuple[str, ...]] = ("models",)

    def __post_init__(self):
        integer("models", self.models, 1)
        choice("records", self.records, ("auto", "population", "pool"))

    def check(self, target: Target, pool: Data, split: Split) -> None:
        target.needs(
            "distil",
            "'distilled' trains models on soft labels, which {name} does not support{why}. In Python, wrap the model with "
            "gl.function_target or gl.torch_target and pass distil=, a function (data, soft, rng) -> model. Or omit 'distilled' "
            "from evidence= (--evidence).",
        )
        if self.records == "population" and not split.population.any():
            raise InputError(
                "There is no population to distil on. Pass population= (--population), or distil on all records: "
                "gl.evidence.Distilled(records='pool') (--evidence distilled:records=pool)."
            )

    def collect(self, context: CollectContext) -> None:
        plan = begin_plan(context.store, self)
        folder = evidence_folder(context.store, self.name)
        split = context.store.split
        enough = split.population.sum() >= 2 * split.members.sum()
        eligible = np.ones(len(context.pool), dtype=bool)
        if self.records == "population" or (self.records == "auto" and enough):
            eligible = split.population
        # The same number of records as the target had; all of them if there are no more.
        rate = float(min(split.members.sum() / eligible.sum(), 1 - 1e-9))
        distil = partial(
            distil_model,
            train=context.target.needs("distil"),
            eligible=eligible,
            rate=rate,
            seed=context.seed,
            soft=context.extractor.scale.soft(context.store.required_outputs()),
            extractor=context.extractor,
            folder=folder,
        )
        context.run(FilesTask(distil), missing_files(context.store, folder, "model", plan.models))

    @staticmethod
    def read(store: Store) -> ModelsView | None:
        parts = read_files(store, Distilled.name, "model", at_most="models")
        if not parts:
            return None
        values = {name: np.stack([part[name] for part in parts]) for name in parts[0]}
        return ModelsView(values, values.pop("member"))


def distil_model(
    k: int,
    pool: Data,
    *,
    train: SoftTrainer,
    eligible: np.ndarray,
    rate: float,
    seed: int,
    soft: np.ndarray,
    extractor: SignalExtractor,
    folder: Path,
) -> Files:
    """Train one distilled model and return its signals."""
    rows = draw_inclusion(pool, rate, seed, k, "distilled rows") & eligible
    rng = stream(seed, "distilled training", k)
    name = f"Distilled model {k} ({rows.sum()} records)"
    outputs = extractor.train_and_query(name, lambda: train(pool.copied(rows), soft[rows], rng), pool.x, rng)
    return {evidence_path(folder, "model", k): {**extractor.signals(outputs), "member": rows}}


EVIDENCE_TYPE = EvidenceType(
    plan=Distilled,
    view=ModelsView,
    summary="models trained on the target's outputs",
    cost="trains the requested number of models",
    work=lambda plan, split, store: Work(
        trainings=plan.models - number_of_files(store, Distilled.name, "model", plan.models)
    ),
    missing="needs models distilled from the target.",
    simulate=partial(models_without, purpose=1),
)
