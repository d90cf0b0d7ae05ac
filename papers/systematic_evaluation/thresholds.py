"""Table 3: one threshold for all classes against one per class, on our own Location30 models."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from papers.systematic_evaluation.data import Records
from papers.systematic_evaluation.models import EARLY, NO_DEFENCE, Setting, percent, subject
from papers.systematic_evaluation.published import METRICS


@dataclass(frozen=True)
class Accuracy:
    """Attack accuracy in per cent over targets: mean and standard deviation, and those of the gain in pairs.

    Args:
        references: how many taught the thresholds.
        single, single_spread: one threshold for all classes.
        per_class, per_class_spread: a threshold for each.
        gain, gain_spread: of the latter over the former.
    """

    training: str
    references: int
    metric: str
    single: float
    single_spread: float
    per_class: float
    per_class_spread: float
    gain: float
    gain_spread: float


@dataclass(frozen=True)
class Fitted:
    """How well the targets learnt their records, in per cent."""

    training: str
    train_accuracy: float
    test_accuracy: float


def comparison(records: Records, setting: Setting, place: Path, *, repeats: int) -> tuple[list[Accuracy], list[Fitted]]:
    """A row per way to train, number of references and metric, over ``repeats`` targets."""
    rows, fitted = [], []
    attacks = [*METRICS, *(f"class_{name}" for name in METRICS)]
    for training in (NO_DEFENCE, EARLY):
        found, subjects = defaultdict(list), []
        for seed in range(repeats):
            one = subject(records, setting, training, seed, place)
            # All references first: fewer are then the first of those, and cost nothing.
            for references in (setting.references, 1):
                results = one.audit(references, attacks)
                for name in attacks:
                    found[references, name].append(results.attack(name).balanced_accuracy.value)
            subjects.append(results.subject)
        for references in (1, setting.references):
            for name in METRICS:
                single, per_class = found[references, name], found[references, f"class_{name}"]
                gains = [b - a for a, b in zip(single, per_class, strict=True)]
                figures = (part for values in (single, per_class, gains) for part in percent(values))
                rows.append(Accuracy(training, references, name, *figures))
        accuracies = ([s.accuracy_members for s in subjects], [s.accuracy_nonmembers for s in subjects])
        fitted.append(Fitted(training, *(percent(values)[0] for values in accuracies)))
    return rows, fitted
