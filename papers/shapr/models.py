"""The targets of a dataset and their references: networks of the paper's shape, each of half of one pool of records.

Every model is a reference of every other. The first ones are also targets, one for each repeat; of these the network itself
is kept, since SHAPr looks into its layers.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

import guestlist as gl
from papers.shapr.data import Pool, Source, drawn


@dataclass(frozen=True)
class Setting:
    """How many records train a model, and how; the network is the paper's by default, which prints no more than that.

    Args:
        full: datasets with at most this number of members have the paper's size.
        most: members of a target of a larger dataset.
        models: (members, models): how many models a dataset has whose targets have at most so many members in the paper.
        repeats: how many of the models are targets.
    """

    hidden: tuple[int, ...] = (1024, 512, 256, 128)
    epochs: int = 20
    batch_size: int = 64
    full: int = 3000
    most: int = 2000
    models: tuple[tuple[int, int], ...] = ((1000, 33), (3000, 17), (60_000, 11))
    repeats: int = 10

    def members(self, source: Source) -> int:
        return source.members if source.members <= self.full else min(source.members, self.most)

    def count(self, source: Source) -> int:
        return next(count for members, count in self.models if source.members <= members)

    @property
    def fit(self) -> gl.defences.Fit:
        return gl.defences.Fit(epochs=self.epochs, batch_size=self.batch_size)

    def place(self, pool: Pool, size: int) -> str:
        """The name of a folder that models of other settings do not share, nor those that began with other parameters."""
        begun = _begun(self, pool)
        return "-".join(map(str, (pool.name, size, *self.hidden, self.epochs, self.batch_size, begun)))

    def network(self, pool: Pool):
        return gl.defences.mlp(pool.x.shape[1], pool.classes, hidden=self.hidden, activation="Tanh")


@dataclass(frozen=True, eq=False)
class World:
    """All models of a pool.

    Args:
        member: (models, records) true where a model trained on a record.
        logits: (models, records, classes) what they answer.
        targets: the networks of the first models.
        seconds: that training took.
        folder: that keeps the models.
    """

    pool: Pool
    member: np.ndarray
    logits: np.ndarray
    targets: tuple[Any, ...]
    seconds: float
    folder: Path

    @cached_property
    def rotation(self) -> gl.attacks.Rotation:
        """Each model in turn as the target, with all others as references."""
        signals = {
            name: np.stack([gl.models.SIGNALS[name](logits, self.pool.y) for logits in self.logits])
            for name in ("mentr", "margin", "correct")
        }
        return gl.attacks.Rotation(signals, self.member, self.pool.y)


def world(pool: Pool, source: Source, setting: Setting, folder: Path) -> World:
    """Train whatever ``folder`` does not hold, with one thread, and ask all models about all records."""
    size = setting.members(source)
    pool = drawn(pool, 2 * size)
    count = max(setting.count(source), setting.repeats + 1)
    member = np.zeros((count, len(pool.y)), dtype=bool)
    logits, targets, seconds = [], [], 0.0
    folder = folder / setting.place(pool, size)
    for k in range(count):
        member[k, np.random.default_rng([1, k]).permutation(len(pool.y))[:size]] = True
        given = trained_by(pool, member[k], setting, k)
        module, took = kept(folder / f"model-{k}.pt", given[0], lambda given=given: setting.fit(*given))
        seconds += took
        logits.append(asked(module, pool.x))
        if k < setting.repeats:
            targets.append(module)
    return World(pool, member, np.stack(logits), tuple(targets), seconds, folder)


def asked(module, x: np.ndarray) -> np.ndarray:
    """(records, outputs) what a network, or the first layers of one, answers."""
    import torch

    with torch.no_grad():
        return module(torch.as_tensor(x)).double().numpy()


def trained_by(pool: Pool, member: np.ndarray, setting: Setting, k: int) -> tuple[Any, gl.Data, np.random.Generator]:
    """What the recipe makes model ``k`` of: a network, its members, and what is random."""
    return setting.network(pool), gl.Data(pool.x[member], pool.y[member]), np.random.default_rng([2, k])


def kept(path: Path, network: Any, train: Callable[[], Any]) -> tuple[Any, float]:
    """The network that a file keeps, or else what ``train`` makes of it; and the seconds that its training took."""
    import torch

    if path.exists():
        found = torch.load(path, weights_only=True)
        network.load_state_dict(found["state"])
        return network.eval(), found["seconds"]
    start = time.perf_counter()
    module = train()
    seconds = time.perf_counter() - start
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save({"state": module.state_dict(), "seconds": seconds}, aside := path.with_suffix(".part"))
    aside.rename(path)  # what is there is whole
    return module, seconds


def _begun(setting: Setting, pool: Pool) -> str:
    """A few characters that stand for the way in which parameters are drawn: other ones if that way changes."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        drawn_ = torch.nn.utils.parameters_to_vector(setting.network(pool).parameters())
    return sha256(drawn_.detach().numpy().tobytes()).hexdigest()[:8]
