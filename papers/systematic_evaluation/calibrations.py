"""Figures 3, 4, 11 and 12: are the risk score, and an attack network's output, the probabilities that they look like?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import guestlist as gl
from papers.systematic_evaluation.data import Records
from papers.systematic_evaluation.models import percent
from papers.systematic_evaluation.pairs import Network, Pair, Study, trained
from papers.systematic_evaluation.risk_scores import ESTIMATES, RISK
from papers.systematic_evaluation.subjects import subjects

NETWORKS = (
    Network(),
    Network(width=0.5),
    Network(width=2.0),
    Network(depth=3),
    Network(depth=5),
    Network("Tanh"),
    Network("Sigmoid"),
)


@dataclass(frozen=True)
class Calibrated:
    """An estimate against the shares of members, over targets.

    Args:
        training: how the models were trained, or their architecture.
        train_accuracy, test_accuracy: of the targets in per cent, on average.
        rmse: for each target (value, low, high), the root mean squared error over records with its 95 % interval.
        over_bins: for each target the same with every bin counted alike, however few records it holds.
        bins: of the first target, (records, mean estimate, share of members) of each tenth of [0, 1] that holds any.
        distribution: how many of the first target's members are in each tenth.
    """

    dataset: str
    training: str
    estimate: str
    train_accuracy: float
    test_accuracy: float
    rmse: list[tuple[float, float, float]]
    over_bins: list[float]
    bins: list[tuple[int, float, float]]
    distribution: list[int]


def validation(study: Study, records: Records, place: Path, *, repeats: int) -> tuple[list[Calibrated]]:
    """Figures 3 and 11: a row per way to train and estimate."""
    found = subjects(study, records, place, repeats=repeats)
    return ([calibrated(study.name, name, kind, pairs) for name, pairs in found.items() for kind in ESTIMATES],)


def architectures(study: Study, records: Records, place: Path, *, repeats: int) -> tuple[list[Calibrated]]:
    """Figure 4: the risk score's row for each architecture; widths are multiples of the study's own."""
    rows = []
    for shape in NETWORKS:
        network = Network(shape.activation, shape.width * study.network.width, shape.depth)
        pairs = [trained(study, records, place, seed=seed, network=network) for seed in range(repeats)]
        rows.append(calibrated(study.name, str(shape), RISK, pairs))
    return (rows,)


def calibrated(dataset: str, training: str, kind: str, pairs: list[Pair]) -> Calibrated:
    """A row from one pair or more."""
    estimates = [ESTIMATES[kind](pair) for pair in pairs]
    found = [gl.calibration(risks, pair.target.member) for risks, pair in zip(estimates, pairs, strict=True)]
    accuracy = (percent([pair.accuracy[side] for pair in pairs])[0] for side in (0, 1))
    first = estimates[0][pairs[0].target.member]
    return Calibrated(
        dataset,
        training,
        kind,
        *accuracy,
        [tuple(map(float, one.rmse)) for one in found],
        [_over_bins(one) for one in found],
        [(part.records, part.risk, part.share.value) for part in found[0].bins],
        np.histogram(first, np.linspace(0, 1, 11))[0].tolist(),
    )


def _over_bins(found) -> float:
    return float(np.sqrt(np.mean([np.square(part.risk - part.share.value) for part in found.bins])))
