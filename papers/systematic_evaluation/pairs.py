"""A target and a shadow model, each with its own members and non-members, and the outputs of both.

The paper estimates its attacks and its privacy risk score from one such shadow model, or from a known half of the target's
own records. Nearly all results of the paper are functions of these outputs; trained models are stored in a folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

import guestlist as gl
from papers.location import EPOCHS, sgd
from papers.systematic_evaluation.adv_reg import ReleasedAdvReg
from papers.systematic_evaluation.data import (
    Records,
    cifar100,
    cifar100_images,
    location30,
    published_outputs,
    purchase100,
    texas100,
)

LOCATION, CIFAR, CIFAR_IMAGES = "Location30", "CIFAR100 features", "CIFAR100 images"
IMAGE = 32  # pixels, width and height
PURCHASE, TEXAS = "Purchase100", "Texas100"  # need data that few users have
# Location30 with the public recipes: of the released MemGuard code, with two sizes of shadow models, and of the AdvReg code.
PUBLIC, PUBLIC_500, PUBLIC_ADV_REG = (
    "Location30, SGD",
    "Location30, SGD, shadow of 500",
    "Location30, released AdvReg",
)
SHADOW, HALF = "shadow model", "half of the target's records"
NO_DEFENCE, ADV_REG, EARLY, MEMGUARD = "no defence", "AdvReg", "early stopping", "MemGuard"
# By depth: the paper removes the last hidden layer, or adds a wide one.
HIDDEN = {3: (1024, 512, 256), 4: (1024, 512, 256, 128), 5: (2048, 1024, 512, 256, 128)}
SIDES = ("target", "shadow")


@dataclass(frozen=True)
class Network:
    """Architecture, as named in the legend of the paper's Figure 4."""

    activation: str = "ReLU"
    width: float = 1.0
    depth: int = 4

    def module(self, features: int, classes: int):
        hidden = tuple(max(1, round(self.width * units)) for units in HIDDEN[self.depth])
        return gl.defences.mlp(features, classes, hidden=hidden, activation=self.activation)

    def __str__(self) -> str:
        return f"{self.activation}, {self.width:g}, {self.depth}"


@dataclass(frozen=True)
class Convolutional(Network):
    """Network of two convolutions for images, instead of the DenseNet of the paper's Table 5."""

    def module(self, features: int, classes: int):
        return gl.defences.cnn(IMAGE, classes, channels=features)

    def __str__(self) -> str:
        return "two convolutions"


def adam(epochs: int) -> gl.defences.Fit:
    return gl.defences.Fit(epochs=epochs)


def momentum(epochs: int) -> gl.defences.Fit:
    """Return the recipe of the CIFAR100 models of ``papers.hypothesis_tests``."""
    return gl.defences.Fit(epochs=epochs, learning_rate=0.01, optimizer="sgd", momentum=0.9, batch_size=32)


def large_batches(epochs: int) -> gl.defences.Fit:
    """Return the recipe of the released AdvReg code: Adam with rate 0.001 and batches of 128."""
    return gl.defences.Fit(epochs=epochs, batch_size=128)


@dataclass(frozen=True)
class Study:
    """A dataset, and the training of its models.

    Args:
        load: function that returns the records.
        members: number of members of the target, and of its non-members.
        epochs: number of epochs of a full training.
        steps: epochs after which models are stored, including the last.
        network: architecture of all models except those of Figure 4.
        recipe: function from the number of epochs to a training recipe.
        defences: defences to evaluate.
        adv_reg: function from held-out records to the objective of AdvReg.
        shadow_members: number of members, and of non-members, of the shadow model; None for the same number as the
            target, 0 for no shadow model.
        interpolated: whether Table 2 interpolates early stopping between epochs, to the test accuracy of AdvReg.
        sources: outputs from which thresholds and scores are estimated: of a shadow model, or of the target for the half of
            its records that the attacker knows.
    """

    name: str
    load: Callable[[], Records]
    members: int
    epochs: int
    steps: tuple[int, ...]
    network: Network = Network()
    recipe: Callable[[int], gl.defences.Fit] = adam
    defences: tuple[str, ...] = (ADV_REG, EARLY)
    adv_reg: Callable[[gl.Data], object] = gl.defences.AdvReg
    interpolated: bool = False
    shadow_members: int | None = None
    sources: tuple[str, ...] = (SHADOW,)

    def __post_init__(self) -> None:
        if self.epochs not in self.steps:
            raise ValueError(f"Expected epochs={self.epochs} to be one of steps={self.steps}.")

    @property
    def data(self) -> str:
        """Name of the dataset: its studies share targets."""
        return self.name.split(",")[0]

    def members_of(self, number: int) -> int:
        """Return the number of members of the target (0) or of the shadow model (1)."""
        return self.members if number == 0 or self.shadow_members is None else self.shadow_members

    def estimated(self, pair: Pair, source: str) -> Pair:
        """Return a pair whose attacks are estimated from one source."""
        return half_known(pair) if source == HALF and pair.positions is None else pair

    def fit(self, epochs: int | None = None) -> gl.defences.Fit:
        return self.recipe(epochs or self.epochs)


