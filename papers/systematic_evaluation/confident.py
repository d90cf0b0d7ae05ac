"""Table 6: flagging only records with a large risk score."""

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
    """Precision and recall in per cent at a threshold, over targets; NaN if no record has such a score.

    Args:
        precision, precision_deviation: mean and standard deviation over the targets with flagged records.
        interval: the 95 % interval of the first target's precision.
    """

    dataset: str
    training: str
    source: str
    threshold: float
    targets: int
    precision: float
    precision_deviation: float
    interval: tuple[float, float]
    recall: float
    recall_deviation: float


def confident(study: Study, records: Records, cache: Path, *, repeats: int) -> tuple[list[Calls]]:
    """Return one row per training, source of the score and threshold."""
    trained_pairs = subjects(study, records, cache, repeats=repeats)
    rows = []
    for (training, pairs), source in itertools.product(trained_pairs.items(), study.sources):
        rows += _calls(study.name, training, source, [study.estimated(pair, source) for pair in pairs])
    return (rows,)


def _calls(dataset: str, training: str, source: str, pairs: list[Pair]) -> list[Calls]:
    results = [gl.risks.at_thresholds(risk_scores(pair), pair.target.member, THRESHOLDS) for pair in pairs]
    rows = []
    for threshold, at_threshold in zip(THRESHOLDS, zip(*results, strict=True), strict=True):
        known = [result.precision.value for result in at_threshold if not np.isnan(result.precision.value)]
        precision = percent(known) if known else (float("nan"), float("nan"))
        interval = 100 * at_threshold[0].precision.low, 100 * at_threshold[0].precision.high
        recall = percent([result.recall.value for result in at_threshold])
        rows.append(Calls(dataset, training, source, threshold, len(pairs), *precision, interval, *recall))
    return rows
