"""Table 4: the attacks on the authors' Location30 model, with and without MemGuard, from its stored answers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

import guestlist as gl
from guestlist.metrics import balanced_accuracy
from papers.systematic_evaluation.data import published_answers
from papers.systematic_evaluation.published import MEMGUARD, NETWORKS

WITHOUT_LABEL = "network without the label"
EPOCHS = 100  # of that network; those that `gl.defences.MemGuard` trains its own classifier for


@dataclass(frozen=True)
class Printed:
    """Attack accuracy in per cent, to the digit that the paper prints."""

    defended: bool
    attack: str
    accuracy: float
    paper: float


@dataclass(frozen=True)
class Network:
    """Attack accuracy in per cent of a network of answers.

    Args:
        shadow_defended: whether MemGuard changed the answers that taught it: an attacker who knows has such a shadow.
    """

    defended: bool
    shadow_defended: bool
    attack: str
    accuracy: float


def networks() -> list[Network]:
    """A row for each network, taught by the answers of the shadow model as they are and as MemGuard changes them."""
    rows = []
    for defended, shadow_defended in ((False, False), (True, True), (True, False)):
        target = published_answers("target", defended=defended)
        shadow = published_answers("shadow", defended=shadow_defended)
        found = gl.audit_predictions(target, shadow=shadow, attacks=list(NETWORKS), baseline=False)
        for name in NETWORKS:
            accuracy = _printed(found.attack(name).balanced_accuracy.value)
            rows.append(Network(defended, shadow_defended, name, accuracy))
        rows.append(Network(defended, shadow_defended, WITHOUT_LABEL, _printed(_without_label(target, shadow))))
    return rows


def _without_label(target: gl.Predictions, shadow: gl.Predictions) -> float:
    """Balanced accuracy of a network of sorted probabilities, as Jia et al. (2019) have it: it cannot tell right from wrong."""
    known, asked = (np.sort(said.answers, axis=1).astype(np.float32) for said in (shadow, target))
    network = gl.defences.mlp(known.shape[1], 2, hidden=(256, 128, 64))
    module = gl.defences.Fit(epochs=EPOCHS)(
        network, gl.Data(known, shadow.member.astype(int)), np.random.default_rng(0)
    )
    answers = gl.torch_target(module, classes=[False, True]).predict(asked)
    return balanced_accuracy(answers[:, 1] - answers[:, 0], target.member, 0.0).value


def accuracies() -> list[Printed]:
    """Balanced accuracy of every attack, at thresholds learnt on the answers of the shadow model."""
    rows = []
    for defended, paper in MEMGUARD.items():
        target, shadow = (published_answers(which, defended=defended) for which in ("target", "shadow"))
        found = gl.audit_predictions(target, shadow=shadow, attacks=list(paper))
        for name, theirs in paper.items():
            rows.append(Printed(defended, name, _printed(found.attack(name).balanced_accuracy.value), theirs))
    return rows


def _printed(share: float) -> float:
    """Per cent with one digit, halves upwards: half a tenth is exact among 1,000 records a side."""
    return math.floor(1000 * share + 0.5 + 1e-9) / 10
