"""Table 7: the attacks on a model of images; here, of features that another network makes of them."""

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
    spread: float


@dataclass(frozen=True)
class Fitted:
    """How well the targets learnt their records, in per cent."""

    dataset: str
    train_accuracy: float
    test_accuracy: float


def attacked(study: Study, records: Records, place: Path, *, repeats: int) -> tuple[list[Attacked], list[Fitted]]:
    """A row per attack: the network of answers, then the paper's own, all taught by the shadow."""
    pairs = [trained(study, records, place, seed=seed) for seed in range(repeats)]
    found = [_accuracies(pair) for pair in pairs]
    rows = [Attacked(study.name, NO_DEFENCE, name, *percent([one[name] for one in found])) for name in found[0]]
    return rows, [Fitted(study.name, *(percent([pair.accuracy[side] for pair in pairs])[0] for side in (0, 1)))]


def _accuracies(pair: Pair) -> dict[str, float]:
    results = gl.audit_predictions(pair.target, shadow=pair.shadow, attacks=list(METRIC_ATTACKS), baseline=False)
    network = balanced_accuracy(network_outputs(pair), pair.target.member, 0.5).value
    return {NETWORK: network} | {name: results.attack(name).balanced_accuracy.value for name in METRIC_ATTACKS}
