"""Figure 7: sensitivity of a model to the removal of a member, against the member's risk score.

The paper's sensitivity is the logarithm of a ratio: the modified entropy of a model trained without the record divided by
that of the target. The target's entropy also determines the risk score. A member that this target happens to fit closely
therefore has a larger score and a larger ratio, whether or not removal changes anything. As a control, the same ratio is
computed with models that are trained again on all members. The difference of the two is the effect of removal.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

import guestlist as gl
from papers.systematic_evaluation.data import Records
from papers.systematic_evaluation.pairs import Study, fitted, logits, mentr, side, trained
from papers.systematic_evaluation.risk_scores import risk_scores

SMALLEST = 1e-10  # entropies below it count as this, as in the risk score
WITH = 2  # models trained again on all members
_WITHOUT, _WITH = 10, 11  # streams of the seeds; a target and its shadow have 0 and 1


@dataclass(frozen=True)
class Removed:
    """One member.

    Args:
        sensitivity: the paper's, over the models trained without the member.
        chance: the same ratio with models trained again on all members.
    """

    dataset: str
    risk: float
    sensitivity: float
    chance: float


@dataclass(frozen=True)
class Ranked:
    """Spearman's correlation with the risk score over the chosen members, and its p-value."""

    dataset: str
    measure: str
    members: int
    models: int
    spearman: float
    p_value: float


def sensitivity(
    study: Study, records: Records, cache: Path, *, repeats: int, members: int | None = None
) -> tuple[list[Removed], list[Ranked]]:
    """Remove members of the first target, each from ``repeats`` models.

    Args:
        members: number of members, with evenly spaced ranks of the risk score; None for all.
    """
    pair, rows = trained(study, records, cache, seed=0), side(study, records, 0, 0)
    training, member = rows[: study.members], pair.target.member
    positions = np.arange(len(rows)) if pair.positions is None else pair.positions
    scores, entropies = risk_scores(pair)[member], _log(mentr(pair.target)[member])
    by_score = np.argsort(scores, kind="stable")
    chosen = by_score[
        np.linspace(0, len(by_score) - 1, min(members or len(by_score), len(by_score))).round().astype(int)
    ]
    removed_rows = positions[member][chosen]
    again = np.mean(
        [_log_mentr(study, records, training, training[removed_rows], [0, _WITH, k]) for k in range(WITH)], axis=0
    )
    without = _without(study, records, cache, training, removed_rows, repeats)
    compared = zip(scores[chosen], entropies[chosen], without, again, strict=True)
    removals = [
        Removed(study.name, float(score), float(removed - target), float(retrained - target))
        for score, target, removed, retrained in compared
    ]
    return removals, _ranked(study.name, removals, repeats)


def _without(
    study: Study, records: Records, cache: Path, training: np.ndarray, removed_rows: np.ndarray, repeats: int
) -> list[float]:
    """Return the mean logarithm of each removed member's entropy, stored after every member: a stopped run resumes."""
    name = f"{study.data}-removed-{study.members}-{study.network}-{study.epochs}-{repeats}.json"
    path = cache / name.replace(" ", "")
    stored: dict[str, float] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    for row in removed_rows:
        if str(row) in stored:
            continue
        others = np.delete(training, row)
        seeds = ([0, _WITHOUT, int(row), k] for k in range(repeats))
        values = [_log_mentr(study, records, others, training[[row]], seed) for seed in seeds]
        stored[str(row)] = float(np.mean(values))
        unfinished = path.with_suffix(".part")
        unfinished.write_text(json.dumps(stored), "utf-8")
        unfinished.rename(path)
    return [stored[str(row)] for row in removed_rows]


def _ranked(dataset: str, removals: list[Removed], models: int) -> list[Ranked]:
    risks = [removed.risk for removed in removals]
    measures = {
        "sensitivity": [removed.sensitivity for removed in removals],
        "trained again": [removed.chance for removed in removals],
        "difference": [removed.sensitivity - removed.chance for removed in removals],
    }
    rows = []
    for name, values in measures.items():
        result = spearmanr(risks, values)
        rows.append(Ranked(dataset, name, len(removals), models, float(result.statistic), float(result.pvalue)))
    return rows


def _log_mentr(
    study: Study, records: Records, training: np.ndarray, queried: np.ndarray, seed: list[int]
) -> np.ndarray:
    """Return the logarithms of the modified entropies of some records under a model trained on others."""
    module = fitted(study, records, training, seed)
    return _log(gl.models.Logits().signals(logits(module, records.x[queried]), records.y[queried])["mentr"])


def _log(values: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(values, SMALLEST))
