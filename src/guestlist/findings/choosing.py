"""Choosing the attack on mock targets.

Taking the best of many attacks on the target itself reports the luckiest one. The references can be attacked too, and
there the truth is known: each takes its turn as a mock target, the attack that does best on them is chosen, and it is
then reported once, on the real target.

The target takes no part in the choice, not even as a reference of the mock targets: everything here is computed
from the references alone (rows 1 and up), so what is reported about the target stays as if the attack had been
fixed beforehand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from guestlist.arrays.ranks import aucs
from guestlist.attacks import ATTACKS, Attack, scores_of_all
from guestlist.errors import InputError, NotCollectedError
from guestlist.evaluate import Resolution, resolution, threshold_at_fpr
from guestlist.views.signals import Rotation

FPR = 0.01
TARGET = 0


@dataclass(frozen=True)
class Choice:
    """The attack that does best on mock targets.

    Args:
        name: of the attack.
        measure: what was compared: ``tpr@0.01``, or ``auc`` where the records cannot resolve that rate.
        means: attack to its mean over mock targets, best first.
        mocks: how many mock targets there were.
        scores: (mock targets, asked records) of the chosen attack.
    """

    name: str
    measure: str
    means: Mapping[str, float]
    mocks: int
    scores: np.ndarray = field(compare=False, repr=False)


def choose(mocks: Rotation, attacks: Mapping[str, Attack] = ATTACKS, asked: np.ndarray | None = None) -> Choice:
    """The attack with the largest mean TPR at 1 % FPR over mock targets; the first in ``attacks`` among equals.

    The AUC decides where fewer than ten non-members are expected beyond that rate, on the mock target that has
    fewest. A record without a score counts as the least likely member: an attack must not win by leaving out
    what is hard.

    Args:
        mocks: the references alone, each in turn as a target of the others.
        attacks: name to attack; those that need more references than a mock target has are passed over.
        asked: (records,) true for the records that count; by default all.
    """
    asked = np.ones(len(mocks.labels), dtype=bool) if asked is None else asked
    member = mocks.member[:, asked]
    fewest = int((~member).sum(axis=1).min())
    at_rate = resolution(FPR, fewest) is Resolution.GOOD
    measure = mean_tpr if at_rate else mean_auc
    references = len(mocks.facing(0).reference_member)
    means: dict[str, float] = {}
    best, best_scores = "", np.empty(0)  # only the best one's scores are kept: there may be many attacks
    for name, attack in attacks.items():
        if _can(attack, mocks, references):
            scores = scores_of_all(attack, mocks)[:, asked]
            means[name] = measure(scores, member)
            if not best or means[name] > means[best]:
                best, best_scores = name, scores
    if not best:
        raise InputError(f"None of the attacks can be chosen with {references + 1} references; give more of them.")
    ranked = dict(sorted(means.items(), key=lambda item: -item[1]))  # stable: the first among equals stays first
    return Choice(best, f"tpr@{FPR:g}" if at_rate else "auc", ranked, len(member), best_scores)


def _can(attack: Attack, mocks: Rotation, references: int) -> bool:
    there = not attack.evidence or mocks.evidence(0).get(attack.evidence) is not None
    ours = attack.references <= references and attack.on_mocks and not attack.oracle and there
    return ours and (not attack.own or _runs(attack, mocks))


def _runs(attack: Attack, mocks: Rotation) -> bool:
    """Whether a user's own attack does without evidence, which mock targets do not have."""
    try:
        attack.score(mocks.facing(0))
    except NotCollectedError:
        return False
    return True


def mock_targets(rotation: Rotation) -> Rotation:
    """The references alone, each in turn as a target of the others."""
    models = np.flatnonzero(np.arange(len(rotation.member)) != TARGET)
    if len(models) < 2:
        raise InputError(f"Mock targets are references of each other, so at least 2 are needed; found {len(models)}.")
    return rotation.take(models)


def mean_auc(scores: np.ndarray, member: np.ndarray) -> float:
    """Mean AUC over targets; a record without a score counts as the least likely member."""
    return float(aucs(np.where(np.isnan(scores), -np.inf, scores), member).mean())


def mean_tpr(scores: np.ndarray, member: np.ndarray, fpr: float = FPR) -> float:
    """Mean TPR at ``fpr`` over targets; a record without a score is never called."""
    scores = np.where(np.isnan(scores), -np.inf, scores)
    rates = [
        (row[truth] >= threshold_at_fpr(row[~truth], fpr)).mean() for row, truth in zip(scores, member, strict=True)
    ]
    return float(np.mean(rates))
