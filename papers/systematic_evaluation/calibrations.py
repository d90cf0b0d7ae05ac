"""Figures 3, 4 and 11: are the risk score, and an attack network's output, the probabilities that they look like?"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import guestlist as gl
from papers.systematic_evaluation.data import Records
from papers.systematic_evaluation.models import percent
from papers.systematic_evaluation.pairs import SHADOW, Network, Pair, Study, mentr, trained
from papers.systematic_evaluation.risk_scores import ESTIMATES, RISK
from papers.systematic_evaluation.subjects import subjects

SMALLEST = 1e-30  # what an entropy of 0 counts as in a logarithm
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
        source: outputs from which the estimate was learnt.
        train_accuracy, test_accuracy: of the targets in per cent, on average.
        rmse: for each target (value, low, high), the root mean squared error over records with its 95 % interval.
        over_bins: for each target the same with every bin counted alike, however few records it holds.
        bins: of the first target, (records, mean estimate, share of members) of each tenth of [0, 1] that holds any.
        distribution: how many of the first target's members are in each tenth.
    """

    dataset: str
    training: str
    source: str
    estimate: str
    train_accuracy: float
    test_accuracy: float
    rmse: list[tuple[float, float, float]]
    over_bins: list[float]
    bins: list[tuple[int, float, float]]
    distribution: list[int]


@dataclass(frozen=True)
class Aligned:
    """What the score of the first target owes to its shadow's having learnt its members better, or less well.

    Args:
        target, shadow: medians of the logarithms of their members' modified entropies.
        rmse: of scores learnt from the shadow's entropies, all multiplied by one number that makes these medians equal. It
            takes knowing who the target's members are.
    """

    dataset: str
    training: str
    target: float
    shadow: float
    rmse: float


def validation(study: Study, records: Records, place: Path, *, repeats: int) -> tuple[list[Calibrated]]:
    """Figures 3 and 11: a row per way to train and estimate."""
    found = subjects(study, records, place, repeats=repeats)
    rows = []
    for (name, pairs), source, kind in itertools.product(found.items(), study.sources, ESTIMATES):
        rows.append(calibrated(study.name, name, kind, [study.estimated(pair, source) for pair in pairs], source))
    return (rows,)


def architectures(
    study: Study, records: Records, place: Path, *, repeats: int
) -> tuple[list[Calibrated], list[Aligned]]:
    """Figure 4: the risk score's row for each architecture; widths are multiples of the study's own."""
    rows, fits = [], []
    for shape in NETWORKS:
        network = Network(shape.activation, shape.width * study.network.width, shape.depth)
        pairs = [trained(study, records, place, seed=seed, network=network) for seed in range(repeats)]
        rows.append(calibrated(study.name, str(shape), RISK, pairs))
        fits.append(aligned(study.name, str(shape), pairs[0]))
    return rows, fits


def aligned(dataset: str, training: str, pair: Pair) -> Aligned:
    """The score again, with the shadow's entropies moved to where the target's are."""
    said, known = mentr(pair.target), mentr(pair.shadow)
    medians = [
        float(np.median(np.log(np.maximum(values, SMALLEST))[of.member]))
        for values, of in ((said, pair.target), (known, pair.shadow))
    ]
    risks = gl.risks.risk_score(
        said,
        pair.target.labels,
        known_values=known * np.exp(medians[0] - medians[1]),
        known_labels=pair.shadow.labels,
        known_member=pair.shadow.member,
    )
    return Aligned(dataset, training, *medians, gl.risks.calibration(risks, pair.target.member).rmse.value)


def calibrated(dataset: str, training: str, kind: str, pairs: list[Pair], source: str = SHADOW) -> Calibrated:
    """A row from one pair or more."""
    estimates = [ESTIMATES[kind](pair) for pair in pairs]
    found = [gl.risks.calibration(risks, pair.target.member) for risks, pair in zip(estimates, pairs, strict=True)]
    accuracy = (percent([pair.accuracy[side] for pair in pairs])[0] for side in (0, 1))
    first = estimates[0][pairs[0].target.member]
    return Calibrated(
        dataset,
        training,
        source,
        kind,
        *accuracy,
        [tuple(map(float, one.rmse)) for one in found],
        [_over_bins(one) for one in found],
        [(part.records, part.risk, part.share.value) for part in found[0].bins],
        np.histogram(first, np.linspace(0, 1, 11))[0].tolist(),
    )


def _over_bins(found) -> float:
    return float(np.sqrt(np.mean([np.square(part.risk - part.share.value) for part in found.bins])))
