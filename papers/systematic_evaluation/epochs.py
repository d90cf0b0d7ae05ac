"""Figure 2: what a model knows of its members and of others, epoch by epoch, and how its risk scores fare on the way."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import guestlist as gl
from papers.systematic_evaluation.data import Records
from papers.systematic_evaluation.models import percent
from papers.systematic_evaluation.pairs import ADV_REG, NO_DEFENCE, Study, correct, trained
from papers.systematic_evaluation.risk_scores import risk_scores


@dataclass(frozen=True)
class Epoch:
    """Means over targets after so many epochs.

    Args:
        train_accuracy, test_accuracy: in per cent.
        risk: mean risk score of the members.
        rmse: of the risk score, for each target.
        apart: for each target, by how many points its accuracy among members differs from its shadow's.
    """

    dataset: str
    training: str
    epochs: int
    train_accuracy: float
    test_accuracy: float
    risk: float
    rmse: list[float]
    apart: list[float]


def epochs(study: Study, records: Records, place: Path, *, repeats: int) -> tuple[list[Epoch]]:
    """A row per way to train and step: these are one training each, looked at on the way."""
    rows = []
    for training, step in itertools.product((NO_DEFENCE, ADV_REG), study.steps):
        pairs = [trained(study, records, place, seed=seed, training=training, epochs=step) for seed in range(repeats)]
        scores = [(risk_scores(pair), pair.target.member) for pair in pairs]
        rows.append(
            Epoch(
                study.name,
                training,
                step,
                *(percent([pair.accuracy[side] for pair in pairs])[0] for side in (0, 1)),
                float(np.mean([risks[member].mean() for risks, member in scores])),
                [gl.risks.calibration(risks, member).rmse.value for risks, member in scores],
                [100 * abs(_learnt(pair.target) - _learnt(pair.shadow)) for pair in pairs],
            )
        )
    return (rows,)


def _learnt(said: gl.Predictions) -> float:
    """Accuracy among members."""
    return float(correct(said)[said.member].mean())
