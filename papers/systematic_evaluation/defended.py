"""Tables 1, 2 and 4: the attacks on models of our own, without a defence, with AdvReg or MemGuard, and stopped early.

An adaptive attacker's shadow model has the target's defence. A naive one has a shadow without any.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import guestlist as gl
from papers.systematic_evaluation.data import Records
from papers.systematic_evaluation.models import percent
from papers.systematic_evaluation.pairs import EARLY, NO_DEFENCE, Pair, Study, as_probabilities, stopped
from papers.systematic_evaluation.published import ATTACKS
from papers.systematic_evaluation.subjects import own

ADAPTIVE, NAIVE = "adaptive", "naive"


@dataclass(frozen=True)
class Attacked:
    """Attack accuracy in per cent over targets: mean and standard deviation."""

    dataset: str
    training: str
    attacker: str
    attack: str
    accuracy: float
    spread: float


@dataclass(frozen=True)
class Fitted:
    """How well the targets learnt their records, in per cent; and for each after how many epochs training ended."""

    dataset: str
    training: str
    train_accuracy: float
    test_accuracy: float
    epochs: list[int]


def defended(study: Study, records: Records, place: Path, *, repeats: int) -> tuple[list[Attacked], list[Fitted]]:
    """A row per way to train, attacker and attack."""
    rows, fitted = [], []
    found = own(study, records, place, repeats=repeats)
    plain = found[NO_DEFENCE]
    for training, pairs in found.items():
        epochs = [study.epochs] * repeats
        if training == EARLY:
            epochs = [stopped(study, records, place, seed=seed)[0] for seed in range(repeats)]
        reached = (percent([pair.accuracy[side] for pair in pairs])[0] for side in (0, 1))
        fitted.append(Fitted(study.name, training, *reached, epochs))
        attackers = {ADAPTIVE: pairs} | ({} if training == NO_DEFENCE else {NAIVE: _naive(pairs, plain)})
        for attacker, known in attackers.items():
            accuracies = [_accuracies(pair) for pair in known]
            rows += [
                Attacked(study.name, training, attacker, name, *percent([one[name] for one in accuracies]))
                for name in ATTACKS
            ]
    return rows, fitted


def _naive(pairs: list[Pair], plain: list[Pair]) -> list[Pair]:
    """The same targets beside shadows without a defence, which answer on the same scale."""
    return [
        Pair(pair.target, as_probabilities(other.shadow) if pair.target.scale.hides_logits else other.shadow)
        for pair, other in zip(pairs, plain, strict=True)
    ]


def _accuracies(pair: Pair) -> dict[str, float]:
    results = gl.audit_predictions(pair.target, shadow=pair.shadow, attacks=list(ATTACKS), baseline=False)
    return {name: results.attack(name).balanced_accuracy.value for name in ATTACKS}
