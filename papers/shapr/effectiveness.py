"""Tables III, IV, V and VIII of one dataset, over its repeats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from papers.shapr.measures import ATTACKS, RISKS, SCORE, SCORE_SHADOW, SHADOW, Repeat
from papers.shapr.spread import Spread, spread


@dataclass(frozen=True)
class Effect:
    """What a risk is worth against an attack, and the difference from the privacy risk score that learnt as the attack did."""

    attack: str
    risk: str
    f1: Spread
    precision: Spread
    recall: Spread
    auc: Spread
    spearman: Spread


@dataclass(frozen=True)
class Accuracy:
    """Shares of members and of non-members that targets are right about."""

    train: Spread
    test: Spread


@dataclass(frozen=True)
class Called:
    """An attack's balanced accuracy, and the share of members that it calls: the recall's denominator."""

    attack: str
    accuracy: Spread
    called: Spread


def effects(repeats: Sequence[Repeat]) -> list[Effect]:
    found = [{(one.attack, one.risk): one for one in repeat.worths()} for repeat in repeats]

    def of(attack: str, risk: str, measure: str) -> list[float]:
        return [getattr(each[attack, risk], measure).value for each in found]

    rows = []
    for attack in ATTACKS:
        compared = SCORE_SHADOW if attack == SHADOW else SCORE
        for risk in RISKS:
            figures = {
                name: spread(of(attack, risk, name), None if risk == compared else of(attack, compared, name))
                for name in ("f1", "precision", "recall", "auc", "spearman")
            }
            rows.append(Effect(attack, risk, **figures))
    return rows


def accuracy(repeats: Sequence[Repeat]) -> Accuracy:
    train, test = ([each.right[each.member == side].mean() for each in repeats] for side in (True, False))
    return Accuracy(spread(train), spread(test))


def called(repeats: Sequence[Repeat]) -> list[Called]:
    rows = []
    for attack in ATTACKS:
        accuracies = [balanced(each, attack, np.ones(len(each.member), dtype=bool)) for each in repeats]
        shares = [np.nanmean(each.calls[attack][each.member]) for each in repeats]
        rows.append(Called(attack, spread(accuracies), spread(shares)))
    return rows


def balanced(repeat: Repeat, attack: str, chosen: np.ndarray) -> float:
    """(TPR + TNR) / 2 of an attack's calls among some records."""
    calls, member = repeat.calls[attack][chosen], repeat.member[chosen]
    return float(np.nanmean(calls[member]) + 1 - np.nanmean(calls[~member])) / 2
