"""Section 4.3.2 of the paper: a defence lowers the risk scores of most members, and raises those of some.

A score also changes randomly when models are trained again on the same records; this is the control.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from papers.systematic_evaluation.data import Records
from papers.systematic_evaluation.models import percent
from papers.systematic_evaluation.pairs import NO_DEFENCE, Pair, Study, trained
from papers.systematic_evaluation.risk_scores import risk_scores
from papers.systematic_evaluation.subjects import our_pairs

AGAIN = "trained again"
MUCH = 0.1  # smallest relevant change of the score
SURE = 0.9  # score at which the paper's AdvReg flags few members, with high precision


@dataclass(frozen=True)
class Rise:
    """Members' risk scores compared with those without a defence, over targets; shares are in per cent.

    Args:
        mean: change of the score.
        rises, falls, rises_deviation, falls_deviation: share of members whose score rises or falls by more than ``MUCH``.
        sure: share of members with a score of at least ``SURE``.
        newly: share of members with such a score that have a lower one without a defence.
        precision: share of members among all records with such a score; NaN if no record has one.
    """

    dataset: str
    training: str
    mean: float
    rises: float
    rises_deviation: float
    falls: float
    falls_deviation: float
    sure: float
    newly: float
    precision: float


def rises(study: Study, records: Records, cache: Path, *, repeats: int) -> tuple[list[Rise]]:
    """Return one row per defence, after one for undefended models that were trained again."""
    trained_pairs = our_pairs(study, records, cache, repeats=repeats)
    plain = trained_pairs.pop(NO_DEFENCE)
    again = {AGAIN: [trained(study, records, cache, seed=seed, draw=1) for seed in range(repeats)]}
    return ([_rise(study.name, training, plain, pairs) for training, pairs in {**again, **trained_pairs}.items()],)


def _rise(dataset: str, training: str, undefended: list[Pair], defended: list[Pair]) -> Rise:
    scores = [(risk_scores(a), risk_scores(b), a.target.member) for a, b in zip(undefended, defended, strict=True)]
    moves = [(b - a)[member] for a, b, member in scores]
    rising, falling = ([float((sign * move > MUCH + 1e-9).mean()) for move in moves] for sign in (1, -1))
    sure = [float((b >= SURE)[member].mean()) for _, b, member in scores]
    newly = [float(((b >= SURE) & (a < SURE))[member].mean()) for a, b, member in scores]
    right = [float(member[b >= SURE].mean()) for _, b, member in scores if (b >= SURE).any()]
    return Rise(
        dataset,
        training,
        float(np.mean([move.mean() for move in moves])),
        *percent(rising),
        *percent(falling),
        percent(sure)[0],
        percent(newly)[0],
        percent(right)[0] if right else float("nan"),
    )
