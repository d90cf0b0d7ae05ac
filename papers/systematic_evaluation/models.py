"""Training and audits of our Location30 models."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import guestlist as gl
from papers.systematic_evaluation.data import Records


@dataclass(frozen=True)
class Setting:
    """Number of training records and size of a model; the paper's by default.

    Args:
        epochs: number of epochs, enough to memorise the training records.
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
    """One of our models, with its training records and the same number of other records.

    Args:
        module: its network.
        folder: folder of its audits; existing references are not trained again.
    """

    target: gl.Target
    module: Any
    members: tuple[np.ndarray, np.ndarray]
    nonmembers: tuple[np.ndarray, np.ndarray]
    seed: int
    folder: Path

    def audit(self, references: int, attacks, evidence=()) -> gl.Results:
        """Audit the subject; references train on half of its records, the same number as the subject."""
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


def subject(records: Records, setting: Setting, seed: int, cache: Path) -> Subject:
    """Return a model trained on records drawn with ``seed``; its audits have a folder in ``cache``."""
    members, nonmembers = records.sides(setting.records, seed)
    fit = setting.fit
    module = fit(network(records, setting), gl.Data(*members), np.random.default_rng([seed, 1]))
    folder = cache / f"no-defence-{seed}"
    return Subject(
        target=gl.torch_target(module, train=fit),
        module=module,
        members=members,
        nonmembers=nonmembers,
        seed=seed,
        folder=folder,
    )


def network(records: Records, setting: Setting):
    """Return the network; training draws its initial parameters again."""
    return gl.defences.mlp(records.x.shape[1], int(records.y.max()) + 1, hidden=setting.hidden)


def percent(values: list[float]) -> tuple[float, float]:
    """Return mean and standard deviation in per cent; NaN for the latter with a single value."""
    values = 100 * np.array(values)
    return float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else float("nan")
