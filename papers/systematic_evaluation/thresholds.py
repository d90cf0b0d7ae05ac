"""Table 3: one threshold for all classes against one per class; and what the gain of the latter comes with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import guestlist as gl
from papers.systematic_evaluation.data import Records
from papers.systematic_evaluation.models import percent
from papers.systematic_evaluation.pairs import MEMGUARD, NO_DEFENCE, Pair, Study, trained
from papers.systematic_evaluation.published import BY_ADV_REG, METRICS
from papers.systematic_evaluation.subjects import own

NOISE = 0.6  # share of the labels of half of the classes that are drawn anew
FEW = 0.3  # share of the members that are left where there are few
AS_THEY_ARE, FEW_RECORDS = "as they are", "fewer records"
EVEN, UNEVEN = "noise in all classes", "noise in half of the classes"
BY_HEART, PARTLY = "by heart", "as in the paper"  # how far members are learnt
TEXAS_LEARNT = BY_ADV_REG["Texas100, no defence"][0][0]  # per cent of its members that the paper's model is right on
MOST = 8  # epochs in which a model gets as far as the paper's


@dataclass(frozen=True)
class Accuracy:
    """Attack accuracy in per cent over targets: mean and standard deviation, and those of the gain in pairs.

    Args:
        records: what was done to them: ``AS_THEY_ARE``, ….
        learnt: whether training ends where members are known by heart, or where they are as in the paper.
        single, single_spread: one threshold for all classes.
        per_class, per_class_spread: a threshold for each.
        gain, gain_spread: of the latter over the former.
    """

    dataset: str
    training: str
    records: str
    learnt: str
    metric: str
    single: float
    single_spread: float
    per_class: float
    per_class_spread: float
    gain: float
    gain_spread: float


@dataclass(frozen=True)
class Difficulty:
    """How unequal classes are.

    Args:
        members: of a class, on average.
        train_accuracy, test_accuracy: in per cent, over targets.
        spread: standard deviation over classes of a class's test accuracy, in points, on average over targets.
    """

    dataset: str
    records: str
    learnt: str
    members: float
    train_accuracy: float
    test_accuracy: float
    spread: float


def comparison(study: Study, records: Records, place: Path, *, repeats: int) -> tuple[list[Accuracy]]:
    """Table 3: a row per way to train and metric, over ``repeats`` targets."""
    found = own(study, records, place, repeats=repeats)
    found.pop(MEMGUARD, None)  # the paper's table is about ways to train
    rows = (_rows(study.name, training, AS_THEY_ARE, BY_HEART, pairs) for training, pairs in found.items())
    return ([row for part in rows for row in part],)


def difficulty(study: Study, records: Records, place: Path, *, repeats: int) -> tuple[list[Accuracy], list[Difficulty]]:
    """A row per change of the records and metric, for models without a defence, over ``repeats`` targets."""
    rows, levels = [], []
    for learnt, end in ((BY_HEART, trained), (PARTLY, _partly)):
        for name, (varied, changed) in _variants(study, records).items():
            pairs = [end(varied, changed, place, seed=seed) for seed in range(repeats)]
            rows += _rows(study.name, NO_DEFENCE, name, learnt, pairs)
            levels.append(_difficulty(study, name, learnt, pairs, varied.members / len(np.unique(changed.y))))
    return rows, levels


def _partly(study: Study, records: Records, place: Path, *, seed: int) -> Pair:
    """The step, of the first few, after which the target has learnt its members as far as the paper's Texas100 model."""
    steps = tuple(step for step in study.steps if step <= MOST) or study.steps
    short = replace(study, epochs=max(steps), steps=steps, memguard=False)
    pairs = [trained(short, records, place, seed=seed, epochs=step) for step in steps]
    return min(pairs, key=lambda pair: abs(100 * pair.accuracy[0] - TEXAS_LEARNT))


def noisy(records: Records, classes: np.ndarray, share: float, seed: int = 0) -> Records:
    """The same records; among those of some classes, a share of the labels is drawn anew from these classes."""
    rng = np.random.default_rng(seed)
    y = records.y.copy()
    chosen = np.isin(y, classes) & (rng.random(len(y)) < share)
    y[chosen] = rng.choice(classes, size=int(chosen.sum()))
    return Records(records.x, y)


def _variants(study: Study, records: Records) -> dict[str, tuple[Study, Records]]:
    """Name of a change to the study and records; as much noise in all classes as in half of them, on average."""
    classes = np.unique(records.y)
    half = classes[: len(classes) // 2]

    def of(name: str, members: int = study.members) -> Study:
        return replace(study, name=f"{study.name}, {name}", members=members, memguard=False)

    return {
        AS_THEY_ARE: (study, records),
        FEW_RECORDS: (of(FEW_RECORDS, round(FEW * study.members)), records),
        EVEN: (of(EVEN), noisy(records, classes, NOISE * len(half) / len(classes))),
        UNEVEN: (of(UNEVEN), noisy(records, half, NOISE)),
    }


def _rows(dataset: str, training: str, changed: str, learnt: str, pairs: list[Pair]) -> list[Accuracy]:
    names = [*METRICS, *(f"class_{name}" for name in METRICS)]
    found = [gl.audit_predictions(pair.target, shadow=pair.shadow, attacks=names, blind=False) for pair in pairs]
    accuracy = {name: [one.attack(name).balanced_accuracy.value for one in found] for name in names}
    rows = []
    for name in METRICS:
        single, per_class = accuracy[name], accuracy[f"class_{name}"]
        gains = [b - a for a, b in zip(single, per_class, strict=True)]
        figures = (part for values in (single, per_class, gains) for part in percent(values))
        rows.append(Accuracy(dataset, training, changed, learnt, name, *figures))
    return rows


def _difficulty(study: Study, name: str, learnt: str, pairs: list[Pair], members: float) -> Difficulty:
    reached = (percent([pair.accuracy[side] for pair in pairs])[0] for side in (0, 1))
    spread = percent([_unequal(pair) for pair in pairs])[0]
    return Difficulty(study.name, name, learnt, members, *reached, spread)


def _unequal(pair: Pair) -> float:
    """Standard deviation over classes of the accuracy among non-members."""
    target = pair.target
    right = target.scale.correct(target.answers, target.labels)
    outside = ~target.member
    by_class = [right[outside & (target.labels == label)].mean() for label in np.unique(target.labels[outside])]
    return float(np.std(by_class))
