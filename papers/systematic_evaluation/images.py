"""Table 7: the attacks on a model of images; here, of features of images from another network."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import guestlist as gl
from guestlist.metrics import balanced_accuracy
from papers.systematic_evaluation.data import Records
from papers.systematic_evaluation.models import percent
from papers.systematic_evaluation.pairs import NO_DEFENCE, Pair, Study, trained
from papers.systematic_evaluation.risk_scores import NETWORK, network_outputs

METRIC_ATTACKS = ("correctness", "class_confidence", "class_entropy", "class_mentr")


@dataclass(frozen=True)
class Attacked:
    """Attack accuracy in per cent over targets: mean and standard deviation."""

    dataset: str
    training: str
    attack: str
    accuracy: float
    deviation: float


@dataclass(frozen=True)
class Fitted:
    """Training and test accuracy of the targets, in per cent."""

    dataset: str
    train_accuracy: float
    test_accuracy: float


def attacked(study: Study, records: Records, cache: Path, *, repeats: int) -> tuple[list[Attacked], list[Fitted]]:
    """Return one row per attack: the network on outputs, then the paper's attacks, all fitted on the shadow model."""
    pairs = [trained(study, records, cache, seed=seed) for seed in range(repeats)]
    accuracies = [_accuracies(pair) for pair in pairs]
    rows = [
        Attacked(study.name, NO_DEFENCE, name, *percent([accuracy[name] for accuracy in accuracies]))
        for name in accuracies[0]
    ]
    return rows, [Fitted(study.name, *(percent([pair.accuracy[side] for pair in pairs])[0] for side in (0, 1)))]


def _accuracies(pair: Pair) -> dict[str, float]:
    results = gl.audit_predictions(pair.target, shadow=pair.shadow, attacks=list(METRIC_ATTACKS), baseline=False)
    network = balanced_accuracy(network_outputs(pair), pair.target.member, 0.5).value
    return {NETWORK: network} | {name: results.attack(name).balanced_accuracy.value for name in METRIC_ATTACKS}
