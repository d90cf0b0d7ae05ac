"""The targets of a dataset and their references: networks of the paper's shape, each of half of one pool of records.

Every model is a reference of every other. The first ones are also targets, one for each repeat; of these the network itself
is kept, since SHAPr looks into its layers.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import guestlist as gl
from papers.shapr.data import Pool, Source, drawn


@dataclass(frozen=True)
class Setting:
    """How many records train a model, and how; the network is the paper's by default, which prints no more than that.

    Args:
        most: members of a target at the most, where the paper has more.
        models: (members, models): how many models a dataset has whose targets have at most so many members in the paper.
        repeats: how many of the models are targets.
    """

    hidden: tuple[int, ...] = (1024, 512, 256, 128)
    epochs: int = 20
    batch_size: int = 64
    most: int = 2000
    models: tuple[tuple[int, int], ...] = ((1500, 33), (3000, 17), (60_000, 13))
    repeats: int = 10

    def members(self, source: Source) -> int:
        return min(source.members, self.most)

    def count(self, source: Source) -> int:
        return next(count for members, count in self.models if source.members <= members)

    @property
    def fit(self) -> gl.Fit:
        return gl.Fit(epochs=self.epochs, batch_size=self.batch_size)

    def place(self, pool: Pool, size: int) -> str:
        """The name of a folder that models of other settings do not share."""
        return "-".join(map(str, (pool.name, size, *self.hidden, self.epochs, self.batch_size)))

    def network(self, pool: Pool):
        return gl.mlp(pool.x.shape[1], pool.classes, hidden=self.hidden, activation="Tanh")


@dataclass(frozen=True, eq=False)
class World:
    """All models of a pool.

    Args:
        member: (models, records) true where a model trained on a record.
        logits: (models, records, classes) what they answer.
        targets: the networks of the first models.
        seconds: that training took.
    """

    pool: Pool
    member: np.ndarray
    logits: np.ndarray
    targets: tuple[Any, ...]
    seconds: float

    @cached_property
    def rotation(self) -> gl.Rotation:
        """Each model in turn as the target, with all others as references."""
        signals = {
            name: np.stack([gl.SIGNALS[name](logits, self.pool.y) for logits in self.logits])
            for name in ("mentr", "margin", "correct")
        }
        return gl.Rotation(signals, self.member, self.pool.y)


def world(pool: Pool, source: Source, setting: Setting, folder: Path) -> World:
    """Train whatever ``folder`` does not hold, with one thread, and ask all models about all records."""
    size = setting.members(source)
    pool = drawn(pool, 2 * size)
    count = max(setting.count(source), setting.repeats + 1)
    member = np.zeros((count, len(pool.y)), dtype=bool)
    logits, targets, seconds = [], [], 0.0
    for k in range(count):
        member[k, np.random.default_rng([1, k]).permutation(len(pool.y))[:size]] = True
        module, took = _trained(pool, member[k], setting, k, folder / setting.place(pool, size) / f"model-{k}.pt")
        seconds += took
        logits.append(asked(module, pool.x))
        if k < setting.repeats:
            targets.append(module)
    return World(pool, member, np.stack(logits), tuple(targets), seconds)


def asked(module, x: np.ndarray) -> np.ndarray:
    """(records, outputs) what a network, or the first layers of one, answers."""
    import torch

    with torch.no_grad():
        return module(torch.as_tensor(x)).double().numpy()


def trained_by(pool: Pool, member: np.ndarray, setting: Setting, k: int) -> tuple[Any, gl.Data, np.random.Generator]:
    """What the recipe makes model ``k`` of: a network, its members, and what is random."""
    return setting.network(pool), gl.Data(pool.x[member], pool.y[member]), np.random.default_rng([2, k])


def _trained(pool: Pool, member: np.ndarray, setting: Setting, k: int, path: Path):
    """Model ``k`` and the seconds that its training took, now or when it was trained."""
    import torch

    network = setting.network(pool)
    if path.exists():
        kept = torch.load(path, weights_only=True)
        network.load_state_dict(kept["state"])
        return network.eval(), kept["seconds"]
    start = time.perf_counter()
    module = setting.fit(*trained_by(pool, member, setting, k))
    seconds = time.perf_counter() - start
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save({"state": module.state_dict(), "seconds": seconds}, aside := path.with_suffix(".part"))
    aside.rename(path)  # what is there is whole
    return module, seconds
