"""What a reader of the numbers should know although the audit goes on: sentences for the report, or none."""

from __future__ import annotations

import numpy as np
import pandas as pd

from guestlist.store import Store
from guestlist.views.evidence import Evidence
from guestlist.views.signals import Signals


def duplicate_notice(duplicate: np.ndarray) -> list[str]:
    """What to tell of records on both sides, if there are any."""
    if not duplicate.any():
        return []
    return [
        f"{duplicate.sum()} of {len(duplicate)} non-members are equal to a member, features and label alike: no attack "
        "can tell such twins apart, which makes the model look more private than it is. Drop them with "
        "duplicates='drop' (--drop-duplicates)."
    ]


def chance_notice(correct: np.ndarray, labels: np.ndarray) -> list[str]:
    """What to tell of a target that does not beat guessing the most frequent class on non-members."""
    guessing = np.bincount(labels).max() / len(labels)
    if correct.mean() > guessing:
        return []
    return [
        f"The target is right on {correct.mean():.1%} of the non-members; always answering the most frequent class is "
        f"right on {guessing:.1%}. Are labels and columns as in training?"
    ]


def saturation_notice(answers: np.ndarray) -> list[str]:
    """What to tell of probabilities that are exactly 0 or 1 for many records."""
    saturated = (answers.max(axis=1) >= 1.0).mean()
    if saturated < 0.01:
        return []
    return [
        f"{saturated:.0%} of the target's answers are exactly 1 for some class: its probabilities come in steps or "
        "are rounded, and what lies below a step is hidden from this audit, though not from someone who sees the logits."
    ]


def size_notice(store: Store, signals: Signals) -> list[str]:
    """What to tell where references train on clearly fewer or more records than the target."""
    if not signals.references or store.manifest.recipe == "predictions":
        return []
    target, mean = int(store.design().member.sum()), signals.reference_member.sum(axis=1).mean()
    if abs(mean / target - 1) < 0.1:
        return []
    more = "more" if mean > target else "fewer"
    return [
        f"The target was trained on {target} records, the references on {mean:.0f} on average: {more}, so that every "
        "record has references that trained on it and others that did not. A model trained on fewer records remembers "
        "each of them better; give population records of the same source to bring the sizes closer."
    ]


def copy_notice(signals: Signals) -> list[str]:
    """What to tell where references say exactly what the target says: they were not trained anew."""
    if not signals.references or np.isnan(signals.reference("p_y")).any():
        return []
    same = np.abs(signals.reference("p_y") - signals.target("p_y")).max(axis=1) < 1e-6
    if not same.any():
        return []
    return [
        f"{same.sum()} of {signals.references} references answer exactly as the target does, about every record. Does the "
        "recipe train them anew? If it does not, attacks that compare with them see nothing."
    ]


def sameness_notice(signals: Signals) -> list[str]:
    """What to tell where models that a record is compared with do not differ: there is then no chance to speak of."""
    told = []
    for name, means in (("distilled", _SAME_DISTILLED), ("left_out", _SAME_LEFT_OUT)):
        models = signals.evidence.get(name)
        if models is None or len(models.member) < 2:
            continue
        outside = signals.among(models).outside("margin")
        several = outside.count > 1
        same = outside.squares[several] <= (SAME * np.maximum(1, np.abs(outside.mean[several]))) ** 2
        if several.any() and same.mean() > 0.5:
            told.append(means.format(same.sum(), several.sum()))
    return told


SAME = 1e-9
_SAME_DISTILLED = (
    "The models distilled from the target all say the same about {} of {} records: training has no randomness, and they "
    "train on the same records. The p-values of attack D then mean nothing."
)
_SAME_LEFT_OUT = (
    "The models trained without a record all say the same about {} of {} records: training has no randomness. Whoever "
    "knows all members but one can then train the model with and without the last and see which it is, so attack L "
    "is right about everyone. That holds for every deterministic training; it says nothing about weaker attackers."
)


def regression_notice(evidence: Evidence) -> list[str]:
    """What to tell of a quantile regression that learnt nothing."""
    found = evidence.get("quantiles")
    return [found.degenerate] if found is not None and found.degenerate else []


def leaf_notice(records: pd.DataFrame) -> list[str]:
    """What to tell of members that stand alone in the leaves of a tree model."""
    if "alone" not in records:
        return []
    alone = (records["alone"] > 0.5)[records["member"]]
    if not alone.any():
        return []
    return [
        f"{alone.sum()} of {len(alone)} members are alone in their leaf in more than half of the trees: what those leaves "
        "answer was learnt from one record, and the model file tells so. Larger leaves or shallower trees blur it "
        "(min_samples_leaf, max_depth, min_child_weight)."
    ]
