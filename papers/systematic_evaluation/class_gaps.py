"""Figure 8: correlation of the generalisation gap of a class with the risk of its members.

Three more correlations help to explain the size of the first: of means over targets, with scores estimated from all of the
target's own records, and with scores estimated from half of them, as the released code does for Texas100.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.stats import pearsonr

import guestlist as gl
from papers.systematic_evaluation.data import Records
from papers.systematic_evaluation.pairs import (
    HALF,
    MEMGUARD,
    NO_DEFENCE,
    SHADOW,
    Pair,
    Study,
    correct,
    half_known,
    published,
    trained,
)
from papers.systematic_evaluation.risk_scores import risk_scores
from papers.systematic_evaluation.subjects import subjects


@dataclass(frozen=True)
class Gaps:
    """Classes of one target or more.

    Args:
        classes: number of classes with members and non-members.
        correlation: for each target (value, low, high), Pearson's with its 95 % interval.
        averaged: the same for each class's means over the targets; NaN with one target.
        by_target: the same for each target, with scores fitted on its own members and non-members.
        half: the same with scores of one half of its records that are estimated from the other half; empty if the study
            has no attacker who knows half of them.
        gaps, risks: values of the first target's classes, by increasing gap: accuracy on members minus accuracy on
            non-members, and the mean risk score of members.
    """

    dataset: str
    training: str
    classes: int
    correlation: list[tuple[float, float, float]]
    averaged: tuple[float, float, float]
    by_target: list[tuple[float, float, float]]
    half: list[tuple[float, float, float]]
    gaps: list[float]
    risks: list[float]


@dataclass(frozen=True)
class Averaged:
    """Correlation of classes' mean gaps and mean scores over a number of targets, with its 95 % interval.

    Each target has few members of a class. Means over targets are closer to the values of a class with many.
    """

    dataset: str
    targets: int
    correlation: tuple[float, float, float]


def averages(study: Study, records: Records, cache: Path, *, repeats: int) -> tuple[list[Averaged]]:
    """Return one row per power of two up to the number of targets, which have no defence."""
    undefended = replace(study, defences=())
    by_target = [by_class(trained(undefended, records, cache, seed=seed)) for seed in range(repeats)]
    counts = [2**power for power in range(repeats.bit_length())]
    return ([Averaged(study.name, n, _correlation(*np.mean(by_target[:n], axis=0))) for n in counts],)


def class_gaps(study: Study, records: Records, cache: Path, *, repeats: int) -> tuple[list[Gaps]]:
    """Return one row per training."""
    rows = []
    for training, pairs in subjects(study, records, cache, repeats=repeats).items():
        shadow_gaps = [by_class(pair) for pair in pairs]
        target_gaps = [by_class(replace(pair, shadow=pair.target)) for pair in pairs]
        gaps, risks = shadow_gaps[0]
        order = np.argsort(gaps, kind="stable")
        rows.append(
            Gaps(
                study.name,
                training,
                len(gaps),
                [_correlation(*gaps_and_risks) for gaps_and_risks in shadow_gaps],
                _correlation(*np.mean(shadow_gaps, axis=0)) if len(shadow_gaps) > 1 else (float("nan"),) * 3,
                [_correlation(*gaps_and_risks) for gaps_and_risks in target_gaps],
                [_correlation(*by_class(study.estimated(pair, HALF))) for pair in pairs if HALF in study.sources],
                gaps[order].tolist(),
                risks[order].tolist(),
            )
        )
    return (rows,)


@dataclass(frozen=True)
class Sourced:
    """Risk scores of the authors' own outputs, by the outputs that they are fitted on.

    Args:
        correlation: Pearson's correlation of classes' gaps and mean scores, with its 95 % interval (value, low, high).
        rmse: RMSE of the score over records, with its 95 % interval (value, low, high).
    """

    training: str
    source: str
    correlation: tuple[float, float, float]
    rmse: tuple[float, float, float]


def authors() -> list[Sourced]:
    """Return one row per defence and source."""
    rows = []
    for training, source in itertools.product((NO_DEFENCE, MEMGUARD), (SHADOW, HALF)):
        pair = published(defended=training == MEMGUARD)
        if source == HALF:
            pair = half_known(pair)
        rmse = gl.risks.calibration(risk_scores(pair), pair.target.member).rmse
        rows.append(Sourced(training, source, _correlation(*by_class(pair)), tuple(map(float, rmse))))
    return rows


def by_class(pair: Pair) -> tuple[np.ndarray, np.ndarray]:
    """Return (classes,) generalisation gaps, and the members' mean risk scores."""
    target, risks, right = pair.target, risk_scores(pair), correct(pair.target)
    gaps, means = [], []
    for label in np.unique(target.labels):
        inside, outside = ((target.labels == label) & side for side in (target.member, ~target.member))
        if inside.any() and outside.any():
            gaps.append(right[inside].mean() - right[outside].mean())
            means.append(risks[inside].mean())
    return np.array(gaps), np.array(means)


def _correlation(gaps: np.ndarray, risks: np.ndarray) -> tuple[float, float, float]:
    result = pearsonr(gaps, risks)
    return float(result.statistic), *map(float, result.confidence_interval())
