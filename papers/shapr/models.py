"""Targets of a dataset and their references: networks as in the paper, each trained on half of one pool of records.

Every model is a reference of every other. The first models are also targets, one per repeat; their networks are stored,
because SHAPr reads their layers.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

import guestlist as gl
from papers.location import sgd
from papers.shapr.data import Pool, Source, drawn

SWEEP_FULL = 3000  # datasets with at most this number of members have the paper's size in changed trainings
SWEEP_MEMBERS = 2000  # members of the others in changed trainings


@dataclass(frozen=True)
class Setting:
    """Number of training records, and training; by default the paper's network, the only detail that the paper states.

    Args:
        full: datasets with at most this number of members have the paper's size.
        max_members: members of a target of a larger dataset.
        public: datasets whose targets have the public recipe of ``papers.location`` instead of AdamW.
        models: (members, models): number of models of a dataset whose targets have at most ``members`` members in the
            paper.
        repeats: number of models that are targets.
    """

    hidden: tuple[int, ...] = (1024, 512, 256, 128)
    epochs: int = 20
    batch_size: int = 64
    full: int = 24_000
    max_members: int = 35_000  # half of the images of MNIST and of FMNIST
    public: tuple[str, ...] = ("location30",)
    models: tuple[tuple[int, int], ...] = ((1000, 33), (3000, 17), (60_000, 11))
    repeats: int = 10

    def members(self, source: Source) -> int:
        return source.members if source.members <= self.full else min(source.members, self.max_members)

    def count(self, source: Source) -> int:
        return next(count for members, count in self.models if source.members <= members)

    @property
    def fit(self) -> gl.defences.Fit:
        return gl.defences.Fit(epochs=self.epochs, batch_size=self.batch_size)

    def fit_of(self, pool: Pool) -> gl.defences.Fit:
        """Return the training recipe of a dataset."""
        return sgd() if pool.name in self.public else self.fit

    def for_targets(self, repeats: int) -> Setting:
        """Return the setting of fewer targets, with the same recipe for all datasets and without references."""
        return replace(self, public=(), repeats=min(self.repeats, repeats), models=((60_000, 1),))

    def for_sweeps(self, repeats: int) -> Setting:
        """Return the setting of changed trainings, of which a dataset has dozens: fewer members, and no references."""
        few = self.for_targets(repeats)
        return replace(few, full=min(self.full, SWEEP_FULL), max_members=min(self.max_members, SWEEP_MEMBERS))

    def folder_name(self, pool: Pool, size: int) -> str:
        """Return the name of the folder of these models: unique to the setting and to the initialisation of parameters."""
        begun = _begun(self, pool)
        recipe = ("public",) if pool.name in self.public else (self.epochs, self.batch_size)
        return "-".join(map(str, (pool.name, size, *self.hidden, *recipe, begun)))

    def network(self, pool: Pool):
        return gl.defences.mlp(pool.x.shape[1], pool.classes, hidden=self.hidden, activation="Tanh")


@dataclass(frozen=True, eq=False)
class TrainedModels:
    """All models of a pool.

    Args:
        member: (models, records) true where a model trained on a record.
        logits: (models, records, classes) outputs of the models.
        targets: the networks of the first models.
        seconds: duration of the training.
        folder: folder of the models.
    """

    pool: Pool
    member: np.ndarray
    logits: np.ndarray
    targets: tuple[Any, ...]
    seconds: float
    folder: Path

    @cached_property
    def rotation(self) -> gl.attacks.Rotation:
        """Return each model in turn as the target, with all others as references."""
        signals = {
            name: np.stack([gl.models.signals_of_logits(logits, self.pool.y)[name] for logits in self.logits])
            for name in ("mentr", "margin", "correct")
        }
        return gl.attacks.Rotation(signals, self.member, self.pool.y)


def train_models(pool: Pool, source: Source, setting: Setting, folder: Path) -> TrainedModels:
    """Train the models that ``folder`` lacks, with one thread, and query all models for all records."""
    size = setting.members(source)
    pool = drawn(pool, 2 * size)
    count = max(setting.count(source), setting.repeats + 1)
    member = np.zeros((count, len(pool.y)), dtype=bool)
    logits, targets, seconds = [], [], 0.0
    folder = folder / setting.folder_name(pool, size)
    for k in range(count):
        member[k, np.random.default_rng([1, k]).permutation(len(pool.y))[:size]] = True
        inputs = trained_by(pool, member[k], setting, k)
        module, took = load_or_train(
            folder / f"model-{k}.pt", inputs[0], lambda inputs=inputs: setting.fit_of(pool)(*inputs)
        )
        seconds += took
        logits.append(query(module, pool.x))
        if k < setting.repeats:
            targets.append(module)
    return TrainedModels(pool, member, np.stack(logits), tuple(targets), seconds, folder)


def query(module, x: np.ndarray) -> np.ndarray:
    """Return (records, outputs) the outputs of a network, or of its first layers."""
    import torch

    with torch.no_grad():
        return module(torch.as_tensor(x)).double().numpy()


def trained_by(pool: Pool, member: np.ndarray, setting: Setting, k: int) -> tuple[Any, gl.Data, np.random.Generator]:
    """Return the inputs of the recipe of model ``k``: a network, its members, and a random generator."""
    return setting.network(pool), gl.Data(pool.x[member], pool.y[member]), np.random.default_rng([2, k])


def load_or_train(path: Path, network: Any, train: Callable[[], Any]) -> tuple[Any, float]:
    """Return the network in a file, or else the result of ``train``; and the seconds of its training."""
    import torch

    if path.exists():
        stored = torch.load(path, weights_only=True)
        network.load_state_dict(stored["state"])
        return network.eval(), stored["seconds"]
    start = time.perf_counter()
    module = train()
    seconds = time.perf_counter() - start
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save({"state": module.state_dict(), "seconds": seconds}, aside := path.with_suffix(f".{os.getpid()}.part"))
    aside.rename(path)  # an existing file is complete
    return module, seconds


def train_changed(
    trained: TrainedModels, setting: Setting, name: str, records: Sequence[gl.Data]
) -> tuple[list[Any], float]:
    """Return a network per target that is trained on changed records, and the seconds of training."""
    modules = []
    seconds = 0.0
    for k, data in enumerate(records):
        network, _, rng = trained_by(trained.pool, trained.member[k], setting, k)
        inputs = network, data, rng
        path = trained.folder / f"{name}-{k}.pt"
        module, took = load_or_train(path, network, lambda inputs=inputs: setting.fit(*inputs))
        modules.append(module)
        seconds += took
    return modules, seconds


def _begun(setting: Setting, pool: Pool) -> str:
    """Return a short hash that changes if the initialisation of parameters changes."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        drawn_ = torch.nn.utils.parameters_to_vector(setting.network(pool).parameters())
    return sha256(drawn_.detach().numpy().tobytes()).hexdigest()[:8]
