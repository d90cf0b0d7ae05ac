"""Attack networks by number of training epochs, which the paper does not state, and the calibration of their outputs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import guestlist as gl
from guestlist.metrics import balanced_accuracy
from papers.systematic_evaluation.data import Records
from papers.systematic_evaluation.models import percent
from papers.systematic_evaluation.pairs import Study, trained
from papers.systematic_evaluation.risk_scores import network_outputs

STEPS = (5, 20, 100)


@dataclass(frozen=True)
class Trained:
    """An attack network after a number of epochs, over targets.

    Args:
        accuracy: mean accuracy of its predictions, in per cent.
        certain: share of its outputs below 0.01 or above 0.99.
        rmse: for each target (value, low, high), over records, with its 95 % interval.
    """

    dataset: str
    epochs: int
    accuracy: float
    certain: float
    rmse: list[tuple[float, float, float]]


def attack_networks(study: Study, records: Records, cache: Path, *, repeats: int) -> tuple[list[Trained]]:
    """Return one row per number of epochs, for the targets without a defence."""
    pairs = [trained(study, records, cache, seed=seed) for seed in range(repeats)]
    rows = []
    for epochs in STEPS:
        predictions = [(network_outputs(pair, epochs=epochs), pair.target.member) for pair in pairs]
        accuracy = percent([balanced_accuracy(outputs, member, 0.5).value for outputs, member in predictions])[0]
        certain = float(np.mean([np.abs(outputs - 0.5) > 0.49 for outputs, _ in predictions]))
        rmse = [tuple(map(float, gl.risks.calibration(outputs, member).rmse)) for outputs, member in predictions]
        rows.append(Trained(study.name, epochs, accuracy, certain, rmse))
    return (rows,)
