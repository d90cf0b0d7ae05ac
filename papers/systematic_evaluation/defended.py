"""Tables 1, 2 and 4: the attacks on our models, without a defence, with AdvReg or MemGuard, and stopped early.

An adaptive attacker's shadow model has the target's defence. A naive one has a shadow model without any. A third one, that
of the released AdvReg evaluation, knows half of the target's own records.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import guestlist as gl
from papers.systematic_evaluation.data import Records
from papers.systematic_evaluation.models import percent
from papers.systematic_evaluation.pairs import (
    EARLY,
    HALF,
    NO_DEFENCE,
    SHADOW,
    Pair,
    Study,
    around,
    as_probabilities,
    half_known,
    stopped,
)
from papers.systematic_evaluation.published import ATTACKS
from papers.systematic_evaluation.subjects import our_pairs

ADAPTIVE, NAIVE, KNOWS_HALF = "adaptive", "naive", "knows half"


@dataclass(frozen=True)
class Attacked:
    """Attack accuracy in per cent: mean and standard deviation over targets, and the accuracy for each target."""

    dataset: str
    training: str
    attacker: str
    attack: str
    accuracy: float
    deviation: float
    by_target: list[float]


@dataclass(frozen=True)
class Fitted:
    """Training and test accuracy of the targets in per cent, and the number of training epochs of each."""

    dataset: str
    training: str
    train_accuracy: float
    test_accuracy: float
    epochs: list[int]


def defended(study: Study, records: Records, cache: Path, *, repeats: int) -> tuple[list[Attacked], list[Fitted]]:
    """Return one row per training, attacker and attack."""
    rows, fitted = [], []
    trained_pairs = our_pairs(study, records, cache, repeats=repeats)
    plain = trained_pairs[NO_DEFENCE]
    for training, pairs in trained_pairs.items():
        epochs, weighted = [study.epochs] * repeats, [[(1.0, pair)] for pair in pairs]
        if training == EARLY:
            epochs = [stopped(study, records, cache, seed=seed)[0] for seed in range(repeats)]
        if training == EARLY and study.interpolated:
            weighted = [around(study, records, cache, seed=seed) for seed in range(repeats)]
        chance = 1 / (int(records.y.max()) + 1)
        reached = (percent([_accuracy(parts, side, chance) for parts in weighted])[0] for side in (0, 1))
        fitted.append(Fitted(study.name, training, *reached, epochs))
        attackers = {KNOWS_HALF: _knows_half} if HALF in study.sources else {}
        if SHADOW in study.sources:
            attackers[ADAPTIVE] = _as_it_is
            if training != NO_DEFENCE:
                attackers[NAIVE] = _naive
        for attacker, known in attackers.items():
            accuracies = [
                _interpolated([(weight, known(pair, other)) for weight, pair in parts])
                for parts, other in zip(weighted, plain, strict=True)
            ]
            for name in ATTACKS:
                values = [accuracy[name] for accuracy in accuracies]
                by_target = [100 * value for value in values]
                rows.append(Attacked(study.name, training, attacker, name, *percent(values), by_target))
    return rows, fitted


def _accuracy(parts: list[tuple[float, Pair]], side: int, chance: float) -> float:
    """Return the interpolated accuracy on members (0) or non-members (1)."""
    return sum(weight * pair.accuracy[side] for weight, pair in parts) + _untrained(parts) * chance


def _untrained(parts: list[tuple[float, Pair]]) -> float:
    """Return the weight of an untrained model."""
    return 1 - sum(weight for weight, _ in parts)


def _interpolated(parts: list[tuple[float, Pair]]) -> dict[str, float]:
    weighted = [(weight, _accuracies(pair)) for weight, pair in parts]
    guess = _untrained(parts) * 0.5  # an untrained model does not depend on its members
    return {name: sum(weight * accuracy[name] for weight, accuracy in weighted) + guess for name in ATTACKS}


def _as_it_is(pair: Pair, plain: Pair) -> Pair:
    return pair


def _knows_half(pair: Pair, plain: Pair) -> Pair:
    return pair if pair.positions is not None else half_known(pair)


def _naive(pair: Pair, plain: Pair) -> Pair:
    """Return the same target with an undefended shadow model, whose outputs are on the same scale."""
    return Pair(pair.target, as_probabilities(plain.shadow) if pair.target.scale.hides_logits else plain.shadow)


def _accuracies(pair: Pair) -> dict[str, float]:
    results = gl.audit_predictions(pair.target, shadow=pair.shadow, attacks=list(ATTACKS), baseline=False)
    return {name: results.attack(name).balanced_accuracy.value for name in ATTACKS}
