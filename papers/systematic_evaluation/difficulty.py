"""What the gain of thresholds per class comes with: classes of unequal difficulty, and enough records to learn them from.

Labels of half of the classes are made noisy, which makes these harder. As much noise in all classes, and fewer records, are
tried beside. Models are trained until they know their members as far as the paper's do.
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

NOISE = 0.6  # share of the labels of half of the classes that are drawn anew
FEW = 0.3  # share of the members that are left where there are few
AS_THEY_ARE, FEW_RECORDS = "as they are", "fewer records"
EVEN, UNEVEN = "noise in all classes", "noise in half of the classes"
TEXAS_LEARNT = BY_ADV_REG["Texas100, no defence"][0][0]  # per cent of its members that the paper's model is right on
MOST = 8  # epochs in which a model gets as far


@dataclass(frozen=True)
class Changed:
    """The gains where records were changed, with thresholds learnt from so many references."""

    records: str
    references: int
    gains: list[Gain]


@dataclass(frozen=True)
class Level:
    """How hard the changed records are.

    Args:
        members: of a class, on average.
        train_accuracy, test_accuracy: in per cent, over targets.
        spread: standard deviation over classes of a class's test accuracy, in points, on average over targets.
        epochs: of each target.
    """

    records: str
    members: float
    train_accuracy: float
    test_accuracy: float
    spread: float
    epochs: list[int]


def difficulty(records: Records, setting: Setting, place: Path, *, repeats: int) -> tuple[list[Changed], list[Level]]:
    """A row per change of the records and number of references, over ``repeats`` targets."""
    rows, levels = [], []
    for name, (changed, sized) in _variants(records, setting).items():
        audits, subjects, epochs = defaultdict(list), [], []
        for seed in range(repeats):
            epochs.append(_epochs(changed, sized, seed))
            one = subject(changed, replace(sized, epochs=epochs[-1]), seed, place / name.replace(" ", "-"))
            # All references first: fewer are then the first of those, and cost nothing.
            for references in (setting.references, 1):
                audits[references].append(one.audit(references, list(ATTACKS)))
            subjects.append(one)
        rows += [Changed(name, references, gains(audits[references])) for references in (1, setting.references)]
        members = sized.records / len(np.unique(changed.y))
        levels.append(
            Level(name, members, *_reached(audits[1]), percent([_unequal(one) for one in subjects])[0], epochs)
        )
    return rows, levels


def noisy(records: Records, classes: np.ndarray, share: float, seed: int = 0) -> Records:
    """The same records; among those of some classes, a share of the labels is drawn anew from these classes."""
    rng = np.random.default_rng(seed)
    y = records.y.copy()
    chosen = np.isin(y, classes) & (rng.random(len(y)) < share)
    y[chosen] = rng.choice(classes, size=int(chosen.sum()))
    return Records(records.x, y)


def _variants(records: Records, setting: Setting) -> dict[str, tuple[Records, Setting]]:
    """Name of a change to the records and how many are trained on; all classes have as much noise as half of them."""
    classes = np.unique(records.y)
    half = classes[: len(classes) // 2]
    return {
        AS_THEY_ARE: (records, setting),
        FEW_RECORDS: (records, replace(setting, records=round(FEW * setting.records))),
        EVEN: (noisy(records, classes, NOISE * len(half) / len(classes)), setting),
        UNEVEN: (noisy(records, half, NOISE), setting),
    }


def _epochs(records: Records, setting: Setting, seed: int) -> int:
    """After how many epochs the target knows its members as far as the paper's Texas100 model."""
    x, y = records.sides(setting.records, seed)[0]
    course = gl.defences.Fit(epochs=MOST).epochs_of(
        network(records, setting), gl.Data(x, y), np.random.default_rng([seed, 1])
    )
    learnt = [100 * float((gl.torch_target(module).predict(x).argmax(axis=1) == y).mean()) for module in course]
    return 1 + min(range(MOST), key=lambda at: abs(learnt[at] - TEXAS_LEARNT))


def _reached(found: list[gl.Results]) -> tuple[float, float]:
    told = [one.subject for one in found]
    return percent([s.accuracy_members for s in told])[0], percent([s.accuracy_nonmembers for s in told])[0]


def _unequal(one: Subject) -> float:
    """Standard deviation over classes of the accuracy among non-members."""
    x, y = one.nonmembers
    right = one.target.predict(x).argmax(axis=1) == y
    return float(np.std([right[y == label].mean() for label in np.unique(y)]))
