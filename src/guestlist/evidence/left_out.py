"""Models trained without the single record for which they are queried (Ye et al. 2022, attack L).

They are trained as the target was. Every chosen record has its own models, so few records are chosen. A non-member is
not in the target's training set: its models train on all members, with their own seeds. One set of models for all non-members
would be cheaper. But random variation of those models would shift the scores of all non-members together, and an
interval that assumes independent records would then exclude an AUC of 0.5 far too often if nothing leaks.

    record-00042.npz   a chosen record: name to (models,) signals of the models trained without it
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np

from guestlist._collect import CollectContext, Files, SignalExtractor
from guestlist._store import Store, file_numbers
from guestlist._util import integer, stream
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
    models_without,
    plan_of,
)
from guestlist.games import Split
from guestlist.models import Target, Trainer

# First number of the stream "left out". Every audit folder depends on these numbers; never change them.
_CHOICE = 1
_WITHOUT = 2


@dataclass(frozen=True)
class LeftOut:
    """Train models without single records.

    Attributes:
        records: Number of members, drawn at random, and of non-members; all of them if there are fewer.
        models: Number of models for each of them.
        ids: Exactly these members and non-members instead of a random draw.

    Raises:
        ValueError: If a number is less than 1, or ``ids`` is one text instead of several.
    """

    records: int = 100
    models: int = 16
    ids: tuple[str, ...] = ()

    name: ClassVar[str] = "left_out"
    grows: ClassVar[tuple[str, ...]] = ("records", "models")

    def __post_init__(self):
        integer("records", self.records, 1)
        integer("models", self.models, 1)
        if isinstance(self.ids, str):
            raise ValueError(f"ids={self.ids!r} must be a tuple of ids: ids=({self.ids!r},).")
        object.__setattr__(self, "ids", tuple(map(str, self.ids)))

    def check(self, target: Target, pool: Data, split: Split) -> None:
        target.needs(
            "train",
            "'left_out' trains models, and {name} has no training recipe{why}. Pass train= in Python, or omit 'left_out' from "
            "evidence= (--evidence).",
        )
        _chosen(pool.ids, split, self.records, self.ids, seed=0)  # raises if an id is unknown

    def collect(self, context: CollectContext) -> None:
        plan = begin_plan(context.store, self)
        split = context.store.split
        chosen = _chosen(context.pool.ids, split, plan.records, plan.ids, context.seed)
        begun = _by_record(context.store, chosen)
        short = [i for i in np.flatnonzero(chosen).tolist() if _count(begun.get(i)) < plan.models]
        train = partial(
            train_without,
            train=context.target.needs("train"),
            member=split.members,
            models=plan.models,
            seed=context.seed,
            extractor=context.extractor,
            folder=evidence_folder(context.store, self.name),
            begun={i: begun[i] for i in short if i in begun},
        )
        context.run(FilesTask(train), short)

    @staticmethod
    def read(store: Store) -> ModelsView | None:
        plan = plan_of(store, LeftOut.name)
        if plan is None:
            return None
        ids = store.pool["id"].to_numpy()
        member = store.split.members
        chosen = _chosen(ids, store.split, plan["records"], tuple(plan["ids"]), store.manifest.seed)
        by_record = _by_record(store, chosen)
        missing = [
            side for side in (chosen & member, chosen & ~member) if side.any() and not side[list(by_record)].any()
        ]
        if not by_record or missing:  # Only members, or only non-members: the collection is not finished.
            return None
        # The same number for every record: it must not reveal whether a record is a member.
        shape = min(map(_count, by_record.values())), len(ids)
        values = {name: np.full(shape, np.nan) for name in next(iter(by_record.values()))}
        for name, matrix in values.items():
            for i, part in by_record.items():
                matrix[:, i] = part[name][: len(matrix)]
        return ModelsView(values, np.zeros(shape, dtype=bool))


def train_without(
    i: int,
    pool: Data,
    *,
    train: Trainer,
    member: np.ndarray,
    models: int,
    seed: int,
    extractor: SignalExtractor,
    folder: Path,
    begun: Mapping[int, Mapping[str, np.ndarray]],
) -> Files:
    """Train the missing models without one record, and return their signals of it.

    Args:
        member: (records,) true for the target's members.
        models: Number of models that the record should have.
        begun: Signals of earlier models; they are sent along, since a worker may not see the folder.
    """
    rows = member.copy()
    rows[i] = False
    record = np.array([i])
    x = pool.take(record).x
    of_record = extractor.take(record)
    parts: list[Mapping[str, np.ndarray]] = [begun[i]] if i in begun else []
    for k in range(1 + sum(map(_count, parts)), 1 + models):
        rng = stream(seed, "left out", _WITHOUT, i, k)
        name = f"Model {k} without record {str(pool.ids[i])!r}"
        # Each model gets its own copy of the records, because the previous model may have changed its copy.
        outputs = of_record.train_and_query(name, partial(train, pool.copied(rows), rng), x, rng)
        parts.append(of_record.signals(outputs))
    signals = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return {evidence_path(folder, "record", i, width=5): signals}


def _chosen(ids: np.ndarray, split: Split, records: int, named: tuple[str, ...], seed: int) -> np.ndarray:
    """Return (records,) true for chosen records; a later draw of more records keeps the earlier ones.

    Args:
        ids: (records,) ids of the pool.
        named: Exactly these ids, if any are given.
    """
    if named:
        chosen = np.isin(ids.astype(str), named) & split.evaluated[0]
        unknown = [name for name in named if name not in ids[chosen].astype(str)]
        if unknown:
            listed = ", ".join(map(repr, unknown[:5])) + (", …" if len(unknown) > 5 else "")
            raise InputError(f"No member or non-member has the id {listed}. Ids look like {str(ids[0])!r}.")
        return chosen
    chosen = np.zeros(len(ids), dtype=bool)
    for number, side in enumerate((split.members & split.evaluated[0], split.nonmembers)):
        order = stream(seed, "left out", _CHOICE, number).permutation(np.flatnonzero(side))
        chosen[order[:records]] = True
    return chosen


def _missing_trainings(plan: LeftOut, split: Split, store: Store | None) -> Work:
    """Return the models that the chosen records lack."""
    sides = (split.members & split.evaluated[0], split.nonmembers)
    records = len(plan.ids) or sum(min(plan.records, int(side.sum())) for side in sides)
    trained = 0
    if store is not None:
        chosen = _chosen(store.pool["id"].to_numpy(), split, plan.records, plan.ids, store.manifest.seed)
        trained = sum(min(_count(part), plan.models) for part in _by_record(store, chosen).values())
    return Work(trainings=plan.models * records - trained)


def _by_record(store: Store, chosen: np.ndarray) -> dict[int, dict[str, np.ndarray]]:
    """Read the signals of each chosen record that has some."""
    folder = evidence_folder(store, LeftOut.name)
    numbers = [i for i in file_numbers(folder, "record", width=5) if i < len(chosen) and chosen[i]]
    return {i: store.read(evidence_path(folder, "record", i, width=5)) for i in numbers}


def _count(part: Mapping[str, np.ndarray] | None) -> int:
    """Return the number of models in a record's file."""
    return 0 if part is None else len(next(iter(part.values())))


EVIDENCE_TYPE = EvidenceType(
    plan=LeftOut,
    view=ModelsView,
    summary="models trained without single records",
    cost="trains the requested number of models for every chosen record",
    work=_missing_trainings,
    missing="needs models trained without the record.",
    attacker="knows all other members",
    simulate=partial(models_without, purpose=2),
)
