"""Figure 7: what a model says of a member once it is trained without it, against the member's risk score.

The paper's sensitivity is the logarithm of a ratio, the modified entropy of a model trained without the record by that of the
target. The target's own entropy is in the denominator, and it is what the risk score is read from: a member whom this target
happens to fit closely has a larger score and a larger ratio, whatever removing it does. So the same ratio is taken with models
that are trained anew *on* the record, where nothing is removed; the difference of the two is what removal does.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

import guestlist as gl
from papers.systematic_evaluation.data import Records
from papers.systematic_evaluation.pairs import Study, fitted, logits, mentr, side, trained
from papers.systematic_evaluation.risk_scores import risk_scores

SMALLEST = 1e-10  # entropies below it count as this, as in the risk score
WITH = 2  # models trained anew on all members
MEMBERS = 60  # removed, each from a separate model
_WITHOUT, _WITH = 10, 11  # streams of the seeds; a target and its shadow have 0 and 1


@dataclass(frozen=True)
class Removed:
    """One member.

    Args:
        sensitivity: the paper's, over the models trained without the member.
        chance: the same ratio with models trained anew on all members.
    """

    dataset: str
    risk: float
    sensitivity: float
    chance: float


@dataclass(frozen=True)
class Ranked:
    """Spearman's correlation with the risk score over the members looked at, and its p-value."""

    dataset: str
    of: str
    members: int
    models: int
    spearman: float
    p_value: float


def sensitivity(
    study: Study, records: Records, place: Path, *, repeats: int, members: int | None = None
) -> tuple[list[Removed], list[Ranked]]:
    """Members spread evenly over the ranks of the first target's risk scores, each left out of ``repeats`` models."""
    pair, rows = trained(study, records, place, seed=0), side(study, records, 0, 0)
    inside, member = rows[: study.members], pair.target.member
    positions = np.arange(len(rows)) if pair.positions is None else pair.positions
    attacked, scores, entropies = positions[member], risk_scores(pair)[member], _log(mentr(pair.target)[member])
    order = np.argsort(scores, kind="stable")
    taken = order[np.linspace(0, len(order) - 1, min(members or MEMBERS, len(order))).round().astype(int)]
    chosen, risks, own = attacked[taken], scores[taken], entropies[taken]
    anew = np.mean([_said(study, records, inside, inside[chosen], [0, _WITH, k]) for k in range(WITH)], axis=0)
    found = []
    for place_of, risk, before, with_it in zip(chosen, risks, own, anew, strict=True):
        rest = np.delete(inside, place_of)
        seeds = ([0, _WITHOUT, int(place_of), k] for k in range(repeats))
        without = np.mean([_said(study, records, rest, inside[[place_of]], seed) for seed in seeds])
        found.append(Removed(study.name, float(risk), float(without - before), float(with_it - before)))
    return found, _ranked(study.name, found, repeats)


def _ranked(dataset: str, found: list[Removed], models: int) -> list[Ranked]:
    risks = [one.risk for one in found]
    kinds = {
        "sensitivity": [one.sensitivity for one in found],
        "trained anew": [one.chance for one in found],
        "difference": [one.sensitivity - one.chance for one in found],
    }
    rows = []
    for name, values in kinds.items():
        result = spearmanr(risks, values)
        rows.append(Ranked(dataset, name, len(found), models, float(result.statistic), float(result.pvalue)))
    return rows


def _said(study: Study, records: Records, training: np.ndarray, asked: np.ndarray, seed: list[int]) -> np.ndarray:
    """(asked,) logarithms of the modified entropies that a model trained on some rows gives others."""
    module = fitted(study, records, training, seed)
    return _log(gl.models.Logits().signals(logits(module, records.x[asked]), records.y[asked])["mentr"])


def _log(values: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(values, SMALLEST))
