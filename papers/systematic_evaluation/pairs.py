"""A target and a shadow model of its size, each with members and non-members of its own, and what both answer.

The paper's attacks and its privacy risk score are learnt from one such shadow model. Nearly everything in the paper is a
function of the two sets of answers; what was trained is kept in a folder and not trained again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import guestlist as gl
from papers.systematic_evaluation.data import Records, cifar100, location30, published_answers

LOCATION, CIFAR = "Location30", "CIFAR100 features"
NO_DEFENCE, ADV_REG, EARLY, MEMGUARD = "no defence", "AdvReg", "early stopping", "MemGuard"
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
        return gl.defences.mlp(features, classes, hidden=hidden, activation=self.activation)

    def __str__(self) -> str:
        return f"{self.activation}, {self.width:g}, {self.depth}"


@dataclass(frozen=True)
class Study:
    """A dataset, and how models of it are trained.

    Args:
        load: the records.
        members: of the target; it has as many non-members, and the shadow has as many of each.
        epochs: until the members are learnt by heart.
        steps: epochs at which models are looked at on the way, the last of them included.
        network: of all models but those of Figure 4.
        memguard: whether MemGuard is tried.
    """

    name: str
    load: Callable[[], Records]
    members: int
    epochs: int
    steps: tuple[int, ...]
    network: Network = Network()
    memguard: bool = False

    def __post_init__(self) -> None:
        if self.epochs not in self.steps:
            raise ValueError(f"Expected epochs={self.epochs} to be one of steps={self.steps}.")


STUDIES = {
    LOCATION: Study(LOCATION, location30, members=1000, epochs=20, steps=(1, 2, 3, 4, 5, 6, 8, 12, 20), memguard=True),
    CIFAR: Study(CIFAR, cifar100, members=5000, epochs=12, steps=(1, 2, 3, 4, 6, 8, 12)),
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
    study: Study,
    records: Records,
    place: Path,
    *,
    seed: int,
    training: str = NO_DEFENCE,
    epochs: int | None = None,
    network: Network | None = None,
    draw: int = 0,
) -> Pair:
    """Both models, trained on records drawn with ``seed``; read where ``place`` has them already.

    Args:
        training: ``NO_DEFENCE``, ``ADV_REG`` or ``MEMGUARD``.
        draw: another number trains models anew on the same records.
    """
    epochs, network = epochs or study.epochs, network or study.network

    def path(of: str, after: int) -> Path:
        name = f"{study.name}-{study.members}-{network}-{of}-{after}-{seed}-{draw}"
        return place / f"{name}.npz".replace(" ", "")

    if not path(training, epochs).exists():
        place.mkdir(parents=True, exist_ok=True)
        how = NO_DEFENCE if training == MEMGUARD else training
        # Fewer epochs are the first of more: one training gives all steps.
        steps = study.steps if (network, draw) == (study.network, 0) and epochs in study.steps else (epochs,)
        courses = [_course(study, records, how, network, steps, seed, draw, number) for number in range(len(SIDES))]
        for ((of, after), first), (_, second) in zip(*map(list, courses), strict=True):
            aside = path(of, after).with_suffix(".tmp.npz")
            said = zip(SIDES, (first, second), strict=True)
            np.savez(aside, **{f"{name}_{part}": values for name, parts in said for part, values in parts.items()})
            aside.rename(path(of, after))
    scale = gl.models.Probabilities() if training == MEMGUARD else gl.models.Logits()
    with np.load(path(training, epochs), allow_pickle=False) as file:
        member = np.arange(2 * study.members) < study.members
        both = (
            gl.Predictions(file[f"{name}_answers"].astype(np.float64), file[f"{name}_labels"], member, scale=scale)
            for name in SIDES
        )
        return Pair(*both, hidden=file["target_hidden"])


def stopped(study: Study, records: Records, place: Path, *, seed: int) -> tuple[int, Pair]:
    """Plain training, stopped after the step whose test accuracy is nearest to that of the target with AdvReg."""
    wanted = trained(study, records, place, seed=seed, training=ADV_REG).accuracy[1]
    pairs = {epochs: trained(study, records, place, seed=seed, epochs=epochs) for epochs in study.steps}
    epochs = min(pairs, key=lambda one: abs(pairs[one].accuracy[1] - wanted))
    return epochs, pairs[epochs]


def side(study: Study, records: Records, seed: int, number: int) -> np.ndarray:
    """(2 × members,) rows of model ``number``: its members, then its non-members; no model shares any with another."""
    asked = 2 * study.members
    if asked * len(SIDES) > len(records.x):
        raise gl.InputError(
            f"Expected members={study.members} to be at most a quarter of the {len(records.x)} records: the target and "
            "its shadow have members and non-members of their own."
        )
    return np.random.default_rng(seed).permutation(len(records.x))[number * asked : (number + 1) * asked]


def held_out(study: Study, records: Records, seed: int, number: int) -> gl.Data:
    """Records that neither model trains on or is asked about, for the defences of model ``number`` alone."""
    rest = np.random.default_rng(seed).permutation(len(records.x))[2 * study.members * len(SIDES) :]
    rows = np.array_split(rest, len(SIDES))[number][: study.members]
    if not len(rows):
        raise gl.InputError(
            f"Expected members={study.members} to be less than a quarter of the {len(records.x)} records: a defence needs "
            "records that are held out."
        )
    return gl.Data(records.x[rows], records.y[rows])


def fitted(records: Records, rows: np.ndarray, network: Network, epochs: int, seed: list[int]):
    """A module trained on some records, without a defence."""
    data = gl.Data(records.x[rows], records.y[rows])
    return gl.defences.Fit(epochs=epochs)(_module(records, network), data, np.random.default_rng(seed))


def logits(module, x: np.ndarray) -> np.ndarray:
    return gl.torch_target(module).predict(x)


def mentr(said: gl.Predictions) -> np.ndarray:
    """(records,) modified entropies."""
    return said.scale.signals(said.answers, said.labels)["mentr"]


def correct(said: gl.Predictions) -> np.ndarray:
    """(records,) whether the answer is right."""
    return said.answers.argmax(axis=1) == said.labels


def memguard(held_out: gl.Data) -> gl.defences.MemGuard:
    """The way to answer that is tried, as it comes."""
    return gl.defences.MemGuard(held_out)


def as_probabilities(said: gl.Predictions) -> gl.Predictions:
    """The same answers on the scale of those that MemGuard changed."""
    return replace(said, answers=said.scale.soft(said.answers), scale=gl.models.Probabilities())


def _course(
    study: Study,
    records: Records,
    training: str,
    network: Network,
    steps: tuple[int, ...],
    seed: int,
    draw: int,
    number: int,
) -> Iterator[tuple[tuple[str, int], dict[str, np.ndarray]]]:
    """What model ``number`` answers after each step; and, without a defence, what MemGuard makes of it in the end."""
    rows = side(study, records, seed, number)
    x, y = records.x[rows], records.y[rows]
    inside = gl.Data(x[: study.members], y[: study.members])
    objective = gl.defences.AdvReg(held_out(study, records, seed, number)) if training == ADV_REG else None
    fit = gl.defences.Fit(epochs=max(steps), objective=objective)
    rng = np.random.default_rng([seed, number, draw] if draw else [seed, number])
    for epoch, module in enumerate(fit.epochs_of(_module(records, network), inside, rng), start=1):
        if epoch in steps:
            kept = {"labels": y, "hidden": _last_hidden(module, x)}
            yield (training, epoch), {"answers": logits(module, x).astype(np.float32), **kept}
            if study.memguard and (training, network, draw, epoch) == (NO_DEFENCE, study.network, 0, study.epochs):
                guard = memguard(held_out(study, records, seed, number))
                defended = gl.models.answering(gl.torch_target(module), guard, members=(inside.x, inside.y), seed=seed)
                yield (MEMGUARD, epoch), {"answers": defended.predict(x), **kept}


def _module(records: Records, network: Network):
    return network.module(records.x.shape[1], int(records.y.max()) + 1)


def _last_hidden(module, x: np.ndarray) -> np.ndarray:
    return gl.torch_target(module[:-1], classes=[0, 1]).predict(x).astype(np.float32)
