"""Models trained as the target was, without the one record that they are asked about (Ye et al. 2022, attack L).

Every chosen record has models of its own, so it is done for few. A non-member is left out of the target's training set as
it is: its models train on all members, with seeds of their own. One set of models for all non-members would do with fewer,
but whatever chance made of those models would move the scores of all non-members together, and against the members'; an
interval that takes records to be independent then excludes one half far too often where nothing leaks.

    record-00042.npz   a chosen record: name to (models,) what the models trained without it say about it
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np

from guestlist.collecting.engines.engine import Files
from guestlist.collecting.evidence.kind import EvidenceType
from guestlist.collecting.evidence.made_up import models_without
from guestlist.collecting.evidence.plan import begin_plan, check_counts, evidence_folder, plan_of
from guestlist.collecting.readout import SignalExtractor
from guestlist.collecting.site import CollectContext
from guestlist.data import Data
from guestlist.errors import InputError
from guestlist.games import Split
from guestlist.randomness import stream
from guestlist.store import Store, file_numbers
from guestlist.targets.target import Predict, Target, Trainer
from guestlist.views.evidence import ModelsView

# The first number of the stream "left out" says what is drawn. Part of every audit folder; never change them.
_CHOICE, _WITHOUT = 1, 2


@dataclass(frozen=True)
class LeftOut:
    """Train models without single records.

    Args:
        records: how many members, drawn at random, and as many non-members; all of them where there are no more.
        models: how many for each of them.
        ids: exactly these members and non-members instead of some drawn at random.
    """

    records: int = 100
    models: int = 16
    ids: tuple[str, ...] = ()

    name: ClassVar[str] = "left_out"
    grows: ClassVar[tuple[str, ...]] = ("records", "models")

    def __post_init__(self):
        check_counts(self, "records", "models")
        if isinstance(self.ids, str):
            raise ValueError(f"Expected ids={self.ids!r} to be several names: ids=({self.ids!r},).")
        object.__setattr__(self, "ids", tuple(map(str, self.ids)))

    def check(self, target: Target, pool: Data, split: Split) -> None:
        target.needs(
            "train",
            "{name} has no recipe to train models without a record by{why}. Give train=… in Python, or leave 'left_out' out.",
        )
        _chosen(pool.ids, split, self.records, self.ids, seed=0)  # are the ids known?

    def collect(self, context: CollectContext) -> None:
        plan, folder, split = (
            begin_plan(context.store, self),
            evidence_folder(context.store, self.name),
            context.store.split,
        )
        chosen, member = _chosen(context.pool.ids, split, plan.records, plan.ids, context.seed), split.members
        begun = _by_record(context.store, chosen)
        short = [i for i in np.flatnonzero(chosen).tolist() if _count(begun.get(i)) < plan.models]
        there = {i: begun[i] for i in short if i in begun}
        context.run(
            Without(context.target.needs("train"), member, plan.models, context.seed, context.extractor, folder, there),
            short,
        )

    @staticmethod
    def read(store: Store) -> ModelsView | None:
        plan = plan_of(store, LeftOut.name)
        if plan is None:
            return None
        ids, member = store.pool["id"].to_numpy(), store.split.members
        chosen = _chosen(ids, store.split, plan["records"], tuple(plan["ids"]), store.manifest.seed)
        there = _by_record(store, chosen)
        missing = [side for side in (chosen & member, chosen & ~member) if side.any() and not side[list(there)].any()]
        if not there or missing:  # one side alone is nothing to compare: it is not finished
            return None
        # As many for everyone: how many models a record has must not tell whether it is a member.
        shape = min(map(_count, there.values())), len(ids)
        values = {name: np.full(shape, np.nan) for name in next(iter(there.values()))}
        for name, matrix in values.items():
            for i, part in there.items():
                matrix[:, i] = part[name][: len(matrix)]
        return ModelsView(values, np.zeros(shape, dtype=bool))


@dataclass(frozen=True)
class Without:
    """How the file of one record comes to be: as many models without it as are missing, asked about it alone.

    Args:
        member: (records,) whom the target was trained on.
        models: how many there are to be.
        begun: what is there already; it travels along, since a worker may not see the folder.
    """

    train: Trainer
    member: np.ndarray
    models: int
    seed: int
    extractor: SignalExtractor
    folder: Path
    begun: Mapping[int, Mapping[str, np.ndarray]]

    def files(self, i: int, pool: Data) -> Files:
        rows, only = self.member.copy(), np.array([i])
        rows[i] = False
        x, extractor = pool.take(only).x, self.extractor.take(only)
        parts: list[Mapping[str, np.ndarray]] = [self.begun[i]] if i in self.begun else []
        for k in range(1 + sum(map(_count, parts)), 1 + self.models):
            rng = stream(self.seed, "left out", _WITHOUT, i, k)
            name = f"Model {k} without record {pool.ids[i]!r}"
            # Each model gets its own copy of the records: the one before it may have written on them.
            train = partial(_trained, self.train, pool, rows, rng)
            parts.append(extractor.signals(extractor.train_and_query(name, train, x, rng)))
        return {
            _record_path(self.folder, i): {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        }


def _trained(train: Trainer, pool: Data, rows: np.ndarray, rng: np.random.Generator) -> Predict:
    return train(pool.copied(rows), rng)


def _chosen(ids: np.ndarray, split: Split, records: int, named: tuple[str, ...], seed: int) -> np.ndarray:
    """(records,) true for those that are left out; more of them later keep those drawn before.

    Args:
        ids: (records,) of the pool.
        named: exactly these, if any are.
    """
    if named:
        chosen = np.isin(ids.astype(str), named) & split.evaluated[0]
        unknown = [name for name in named if name not in set(ids[chosen])]
        if unknown:
            told = ", ".join(map(repr, unknown[:5])) + (", …" if len(unknown) > 5 else "")
            raise InputError(f"No member or non-member has the id {told}; there are such as {ids[0]!r}.")
        return chosen
    chosen = np.zeros(len(ids), dtype=bool)
    for number, side in enumerate((split.members & split.evaluated[0], split.nonmembers)):
        order = stream(seed, "left out", _CHOICE, number).permutation(np.flatnonzero(side))
        chosen[order[:records]] = True
    return chosen


def _by_record(store: Store, chosen: np.ndarray) -> dict[int, dict[str, np.ndarray]]:
    """What is there of each chosen record."""
    folder = evidence_folder(store, LeftOut.name)
    numbers = [i for i in file_numbers(folder, "record", width=5) if i < len(chosen) and chosen[i]]
    return {i: store.read(_record_path(folder, i)) for i in numbers}


def _count(part: Mapping[str, np.ndarray] | None) -> int:
    """How many models a record's file holds."""
    return 0 if part is None else len(next(iter(part.values())))


def _record_path(folder: Path, i: int) -> Path:
    return folder / f"record-{i:05d}.npz"


EVIDENCE_TYPE = EvidenceType(
    plan=LeftOut,
    view=ModelsView,
    summary="models trained without single records",
    cost="trains as many models as asked for, for every chosen record",
    missing="compares the target with models trained without the record, which were not trained.",
    attacker="knows all other members",
    simulate=partial(models_without, purpose=2),
)
