"""Models taught by the target: trained as it was, on records that carry its answers in the place of labels.

Whatever the target has learnt about the population passes on to them; what it knows of one record because it trained
on it does not, unless that record is among theirs (Ye et al. 2022, attack D).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from scipy.special import softmax

from guestlist.collecting.evidence.kind import Kind
from guestlist.collecting.evidence.made_up import World, binary_signals
from guestlist.collecting.evidence.plan import Site, begin_plan, check_counts, place, plan_of
from guestlist.collecting.readout import Files, Question
from guestlist.data import Data
from guestlist.errors import InputError
from guestlist.games import Design
from guestlist.randomness import stream
from guestlist.store import Store, numbered, read_or_explain
from guestlist.store.files import read_npz
from guestlist.targets.target import SoftTrainer, Target
from guestlist.views.evidence import ModelsView


@dataclass(frozen=True)
class Distilled:
    """Train models on records that the target has labelled.

    Args:
        models: how many.
        records: which ones they train on: ``population``, or the whole ``pool``, where a record is compared only with
            models that did not train on it. ``auto`` takes the population if it has twice as many records as the
            members: with fewer, all models would train on much the same ones.
    """

    models: int = 64
    records: Literal["auto", "population", "pool"] = "auto"

    name: ClassVar[str] = "distilled"
    grows: ClassVar[tuple[str, ...]] = ("models",)

    def __post_init__(self):
        check_counts(self, "models")
        if self.records not in ("auto", "population", "pool"):
            raise ValueError(f"Expected records={self.records!r} to be 'auto', 'population' or 'pool'.")

    def check(self, target: Target, pool: Data, sides: np.ndarray) -> None:
        if target.distil is None:
            why = f" ({target.undistillable})" if target.undistillable else ""
            raise InputError(
                f"{target.name} cannot be trained on soft labels{why}, so nothing can be distilled from it. Leave "
                "'distilled' out; or, for your own training, give distil=(data, soft, rng) -> model."
            )
        if self.records == "population" and not (sides == "population").any():
            raise InputError("There is no population to distil on: give population=…, or records='pool'.")

    def collect(self, site: Site) -> None:
        plan, folder = begin_plan(site.store, self), place(site.store, self.name)
        there = numbered(folder, "model")
        soft = _probabilities(site.store.answers(), site.target.scale)
        task = Distilling(site.target.distil, self._design(site), self._taught(site), soft, site.question, folder)
        site.run(task, [k for k in range(1, 1 + plan.models) if k not in there])

    def _taught(self, site: Site) -> np.ndarray:
        """(records,) true for those that may be trained on."""
        sides = site.store.pool()["side"].to_numpy()
        population = sides == "population"
        enough = population.sum() >= 2 * (sides == "members").sum()
        chosen = enough if self.records == "auto" else self.records == "population"
        return population if chosen else np.ones(len(sides), dtype=bool)

    def _design(self, site: Site) -> Design:
        taught, members = self._taught(site), site.store.design().member
        # As many records as the target had; all of them where there are no more.
        rate = min(members.sum() / taught.sum(), 1 - 1e-9)
        return Design(members, float(rate), site.seed, "distilled rows")

    @staticmethod
    def read(store: Store) -> ModelsView | None:
        plan, folder = plan_of(store, Distilled.name), place(store, Distilled.name)
        if plan is None:
            return None
        there = [k for k in numbered(folder, "model") if k <= plan["models"]]
        if not there:
            return None
        parts = [read_or_explain(_path(folder, k), read_npz) for k in there]
        values = {name: np.stack([part[name] for part in parts]) for name in parts[0]}
        return ModelsView(values, values.pop("member"))


@dataclass(frozen=True)
class Distilling:
    """How one distilled model comes to be."""

    train: SoftTrainer
    design: Design
    taught: np.ndarray
    soft: np.ndarray
    question: Question
    folder: Path

    def files(self, k: int, pool: Data) -> Files:
        rows = self.design.row(k) & self.taught
        rng = stream(self.design.seed, "distilled training", k)
        name = f"Distilled model {k} ({rows.sum()} records)"
        answers = self.question.answers(name, lambda: self.train(pool.take(rows), self.soft[rows], rng), pool.x, rng)
        return {_path(self.folder, k): {**self.question.signals(answers), "member": rows}}


def _path(folder: Path, k: int) -> Path:
    return folder / f"model-{k:04d}.npz"


def _probabilities(answers: np.ndarray, scale: str) -> np.ndarray:
    """What the target teaches: rows that sum to 1."""
    if scale == "logits":
        return softmax(answers, axis=1)
    return answers / answers.sum(axis=1, keepdims=True)


# How many distilled models each target of a made-up world has.
MADE_UP = 16


def made_up(world: World, k: int) -> ModelsView:
    """Models that never trained on the record asked about, as references that did not."""
    shape = (MADE_UP, len(world.labels))
    values = binary_signals(world.difficulty + world.deviation * world.rng(1, k).normal(size=shape))
    return ModelsView(values, np.zeros(shape, dtype=bool))


KIND = Kind(
    plan=Distilled,
    view=ModelsView,
    summary="models taught by the target's answers",
    cost="trains as many models as asked for",
    missing="compares the target with models distilled from it, which were not trained.",
    made_up=made_up,
)
