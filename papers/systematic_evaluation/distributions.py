"""Figures 1, 5, 6 and 10: distribution of members' risk scores, and the effect of an attacker's prior."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np

from papers.systematic_evaluation.data import Records
from papers.systematic_evaluation.pairs import Pair, Study, trained
from papers.systematic_evaluation.risk_scores import risk_scores
from papers.systematic_evaluation.subjects import subjects

GRID = tuple(step / 20 for step in range(21))
ABOVE = (0.6, 0.8, 0.9)
PRIORS = (0.1, 0.3, 0.5, 0.7, 0.9)


@dataclass(frozen=True)
class RiskScores:
    """Distribution of members' risk scores, on average over targets.

    Args:
        mean: mean, and ``deviation`` of the mean over targets.
        below: share of members with a score of at most each value of ``GRID``.
        above: share of members with a score above each value of ``ABOVE``.
    """

    dataset: str
    training: str
    mean: float
    deviation: float
    below: list[float]
    above: list[float]


@dataclass(frozen=True)
class Prior:
    """Members' risk scores if a share ``prior`` of the evaluated records are members.

    Args:
        distance: mean score minus the prior, over targets, and its ``deviation``.
        larger: share of members whose score is above the prior.
    """

    dataset: str
    prior: float
    distance: float
    deviation: float
    larger: float


@dataclass(frozen=True)
class Step:
    """Members' risk scores after a number of training epochs, on average over targets.

    Args:
        train_accuracy, test_accuracy: in per cent.
        distances: mean score minus the prior, for each of ``PRIORS``.
        pooled: the same for scores that are estimated from all classes together.
    """

    dataset: str
    epochs: int
    train_accuracy: float
    test_accuracy: float
    distances: list[float]
    pooled: list[float]


def spreads(study: Study, records: Records, cache: Path, *, repeats: int) -> tuple[list[RiskScores]]:
    """Return the rows of Figures 1, 5 and 6: one per training."""
    trained_pairs = subjects(study, records, cache, repeats=repeats)
    return ([_risk_scores(study.name, training, pairs) for training, pairs in trained_pairs.items()],)


def priors(study: Study, records: Records, cache: Path, *, repeats: int) -> tuple[list[Prior], list[Step]]:
    """Return the rows of Figure 10, one per prior, and one row per step of training; the models have no defence."""
    pairs = [trained(study, records, cache, seed=seed) for seed in range(repeats)]
    rows = []
    for prior in PRIORS:
        scores = [risk_scores(pair, prior=prior)[pair.target.member] for pair in pairs]
        distances = [float((of_members - prior).mean()) for of_members in scores]
        # A posterior equal to the prior may differ from it by a rounding error.
        larger = fmean(float((of_members > prior + 1e-9).mean()) for of_members in scores)
        rows.append(Prior(study.name, prior, fmean(distances), _deviation(distances), larger))
    return rows, [_step(study, records, cache, epochs, repeats) for epochs in study.steps]


def _step(study: Study, records: Records, cache: Path, epochs: int, repeats: int) -> Step:
    pairs = [trained(study, records, cache, seed=seed, epochs=epochs) for seed in range(repeats)]
    train_accuracy, test_accuracy = (fmean(100 * pair.accuracy[side] for pair in pairs) for side in (0, 1))
    distances, pooled = (
        [fmean(_distance(pair, prior, by_class) for pair in pairs) for prior in PRIORS] for by_class in (True, False)
    )
    return Step(study.name, epochs, train_accuracy, test_accuracy, distances, pooled)


def _distance(pair: Pair, prior: float, by_class: bool) -> float:
    """Return the members' mean score minus the prior."""
    return float((risk_scores(pair, prior=prior, by_class=by_class)[pair.target.member] - prior).mean())


def _risk_scores(dataset: str, training: str, pairs: list[Pair]) -> RiskScores:
    scores = [risk_scores(pair)[pair.target.member] for pair in pairs]
    means = [float(of_members.mean()) for of_members in scores]
    below = [fmean(float((of_members <= value + 1e-9).mean()) for of_members in scores) for value in GRID]
    above = [fmean(float((of_members > value).mean()) for of_members in scores) for value in ABOVE]
    return RiskScores(dataset, training, fmean(means), _deviation(means), below, above)


def _deviation(values: list[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
