"""Table 6: calling only those with a large risk score."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import guestlist as gl
from papers.systematic_evaluation.data import Records
from papers.systematic_evaluation.models import percent
from papers.systematic_evaluation.pairs import Pair, Study
from papers.systematic_evaluation.risk_scores import risk_scores
from papers.systematic_evaluation.subjects import subjects

THRESHOLDS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)


@dataclass(frozen=True)
class Calls:
    """Precision and recall in per cent at a threshold, over targets; NaN where nobody has so large a score.

    Args:
        precision, precision_spread: mean and standard deviation over the targets about which somebody is called.
        interval: the 95 % interval of the first target's precision.
    """

    dataset: str
    training: str
    source: str
    threshold: float
    targets: int
    precision: float
    precision_spread: float
    interval: tuple[float, float]
    recall: float
    recall_spread: float


def confident(study: Study, records: Records, place: Path, *, repeats: int) -> tuple[list[Calls]]:
    """A row per way to train, source of the score and threshold."""
    found = subjects(study, records, place, repeats=repeats)
    rows = []
    for (training, pairs), source in itertools.product(found.items(), study.sources):
        rows += _calls(study.name, training, source, [study.estimated(pair, source) for pair in pairs])
    return (rows,)


def _calls(dataset: str, training: str, source: str, pairs: list[Pair]) -> list[Calls]:
    at = [gl.risks.at_thresholds(risk_scores(pair), pair.target.member, THRESHOLDS) for pair in pairs]
    rows = []
    for threshold, found in zip(THRESHOLDS, zip(*at, strict=True), strict=True):
        known = [one.precision.value for one in found if not np.isnan(one.precision.value)]
        precision = percent(known) if known else (float("nan"), float("nan"))
        interval = 100 * found[0].precision.low, 100 * found[0].precision.high
        recall = percent([one.recall.value for one in found])
        rows.append(Calls(dataset, training, source, threshold, len(pairs), *precision, interval, *recall))
    return rows
