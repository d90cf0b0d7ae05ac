"""Figures 3, 4, 11 and 12: calibration of the risk score and of an attack network's output as probabilities."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import guestlist as gl
from papers.systematic_evaluation.data import Records
from papers.systematic_evaluation.models import percent
from papers.systematic_evaluation.pairs import ADV_REG, MEMGUARD, SHADOW, Network, Pair, Study, mentr, trained
from papers.systematic_evaluation.risk_scores import ESTIMATES, RISK
from papers.systematic_evaluation.subjects import subjects

SMALLEST = 1e-30  # replaces an entropy of 0 in a logarithm
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
    """Calibration of an estimate against the shares of members, over targets.

    Args:
        training: training of the models, or their architecture.
        source: outputs on which the estimate was fitted.
        train_accuracy, test_accuracy: mean accuracies of the targets in per cent.
        rmse: for each target (value, low, high), the root mean squared error over records with its 95 % interval.
        over_bins: for each target the same with equal weights for all bins.
        bins: of the first target, (records, mean estimate, share of members) of each tenth of [0, 1] that holds any.
        distribution: number of the first target's members in each tenth.
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
    """Effect on the first target's score of the difference in fit between target and shadow model.

    Args:
        target, shadow: medians of the logarithms of their members' modified entropies.
        rmse: RMSE of scores fitted on the shadow's entropies, after multiplication by one number that makes these
            medians equal. It requires knowledge of the target's members.
    """

    dataset: str
    training: str
    target: float
    shadow: float
    rmse: float


def validation(study: Study, records: Records, cache: Path, *, repeats: int) -> tuple[list[Calibrated]]:
    """Return the rows of Figures 3 and 11: one per training and estimate."""
    trained_pairs = subjects(study, records, cache, repeats=repeats)
    rows = []
    for (name, pairs), source, kind in itertools.product(trained_pairs.items(), study.sources, ESTIMATES):
        rows.append(calibrated(study.name, name, kind, [study.estimated(pair, source) for pair in pairs], source))
    return (rows,)


def architectures(
    study: Study, records: Records, cache: Path, *, repeats: int
) -> tuple[list[Calibrated], list[Aligned]]:
    """Return the rows of Figure 4: the risk score for each architecture."""
    rows, fits = [], []
    for name, network in _networks(study).items():
        pairs = [trained(study, records, cache, seed=seed, network=network) for seed in range(repeats)]
        rows.append(calibrated(study.name, name, RISK, pairs))
        fits.append(aligned(study.name, name, pairs[0]))
    return rows, fits


def defended_architectures(
    study: Study, records: Records, cache: Path, *, repeats: int
) -> tuple[list[Calibrated], list[Calibrated]]:
    """Return the rows of Figure 12: the risk score for each architecture, with AdvReg and with MemGuard."""

    def rows(training: str) -> list[Calibrated]:
        return [
            calibrated(
                study.name,
                name,
                RISK,
                [
                    trained(study, records, cache, seed=seed, training=training, network=network)
                    for seed in range(repeats)
                ],
            )
            for name, network in _networks(study).items()
        ]

    return rows(ADV_REG), rows(MEMGUARD)


def _networks(study: Study) -> dict[str, Network]:
    """Return the architectures by name; widths are multiples of the study's width."""
    return {str(shape): Network(shape.activation, shape.width * study.network.width, shape.depth) for shape in NETWORKS}


def aligned(dataset: str, training: str, pair: Pair) -> Aligned:
    """Compute the score again, with the shadow's entropies shifted to the target's median."""
    target_entropies, shadow_entropies = mentr(pair.target), mentr(pair.shadow)
    medians = [
        float(np.median(np.log(np.maximum(values, SMALLEST))[outputs.member]))
        for values, outputs in ((target_entropies, pair.target), (shadow_entropies, pair.shadow))
    ]
    risks = gl.risks.risk_score(
        target_entropies,
        pair.target.labels,
        known_values=shadow_entropies * np.exp(medians[0] - medians[1]),
        known_labels=pair.shadow.labels,
        known_member=pair.shadow.member,
    )
    return Aligned(dataset, training, *medians, gl.risks.calibration(risks, pair.target.member).rmse.value)


def calibrated(dataset: str, training: str, kind: str, pairs: list[Pair], source: str = SHADOW) -> Calibrated:
    """Return a row from one pair or several."""
    estimates = [ESTIMATES[kind](pair) for pair in pairs]
    calibrations = [
        gl.risks.calibration(risks, pair.target.member) for risks, pair in zip(estimates, pairs, strict=True)
    ]
    accuracy = (percent([pair.accuracy[side] for pair in pairs])[0] for side in (0, 1))
    first = estimates[0][pairs[0].target.member]
    return Calibrated(
        dataset,
        training,
        source,
        kind,
        *accuracy,
        [tuple(map(float, calibration.rmse)) for calibration in calibrations],
        [_over_bins(calibration) for calibration in calibrations],
        [(part.records, part.risk, part.share.value) for part in calibrations[0].bins],
        np.histogram(first, np.linspace(0, 1, 11))[0].tolist(),
    )


def _over_bins(calibration) -> float:
    return float(np.sqrt(np.mean([np.square(part.risk - part.share.value) for part in calibration.bins])))
