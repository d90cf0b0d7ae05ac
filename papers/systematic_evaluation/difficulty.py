"""Conditions for a gain of thresholds per class: classes of unequal difficulty, and enough records to fit thresholds.

Noisy labels make half of the classes harder. Controls have the same noise in all classes, or fewer records. Models are
trained until their accuracy on members equals that of the paper's models.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import guestlist as gl
from papers.systematic_evaluation.data import Records
from papers.systematic_evaluation.models import Setting, Subject, network, percent, subject
from papers.systematic_evaluation.published import BY_ADV_REG
from papers.systematic_evaluation.thresholds import ATTACKS, Gain, gains

NOISE = 0.6  # share of redrawn labels in half of the classes
FEW = 0.3  # share of the members in the variant with few records
AS_THEY_ARE, FEW_RECORDS = "as they are", "fewer records"
EVEN, UNEVEN = "noise in all classes", "noise in half of the classes"
TEXAS_LEARNT = BY_ADV_REG["Texas100, no defence"][0][0]  # accuracy on members of the paper's model, in per cent
MAX_EPOCHS = 8  # maximum number of epochs to reach it


@dataclass(frozen=True)
class Changed:
    """Gains on changed records, with thresholds fitted on a number of references."""

    records: str
    references: int
    gains: list[Gain]


@dataclass(frozen=True)
class Level:
    """Difficulty of the changed records.

    Args:
        members: mean number of members of a class.
        train_accuracy, test_accuracy: mean accuracies over targets, in per cent.
        deviation: standard deviation over classes of a class's test accuracy, in points, on average over targets.
        epochs: number of epochs of each target.
    """

    records: str
    members: float
    train_accuracy: float
    test_accuracy: float
    deviation: float
    epochs: list[int]


def difficulty(records: Records, setting: Setting, cache: Path, *, repeats: int) -> tuple[list[Changed], list[Level]]:
    """Return one row per change of the records and number of references, over ``repeats`` targets."""
    rows, levels = [], []
    for name, (changed, sized) in _variants(records, setting).items():
        audits, subjects, epochs = defaultdict(list), [], []
        for seed in range(repeats):
            epochs.append(_epochs(changed, sized, seed))
            model = subject(changed, replace(sized, epochs=epochs[-1]), seed, cache / name.replace(" ", "-"))
            # The larger number comes first: fewer references are a subset of those, and need no training.
            for references in (setting.references, 1):
                audits[references].append(model.audit(references, list(ATTACKS)))
            subjects.append(model)
        rows += [Changed(name, references, gains(audits[references])) for references in (1, setting.references)]
        members = sized.records / len(np.unique(changed.y))
        levels.append(
            Level(name, members, *_reached(audits[1]), percent([_unequal(model) for model in subjects])[0], epochs)
        )
    return rows, levels


def noisy(records: Records, classes: np.ndarray, share: float, seed: int = 0) -> Records:
    """Return the records with a share of the labels of some classes redrawn from these classes."""
    rng = np.random.default_rng(seed)
    y = records.y.copy()
    chosen = np.isin(y, classes) & (rng.random(len(y)) < share)
    y[chosen] = rng.choice(classes, size=int(chosen.sum()))
    return Records(records.x, y)


def _variants(records: Records, setting: Setting) -> dict[str, tuple[Records, Setting]]:
    """Return each variant's records and setting by name."""
    return {
        AS_THEY_ARE: (records, setting),
        FEW_RECORDS: (records, replace(setting, records=round(FEW * setting.records))),
        **{name: (changed, setting) for name, changed in with_noise(records).items()},
    }


def with_noise(records: Records) -> dict[str, Records]:
    """Return records with noisy labels by name; the amount of noise in all classes equals that in half of them."""
    classes = np.unique(records.y)
    half = classes[: len(classes) // 2]
    return {
        EVEN: noisy(records, classes, NOISE * len(half) / len(classes)),
        UNEVEN: noisy(records, half, NOISE),
    }


def _epochs(records: Records, setting: Setting, seed: int) -> int:
    """Return the number of epochs after which the accuracy on members is nearest to that of the paper's Texas100 model."""
    x, y = records.sides(setting.records, seed)[0]
    course = gl.defences.Fit(epochs=MAX_EPOCHS).epochs_of(
        network(records, setting), gl.Data(x, y), np.random.default_rng([seed, 1])
    )
    learnt = [100 * float((gl.torch_target(module).predict(x).argmax(axis=1) == y).mean()) for module in course]
    return 1 + min(range(MAX_EPOCHS), key=lambda at: abs(learnt[at] - TEXAS_LEARNT))


def _reached(audits: list[gl.Results]) -> tuple[float, float]:
    subjects = [audit.subject for audit in audits]
    return percent([s.accuracy_members for s in subjects])[0], percent([s.accuracy_nonmembers for s in subjects])[0]


def _unequal(model: Subject) -> float:
    """Return the standard deviation over classes of the accuracy on non-members."""
    x, y = model.nonmembers
    right = model.target.predict(x).argmax(axis=1) == y
    return float(np.std([right[y == label].mean() for label in np.unique(y)]))
