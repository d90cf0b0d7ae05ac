"""A target and a shadow model of its size, each with members and non-members of its own, and what both answer.

The paper's privacy risk score is learnt from one such shadow model. Everything in the second half of the paper is a
function of the two sets of answers; what was trained is kept in a folder and not trained again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import guestlist as gl
from papers.systematic_evaluation.data import Records, cifar100, location30, published_answers

LOCATION, CIFAR = "Location30", "CIFAR100 features"
# By depth: the paper drops the last hidden layer, or adds a wide one.
HIDDEN = {3: (1024, 512, 256), 4: (1024, 512, 256, 128), 5: (2048, 1024, 512, 256, 128)}
SIDES = ("target", "shadow")


@dataclass(frozen=True)
class Network:
    """An architecture, by what the legend of the paper's Figure 4 names."""

    activation: str = "ReLU"
    width: float = 1.0
    depth: int = 4

    def module(self, features: int, classes: int):
        hidden = tuple(max(1, round(self.width * units)) for units in HIDDEN[self.depth])
        return gl.mlp(features, classes, hidden=hidden, activation=self.activation)

    def __str__(self) -> str:
        return f"{self.activation}, {self.width:g}, {self.depth}"


@dataclass(frozen=True)
class Study:
    """A dataset, and how models of it are trained.

    Args:
        load: the records.
        members: of the target; it has as many non-members, and the shadow has as many of each.
        epochs: until the members are learnt by heart.
        early: epochs of a model that is stopped early.
        steps: epochs at which models are looked at on the way, for Figure 2.
        network: of all models but those of Figure 4.
    """

    name: str
    load: Callable[[], Records]
    members: int
    epochs: int
    early: int
    steps: tuple[int, ...] = ()
    network: Network = Network()


STUDIES = {
    LOCATION: Study(LOCATION, location30, members=1000, epochs=40, early=5, steps=(1, 2, 3, 5, 8, 12, 20, 40)),
    CIFAR: Study(CIFAR, cifar100, members=5000, epochs=20, early=4),
}


@dataclass(frozen=True)
class Pair:
    """What the two models answered about their own members and non-members.

    Args:
        hidden: (records, units) the target's last hidden layer; None for answers that others published.
    """

    target: gl.Predictions
    shadow: gl.Predictions
    hidden: np.ndarray | None = None

    @property
    def accuracy(self) -> tuple[float, float]:
        """Of the target, among its members and among its non-members."""
        right = correct(self.target)
        return float(right[self.target.member].mean()), float(right[~self.target.member].mean())


def published(*, defended: bool) -> Pair:
    """The authors' own Location30 models; this shadow had half as many records as the target."""
    return Pair(*(published_answers(which, defended=defended) for which in SIDES))


def trained(
    study: Study, records: Records, place: Path, *, seed: int, epochs: int | None = None, network: Network | None = None
) -> Pair:
    """Both models, trained on records drawn with ``seed``; read where ``place`` has them already."""
    epochs, network = epochs or study.epochs, network or study.network
    path = place / f"{study.name}-{study.members}-{network}-{epochs}-{seed}.npz".replace(" ", "")
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        sides = (side(study, records, seed, number) for number in range(len(SIDES)))
        kept = [_answers(records, rows, network, epochs, [seed, k]) for k, rows in enumerate(sides)]
        aside = path.with_suffix(".tmp.npz")
        (logits, labels, hidden), (shadow, shadow_labels, _) = kept
        np.savez(aside, target=logits, target_labels=labels, hidden=hidden, shadow=shadow, shadow_labels=shadow_labels)
        aside.rename(path)
    with np.load(path, allow_pickle=False) as file:
        member = np.arange(2 * study.members) < study.members
        said = (gl.Predictions(file[name], file[f"{name}_labels"], member, scale=gl.Logits()) for name in SIDES)
        return Pair(*said, hidden=file["hidden"])


def side(study: Study, records: Records, seed: int, number: int) -> np.ndarray:
    """(2 × members,) rows of model ``number``: its members, then its non-members; no model shares any with another."""
    asked = 2 * study.members
    if asked * len(SIDES) > len(records.x):
        raise gl.InputError(
            f"Expected members={study.members} to be at most a quarter of the {len(records.x)} records: the target and "
            "its shadow have members and non-members of their own."
        )
    return np.random.default_rng(seed).permutation(len(records.x))[number * asked : (number + 1) * asked]


def fitted(records: Records, rows: np.ndarray, network: Network, epochs: int, seed: list[int]):
    """A module trained on some records."""
    module = network.module(records.x.shape[1], int(records.y.max()) + 1)
    return gl.Fit(epochs=epochs)(module, gl.Data(records.x[rows], records.y[rows]), np.random.default_rng(seed))


def logits(module, x: np.ndarray) -> np.ndarray:
    return gl.torch_target(module).predict(x)


def mentr(said: gl.Predictions) -> np.ndarray:
    """(records,) modified entropies."""
    return said.scale.signals(said.answers, said.labels)["mentr"]


def correct(said: gl.Predictions) -> np.ndarray:
    """(records,) whether the answer is right."""
    return said.answers.argmax(axis=1) == said.labels


def _answers(records: Records, rows: np.ndarray, network: Network, epochs: int, seed: list[int]) -> tuple:
    """Logits, labels and the last hidden layer, of a model trained on the first half of the rows."""
    module = fitted(records, rows[: len(rows) // 2], network, epochs, seed)
    x = records.x[rows]
    hidden = gl.torch_target(module[:-1], classes=[0, 1]).predict(x).astype(np.float32)
    return logits(module, x), records.y[rows], hidden
