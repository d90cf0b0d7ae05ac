"""Whole answers of the references: attacks that learn a classifier read more than what is said of the true class.

A reference is trained once. One that is not there yet is trained here, and its signals are written beside its answers;
one that is there already is trained once more, with the same random stream and so to the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from scipy.special import log_softmax

from guestlist.collecting.evidence.kind import Kind
from guestlist.collecting.evidence.made_up import World, binary_answers
from guestlist.collecting.evidence.plan import Site, begin_plan, place, plan_of
from guestlist.collecting.readout import Files
from guestlist.collecting.references import References
from guestlist.data import Data
from guestlist.errors import InputError
from guestlist.store import Store, model_path, numbered, read_or_explain
from guestlist.store.files import read_npz
from guestlist.targets.target import Scale, Target
from guestlist.views.evidence import FullAnswersView


@dataclass(frozen=True)
class FullAnswers:
    """Keep everything that the references answer, for every class."""

    name: ClassVar[str] = "full_answers"
    grows: ClassVar[tuple[str, ...]] = ()

    def check(self, target: Target, pool: Data, sides: np.ndarray) -> None:
        if target.train is None:
            raise InputError(
                f"The answers of references are to be kept, but {target.name} has no recipe to train any. Give train=…, "
                "or leave 'full_answers' out."
            )

    def collect(self, site: Site) -> None:
        begin_plan(site.store, self)
        folder = place(site.store, self.name)
        there = numbered(folder, "model")
        references = References(site.target.train, site.store.design(), site.question, site.store.folder)
        task = Answering(references, frozenset(site.store.models()), folder)
        site.run(task, [k for k in range(1, 1 + site.references) if k not in there])

    @staticmethod
    def read(store: Store) -> FullAnswersView | None:
        """Answers of the references whose signals are there, in the same order."""
        if plan_of(store, FullAnswers.name) is None:
            return None
        folder, signals = place(store, FullAnswers.name), set(store.models())
        there = [k for k in numbered(folder, "model") if k in signals]
        if not there:
            return None
        kept = [read_or_explain(_path(folder, k), read_npz)["log_p"] for k in there]
        return FullAnswersView(np.stack(kept), store.member()[there])


@dataclass(frozen=True)
class Answering:
    """How one reference's answers come to be."""

    references: References
    there: frozenset[int]
    folder: Path

    def files(self, k: int, pool: Data) -> Files:
        question, answers = self.references.question, self.references.answers(k, pool)
        kept = {_path(self.folder, k): {"log_p": log_probabilities(answers, question.scale, question.smallest)}}
        if k in self.there:
            return kept
        return {model_path(self.references.folder, k): question.signals(answers), **kept}


def log_probabilities(answers: np.ndarray, scale: Scale, smallest: float) -> np.ndarray:
    """(records, classes) logarithms in single precision, which is enough to learn from and halves the disk.

    Args:
        smallest: the probability that an answer of 0 stands for.
    """
    if scale == "logits":
        return log_softmax(answers, axis=1).astype(np.float32)
    return np.log(np.maximum(answers, smallest)).astype(np.float32)


def _path(folder: Path, k: int) -> Path:
    return folder / f"model-{k:04d}.npz"


def made_up(world: World, k: int) -> FullAnswersView:
    others = world.others(k)
    return FullAnswersView(binary_answers(world.margin[others], world.labels), world.member[others])


KIND = Kind(
    plan=FullAnswers,
    view=FullAnswersView,
    summary="references' whole answers",
    cost="trains references that are there already once more; disk for every class",
    missing="learns from the references' whole answers, which were not kept.",
    made_up=made_up,
)
