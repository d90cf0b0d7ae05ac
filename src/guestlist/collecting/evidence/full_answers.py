"""Whole answers of the references: attacks that learn a classifier read more than what is said of the true class.

A reference is trained once. One that is not there yet is trained here, and its signals are written beside its answers;
one that is there already is trained once more, with the same random stream and so to the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from guestlist.collecting.engines.engine import Files
from guestlist.collecting.evidence.plan import Site, begin_plan, noted, place
from guestlist.collecting.references import References
from guestlist.data import Data
from guestlist.errors import InputError
from guestlist.store import Store, model_path, numbered, reading
from guestlist.store.files import read_npz
from guestlist.targets.scales import as_scale
from guestlist.targets.target import Target
from guestlist.views.evidence import FullAnswers


@dataclass(frozen=True)
class Answers:
    """Keep everything that the references answer, for every class."""

    name: ClassVar[str] = "answers"
    grows: ClassVar[tuple[str, ...]] = ()

    def check(self, target: Target, pool: Data, sides: np.ndarray) -> None:
        target.needs(
            "train",
            "The answers of references are to be kept, but {name} has no recipe to train any{why}. Give train=…, or leave "
            "'answers' out.",
        )
        if not target.scale.has_classes:
            raise InputError(f"{target.name} predicts values: 'answers' are kept of classifiers only. Leave them out.")

    def collect(self, site: Site) -> None:
        begin_plan(site.store, self)
        folder = place(site.store, self.name)
        there = numbered(folder, "model")
        references = References(site.target.needs("train"), site.store.design(), site.readout, site.store.folder)
        task = Answering(references, frozenset(site.store.models()), folder)
        site.run(task, [k for k in range(1, 1 + site.references) if k not in there])

    @staticmethod
    def read(store: Store) -> FullAnswers | None:
        """The target's answers, and those of references whose signals are there, in the same order."""
        if noted(store, Answers.name) is None:
            return None
        folder, signals = place(store, Answers.name), set(store.models())
        there = [k for k in numbered(folder, "model") if k in signals]
        if not there:
            return None
        own = store.answers()
        scale = as_scale(store.manifest.scale).resolved(own, store.pool()["class"].to_numpy())
        target = scale.log_probabilities(own)
        others = [reading(_path(folder, k), read_npz)["log_p"] for k in there]
        return FullAnswers(np.stack([target, *others]), store.member()[there])


@dataclass(frozen=True)
class Answering:
    """How one reference's answers come to be."""

    references: References
    there: frozenset[int]
    folder: Path

    def files(self, k: int, pool: Data) -> Files:
        readout, answers = self.references.readout, self.references.answers(k, pool)
        kept = {_path(self.folder, k): {"log_p": readout.scale.log_probabilities(answers)}}
        if k in self.there:
            return kept
        return {model_path(self.references.folder, k): readout.signals(answers), **kept}


def _path(folder: Path, k: int) -> Path:
    return folder / f"model-{k:04d}.npz"