_PUBLIC = Study(
    PUBLIC, location30, members=1000, epochs=EPOCHS, steps=(EPOCHS,), recipe=sgd, defences=(), sources=(SHADOW, HALF)
)
_RELEASED = Study(
    PUBLIC_ADV_REG,
    location30,
    members=1000,
    epochs=20,
    steps=(1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20),
    network=Network("Tanh"),
    recipe=large_batches,
    adv_reg=ReleasedAdvReg,
    interpolated=True,
    shadow_members=0,
    sources=(HALF,),
)
STUDIES = {
    LOCATION: Study(
        LOCATION,
        location30,
        members=1000,
        epochs=20,
        steps=(1, 2, 3, 4, 5, 6, 8, 12, 20),
        defences=(ADV_REG, EARLY, MEMGUARD),
        interpolated=True,
    ),
    CIFAR: Study(CIFAR, cifar100, members=5000, epochs=12, steps=(1, 2, 3, 4, 6, 8, 12), interpolated=True),
    CIFAR_IMAGES: Study(
        CIFAR_IMAGES,
        cifar100_images,
        members=1375,
        epochs=18,  # as many steps as 10 epochs of 2,500 records
        steps=(18,),
        network=Convolutional(),
        recipe=momentum,
        defences=(),
    ),
    PUBLIC: _PUBLIC,
    PUBLIC_500: replace(_PUBLIC, name=PUBLIC_500, shadow_members=500, sources=(SHADOW,)),
    PUBLIC_ADV_REG: _RELEASED,
    PURCHASE: replace(_RELEASED, name=PURCHASE, load=purchase100, members=19_732),
    TEXAS: replace(
        _RELEASED,
        name=TEXAS,
        load=texas100,
        members=10_000,
        adv_reg=partial(ReleasedAdvReg, weight=10.0, attack_batches=50, learning_rate=1e-3),
    ),
}


@dataclass(frozen=True)
class Pair:
    """Outputs of the target for the records that are attacked, and outputs from which attacks are estimated.

    Args:
        shadow: outputs of the shadow model for its own members and non-members, or of the target for known records.
        hidden: (records, units) the target's last hidden layer; None for outputs that others published.
        positions: (records,) positions of the attacked records among those of the target; None for all of them.
    """

    target: gl.Predictions
    shadow: gl.Predictions
    hidden: np.ndarray | None = None
    positions: np.ndarray | None = None

    @property
    def accuracy(self) -> tuple[float, float]:
        """Return the accuracy of the target on its members and on its non-members."""
        right = correct(self.target)
        return float(right[self.target.member].mean()), float(right[~self.target.member].mean())


def published(*, defended: bool) -> Pair:
    """Return the authors' Location30 models; their shadow model had half the number of records of the target."""
    return Pair(*(published_outputs(which, defended=defended) for which in SIDES))


