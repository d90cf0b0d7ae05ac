"""Table 3: one threshold for all classes compared with one per class."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path

import guestlist as gl
from papers.systematic_evaluation.data import Records
from papers.systematic_evaluation.models import percent
from papers.systematic_evaluation.pairs import (
    HALF,
    LOCATION,
    MEMGUARD,
    NO_DEFENCE,
    SHADOW,
    Pair,
    Study,
    half_known,
    published,
)
from papers.systematic_evaluation.published import METRICS
from papers.systematic_evaluation.subjects import our_pairs

ATTACKS = (*METRICS, *(f"class_{name}" for name in METRICS))


@dataclass(frozen=True)
class Gain:
    """Attack accuracy in per cent over targets: mean and standard deviation, also of the paired gain.

    Args:
        single, single_deviation: with one threshold for all classes.
        per_class, per_class_deviation: with one threshold per class.
        gain, gain_deviation: difference of the two.
    """

    metric: str
    single: float
    single_deviation: float
    per_class: float
    per_class_deviation: float
    gain: float
    gain_deviation: float


@dataclass(frozen=True)
class Trained:
    """Gains on models of one training, with thresholds from one source."""

    dataset: str
    training: str
    source: str
    gains: list[Gain]


def comparison(study: Study, records: Records, cache: Path, *, repeats: int) -> tuple[list[Trained]]:
    """Return one row per training and source of thresholds, over the targets."""
    trained_pairs = our_pairs(study, records, cache, repeats=repeats)
    trained_pairs.pop(MEMGUARD, None)  # the paper's table compares trainings only
    rows = []
    for (training, pairs), source in itertools.product(trained_pairs.items(), study.sources):
        rows.append(
            Trained(study.name, training, source, gains([_audited(study.estimated(pair, source)) for pair in pairs]))
        )
    return (rows,)


def authors() -> list[Trained]:
    """Return the gains on the authors' own outputs, without a defence and with MemGuard, by the source of thresholds."""
    rows = []
    for training, source in itertools.product((NO_DEFENCE, MEMGUARD), (SHADOW, HALF)):
        pair = published(defended=training == MEMGUARD)
        if source == HALF:
            pair = half_known(pair)
        rows.append(Trained(LOCATION, training, source, gains([_audited(pair)])))
    return rows


def gains(audits: list[gl.Results]) -> list[Gain]:
    """Return one row per metric, from an audit of each target."""
    accuracy = {name: [audit.attack(name).balanced_accuracy.value for audit in audits] for name in ATTACKS}
    rows = []
    for name in METRICS:
        single, per_class = accuracy[name], accuracy[f"class_{name}"]
        differences = [b - a for a, b in zip(single, per_class, strict=True)]
        rows.append(Gain(name, *(part for values in (single, per_class, differences) for part in percent(values))))
    return rows


def _audited(pair: Pair) -> gl.Results:
    return gl.audit_predictions(pair.target, shadow=pair.shadow, attacks=list(ATTACKS), baseline=False)
