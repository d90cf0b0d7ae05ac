"""Figure 2: accuracy on members and non-members, and risk scores, by training epoch."""

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
    """Means over targets after a number of epochs.

    Args:
        train_accuracy, test_accuracy: in per cent.
        risk: mean risk score of the members.
        rmse: RMSE of the risk score, for each target.
        apart: for each target, its accuracy on members minus that of its shadow model, in percentage points.
    """

    dataset: str
    training: str
    epochs: int
    train_accuracy: float
    test_accuracy: float
    risk: float
    rmse: list[float]
    apart: list[float]


def epochs(study: Study, records: Records, cache: Path, *, repeats: int) -> tuple[list[Epoch]]:
    """Return one row per training and step; all steps of a training come from one run."""
    rows = []
    for training, step in itertools.product((NO_DEFENCE, ADV_REG), study.steps):
        pairs = [trained(study, records, cache, seed=seed, training=training, epochs=step) for seed in range(repeats)]
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


def _learnt(outputs: gl.Predictions) -> float:
    """Return the accuracy on members."""
    return float(correct(outputs)[outputs.member].mean())
