"""Tables III, IV, V and VIII of one dataset, over its repeats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from papers.shapr.measures import ATTACKS, RISKS, SCORE, SCORE_SHADOW, SHADOW, Repeat
from papers.shapr.summaries import Summary, summarise


@dataclass(frozen=True)
class Effect:
    """Predictive value of a risk for an attack, and the difference from the privacy risk score with the same shadow model."""

    attack: str
    risk: str
    f1: Summary
    precision: Summary
    recall: Summary
    auc: Summary
    spearman: Summary


@dataclass(frozen=True)
class Accuracy:
    """Accuracy of targets on members and on non-members."""

    train: Summary
    test: Summary


@dataclass(frozen=True)
class Called:
    """An attack's balanced accuracy, and the share of members that it flags: the recall's denominator."""

    attack: str
    accuracy: Summary
    called: Summary


def effects(repeats: Sequence[Repeat]) -> list[Effect]:
    by_attack_and_risk = [{(result.attack, result.risk): result for result in repeat.worths()} for repeat in repeats]

    def metric_values(attack: str, risk: str, measure: str) -> list[float]:
        return [getattr(each[attack, risk], measure).value for each in by_attack_and_risk]

    rows = []
    for attack in ATTACKS:
        compared = SCORE_SHADOW if attack == SHADOW else SCORE
        for risk in RISKS:
            metrics = {
                name: summarise(
                    metric_values(attack, risk, name),
                    None if risk == compared else metric_values(attack, compared, name),
                )
                for name in ("f1", "precision", "recall", "auc", "spearman")
            }
            rows.append(Effect(attack, risk, **metrics))
    return rows


def accuracy(repeats: Sequence[Repeat]) -> Accuracy:
    train, test = ([each.right[each.member == side].mean() for each in repeats] for side in (True, False))
    return Accuracy(summarise(train), summarise(test))


def called(repeats: Sequence[Repeat]) -> list[Called]:
    rows = []
    for attack in ATTACKS:
        accuracies = [balanced(each, attack, np.ones(len(each.member), dtype=bool)) for each in repeats]
        shares = [np.nanmean(each.calls[attack][each.member]) for each in repeats]
        rows.append(Called(attack, summarise(accuracies), summarise(shares)))
    return rows


def balanced(repeat: Repeat, attack: str, chosen: np.ndarray) -> float:
    """Return (TPR + TNR) / 2 of an attack's flags among some records."""
    calls, member = repeat.calls[attack][chosen], repeat.member[chosen]
    return float(np.nanmean(calls[member]) + 1 - np.nanmean(calls[~member])) / 2
