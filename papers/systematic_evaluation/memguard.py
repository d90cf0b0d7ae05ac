"""Table 4: the attacks on the authors' Location30 model, with and without MemGuard, from its stored outputs.

Also a network without the label on our models, as in the published evaluation of MemGuard (Jia et al. 2019).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import guestlist as gl
from guestlist.metrics import balanced_accuracy
from papers.systematic_evaluation.data import Records, published_outputs
from papers.systematic_evaluation.models import percent
from papers.systematic_evaluation.pairs import MEMGUARD as DEFENDED
from papers.systematic_evaluation.pairs import NO_DEFENCE, Study, as_probabilities, trained
from papers.systematic_evaluation.published import MEMGUARD, NETWORKS

WITHOUT_LABEL = "network without the label"
EPOCHS = 100  # epochs of that network, as for the classifier of `gl.defences.MemGuard`


@dataclass(frozen=True)
class Printed:
    """Attack accuracy in per cent, with the digits of the paper."""

    defended: bool
    attack: str
    accuracy: float
    paper: float


@dataclass(frozen=True)
class Network:
    """Attack accuracy in per cent of a network on outputs.

    Args:
        shadow_defended: whether MemGuard changed the outputs that it is fitted on: an adaptive attacker has such a
            shadow model.
    """

    defended: bool
    shadow_defended: bool
    attack: str
    accuracy: float


@dataclass(frozen=True)
class Naive:
    """Attack accuracy in per cent of a network without the label, fitted on shadow models without a defence.

    Args:
        accuracy, deviation: mean and standard deviation over targets.
        by_target: accuracy for each target.
    """

    dataset: str
    training: str
    accuracy: float
    deviation: float
    by_target: list[float]


def naive(study: Study, records: Records, cache: Path, *, repeats: int) -> tuple[list[Naive]]:
    """Return one row for our models without a defence, and one for those with MemGuard."""
    rows = []
    for training in (NO_DEFENCE, DEFENDED):
        accuracies = []
        for seed in range(repeats):
            shadow = trained(study, records, cache, seed=seed).shadow
            target = trained(study, records, cache, seed=seed, training=training).target
            accuracies.append(_without_label(as_probabilities(target), as_probabilities(shadow)))
        rows.append(Naive(study.name, training, *percent(accuracies), [100 * value for value in accuracies]))
    return (rows,)


def networks() -> list[Network]:
    """Return one row per network, fitted on the outputs of the shadow model with and without MemGuard."""
    rows = []
    for defended, shadow_defended in ((False, False), (True, True), (True, False)):
        target = published_outputs("target", defended=defended)
        shadow = published_outputs("shadow", defended=shadow_defended)
        results = gl.audit_predictions(target, shadow=shadow, attacks=list(NETWORKS), baseline=False)
        for name in NETWORKS:
            accuracy = _printed(results.attack(name).balanced_accuracy.value)
            rows.append(Network(defended, shadow_defended, name, accuracy))
        rows.append(Network(defended, shadow_defended, WITHOUT_LABEL, _printed(_without_label(target, shadow))))
    return rows


def _without_label(target: gl.Predictions, shadow: gl.Predictions) -> float:
    """Return the balanced accuracy of a network on sorted probabilities (Jia et al. 2019), which does not read labels."""
    shadow_outputs, target_outputs = (
        np.sort(predictions.outputs, axis=1).astype(np.float32) for predictions in (shadow, target)
    )
    network = gl.defences.mlp(shadow_outputs.shape[1], 2, hidden=(256, 128, 64))
    module = gl.defences.Fit(epochs=EPOCHS)(
        network, gl.Data(shadow_outputs, shadow.member.astype(int)), np.random.default_rng(0)
    )
    outputs = gl.torch_target(module, classes=[False, True]).predict(target_outputs)
    return balanced_accuracy(outputs[:, 1] - outputs[:, 0], target.member, 0.0).value


def accuracies() -> list[Printed]:
    """Return the balanced accuracy of every attack, at thresholds fitted on the outputs of the shadow model."""
    rows = []
    for defended, paper in MEMGUARD.items():
        target, shadow = (published_outputs(which, defended=defended) for which in ("target", "shadow"))
        results = gl.audit_predictions(target, shadow=shadow, attacks=list(paper))
        for name, published in paper.items():
            rows.append(Printed(defended, name, _printed(results.attack(name).balanced_accuracy.value), published))
    return rows


def _printed(share: float) -> float:
    """Return per cent with one digit, rounded half up: 0.05 is exact with 1,000 records per set."""
    return math.floor(1000 * share + 0.5 + 1e-9) / 10