def trained(
    study: Study,
    records: Records,
    cache: Path,
    *,
    seed: int,
    training: str = NO_DEFENCE,
    epochs: int | None = None,
    network: Network | None = None,
    draw: int = 0,
) -> Pair:
    """Return both models, trained on records drawn with ``seed``, or read from ``cache``.

    Args:
        training: ``NO_DEFENCE``, ``ADV_REG`` or ``MEMGUARD``.
        draw: a different number trains different models on the same records.
    """
    epochs, network = epochs or study.epochs, network or study.network

    def path(number: int, training_name: str, epoch: int) -> Path:
        recipe = study.fit(epoch)
        sizes = f"{study.members}-{study.members_of(number)}"
        name_parts = f"{network}-{recipe.optimizer}-{recipe.batch_size}-{training_name}-{epoch}-{seed}-{draw}"
        return cache / f"{study.data}-{SIDES[number]}-{sizes}-{name_parts}.npz".replace(" ", "")

    def outputs(number: int) -> dict[str, np.ndarray]:
        if not path(number, training, epochs).exists():
            cache.mkdir(parents=True, exist_ok=True)
            plain_training = NO_DEFENCE if training == MEMGUARD else training
            # One training gives the models of all steps.
            usual = (network, draw) == (study.network, 0)
            steps = study.steps if usual and epochs in study.steps else (epochs,)
            guarded = training == MEMGUARD or (usual and MEMGUARD in study.defences)
            for (training_name, epoch), parts in _course(
                study, records, plain_training, network, steps, seed, draw, number, guarded=guarded
            ):
                unfinished = path(number, training_name, epoch).with_suffix(".tmp.npz")
                np.savez(unfinished, **parts)
                unfinished.rename(path(number, training_name, epoch))
        with np.load(path(number, training, epochs), allow_pickle=False) as file:
            return dict(file)

    def predictions(number: int) -> gl.Predictions:
        part = outputs(number)
        member = np.arange(len(part["labels"])) < study.members_of(number)
        scale = gl.models.Probabilities() if training == MEMGUARD else gl.models.Logits()
        return gl.Predictions(part["outputs"].astype(np.float64), part["labels"], member, scale=scale)

    target, hidden = predictions(0), outputs(0)["hidden"]
    if study.shadow_members == 0:
        return half_known(Pair(target, target, hidden))
    return Pair(target, predictions(1), hidden)


def stopped(study: Study, records: Records, cache: Path, *, seed: int) -> tuple[int, Pair]:
    """Return plain training, stopped after the step whose test accuracy is nearest to that of the target with AdvReg."""
    wanted = trained(study, records, cache, seed=seed, training=ADV_REG).accuracy[1]
    pairs = {epochs: trained(study, records, cache, seed=seed, epochs=epochs) for epochs in study.steps}
    epochs = min(pairs, key=lambda epoch: abs(pairs[epoch].accuracy[1] - wanted))
    return epochs, pairs[epochs]


def around(study: Study, records: Records, cache: Path, *, seed: int) -> list[tuple[float, Pair]]:
    """Return the steps of plain training before and after it first reaches the test accuracy of AdvReg, with weights.

    The weights interpolate the test accuracy. If the first step has more than that accuracy, its weight is below 1; the
    remainder is that of an untrained model, with an accuracy of 1 / classes. If no step has it, the last has weight 1.
    """
    wanted = trained(study, records, cache, seed=seed, training=ADV_REG).accuracy[1]
    pairs = [trained(study, records, cache, seed=seed, epochs=epochs) for epochs in study.steps]
    reached = [pair.accuracy[1] for pair in pairs]
    after = next((k for k, accuracy in enumerate(reached) if accuracy >= wanted), len(pairs) - 1)
    if reached[after] < wanted:
        return [(1.0, pairs[after])]
    if after == 0:
        chance = 1 / (int(records.y.max()) + 1)
        return [(max(0.0, (wanted - chance) / (reached[0] - chance)), pairs[0])]
    weight = (wanted - reached[after - 1]) / (reached[after] - reached[after - 1])
    return [(1 - weight, pairs[after - 1]), (weight, pairs[after])]


def half_known(pair: Pair) -> Pair:
    """Return the attacker of the released AdvReg evaluation, who knows a random half of the target's own records.

    That code estimates thresholds and risk scores from the target's outputs for one half of its members and non-members, and
    attacks the other half; it trains no shadow model.
    """
    member, rng = pair.target.member, np.random.default_rng(0)
    sets = [rng.permutation(np.flatnonzero(members_or_others)) for members_or_others in (member, ~member)]
    known, unknown = (np.concatenate([rows[k::2] for rows in sets]) for k in (0, 1))
    hidden = None if pair.hidden is None else pair.hidden[unknown]
    return Pair(_rows(pair.target, unknown), _rows(pair.target, known), hidden, unknown)


