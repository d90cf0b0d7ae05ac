"""Our own Location30 models: how they are trained and audited."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import guestlist as gl
from papers.systematic_evaluation.data import Records


@dataclass(frozen=True)
class Setting:
    """How many records train a model, and its size; the paper's by default.

    Args:
        epochs: until the training records are learnt by heart.
    """

    records: int = 1000
    hidden: tuple[int, ...] = (1024, 512, 256, 128)
    epochs: int = 12
    references: int = 8

    @property
    def fit(self) -> gl.defences.Fit:
        return gl.defences.Fit(epochs=self.epochs)


@dataclass(frozen=True)
class Subject:
    """A model of ours, with the records it trained on and as many others.

    Args:
        folder: of its audits; references that are there are not trained again.
    """

    target: gl.Target
    members: tuple[np.ndarray, np.ndarray]
    nonmembers: tuple[np.ndarray, np.ndarray]
    seed: int
    folder: Path

    def audit(self, references: int, attacks, evidence=()) -> gl.Results:
        """References train on half of the subject's records: as many as it did, and on no others."""
        return gl.audit(
            self.target,
            self.members,
            self.nonmembers,
            references=references,
            attacks=attacks,
            evidence=evidence,
            folder=self.folder,
            seed=self.seed,
            jobs=1,
            duplicates="drop",
        )


def subject(records: Records, setting: Setting, seed: int, place: Path) -> Subject:
    """A model trained on records drawn with ``seed``; its audits have a folder of their own in ``place``."""
    members, nonmembers = records.sides(setting.records, seed)
    fit = setting.fit
    module = fit(network(records, setting), gl.Data(*members), np.random.default_rng([seed, 1]))
    folder = place / f"no-defence-{seed}"
    return Subject(gl.torch_target(module, train=fit), members, nonmembers, seed, folder)


def network(records: Records, setting: Setting):
    """What is trained, with parameters that training draws anew."""
    return gl.defences.mlp(records.x.shape[1], int(records.y.max()) + 1, hidden=setting.hidden)


def percent(values: list[float]) -> tuple[float, float]:
    """Mean and standard deviation in per cent; NaN for the latter with a single value."""
    values = 100 * np.array(values)
    return float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else float("nan")