def _rows(outputs: gl.Predictions, rows: np.ndarray) -> gl.Predictions:
    return replace(outputs, outputs=outputs.outputs[rows], labels=outputs.labels[rows], member=outputs.member[rows])


def side(study: Study, records: Records, seed: int, number: int) -> np.ndarray:
    """Return (2 × members,) rows of model ``number``: its members, then its non-members; no two models share rows."""
    size = 2 * study.members
    if size * len(SIDES) > len(records.x):
        raise gl.InputError(
            f"Expected members={study.members} to be at most a quarter of the {len(records.x)} records: the target and "
            "its shadow have members and non-members of their own."
        )
    rows = np.random.default_rng(seed).permutation(len(records.x))[number * size : (number + 1) * size]
    count = study.members_of(number)
    return np.concatenate([rows[:count], rows[study.members : study.members + count]])


def held_out(study: Study, records: Records, seed: int, number: int) -> gl.Data:
    """Return records that no model trains on or is evaluated on, for the defences of model ``number`` only."""
    unused = np.random.default_rng(seed).permutation(len(records.x))[2 * study.members * len(SIDES) :]
    rows = np.array_split(unused, len(SIDES))[number][: study.members]
    if not len(rows):
        raise gl.InputError(
            f"Expected members={study.members} to be less than a quarter of the {len(records.x)} records: a defence needs "
            "records that are held out."
        )
    return gl.Data(records.x[rows], records.y[rows])


def fitted(study: Study, records: Records, rows: np.ndarray, seed: list[int], epochs: int | None = None):
    """Return a module of the study, trained on some records without a defence."""
    data = gl.Data(records.x[rows], records.y[rows])
    return study.fit(epochs)(_module(records, study.network), data, np.random.default_rng(seed))


def logits(module, x: np.ndarray) -> np.ndarray:
    return gl.torch_target(module).predict(x)


def mentr(outputs: gl.Predictions) -> np.ndarray:
    """Return (records,) modified entropies."""
    return outputs.scale.signals(outputs.outputs, outputs.labels)["mentr"]


def correct(outputs: gl.Predictions) -> np.ndarray:
    """Return (records,) true where the prediction is correct."""
    return outputs.outputs.argmax(axis=1) == outputs.labels


def memguard(held_out: gl.Data) -> gl.defences.MemGuard:
    """Return MemGuard with default options."""
    return gl.defences.MemGuard(held_out)


def as_probabilities(outputs: gl.Predictions) -> gl.Predictions:
    """Return the same outputs on the scale of MemGuard's outputs."""
    return replace(outputs, outputs=outputs.scale.soft(outputs.outputs), scale=gl.models.Probabilities())


def _course(
    study: Study,
    records: Records,
    training: str,
    network: Network,
    steps: tuple[int, ...],
    seed: int,
    draw: int,
    number: int,
    *,
    guarded: bool,
) -> Iterator[tuple[tuple[str, int], dict[str, np.ndarray]]]:
    """Yield the outputs of model ``number`` after each step and, if ``guarded``, MemGuard's change of the last."""
    rows = side(study, records, seed, number)
    x, y = records.x[rows], records.y[rows]
    count = study.members_of(number)
    inside = gl.Data(x[:count], y[:count])
    fit = study.fit(max(steps))
    if training == ADV_REG:
        fit = replace(fit, objective=study.adv_reg(held_out(study, records, seed, number)))
    rng = np.random.default_rng([seed, number, draw] if draw else [seed, number])
    for epoch, module in enumerate(fit.epochs_of(_module(records, network), inside, rng), start=1):
        if epoch in steps:
            common = {"labels": y, "hidden": _last_hidden(module, x)}
            yield (training, epoch), {"outputs": logits(module, x).astype(np.float32), **common}
            if guarded and (training, epoch) == (NO_DEFENCE, study.epochs):
                guard = memguard(held_out(study, records, seed, number))
                defended = gl.models.with_output_defence(
                    gl.torch_target(module), guard, members=(inside.x, inside.y), seed=seed
                )
                yield (MEMGUARD, epoch), {"outputs": defended.predict(x), **common}


def _module(records: Records, network: Network):
    return network.module(records.x.shape[1], int(records.y.max()) + 1)


def _last_hidden(module, x: np.ndarray) -> np.ndarray:
    return gl.torch_target(module[:-1], classes=[0, 1]).predict(x).astype(np.float32)
