"""Shadow models, trained on records that are not evaluated, and the attack fitted on them (Shokri et al. 2017)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from guestlist.attacks.classifiers import sorted_features
from guestlist.attacks.learning import ROWS, balanced, hashes, learn

# A class with fewer members or non-members among the shadows' records is left to a network of all classes.
FEWEST_OF_A_CLASS = 50
FEWEST = 4 * FEWEST_OF_A_CLASS  # of the adversary's own records


class Shadows(NamedTuple):
    """Outputs of the shadow models for the adversary's records, one model after the other.

    Args:
        answers: (shadows × records, classes) as logarithms.
        labels: (shadows × records,) positions of the classes.
        member: (shadows × records,) whether the shadow was trained on the record.
    """

    answers: np.ndarray
    labels: np.ndarray
    member: np.ndarray

    @property
    def average_loss(self) -> float:
        """On the records that each was trained on."""
        return float(-self.answers[self.member, self.labels[self.member]].mean())


def train_shadows(
    train: Callable[[np.ndarray, int], np.ndarray],
    labels: np.ndarray,
    unused: np.ndarray,
    shadows: int,
    rng: np.random.Generator,
) -> Shadows | None:
    """Shadows, each trained on a random half of the adversary's own records; None with too few to teach anything.

    Args:
        train: (records,) whom to train on and the number of the shadow, to (records, classes) what it answers about all.
        labels: (records,) positions of the classes.
        left: (records,) the adversary's own records.
    """
    rows = np.flatnonzero(unused)
    if len(rows) < FEWEST:
        return None
    answers = []
    members = []
    for number in range(shadows):
        half = np.zeros(len(labels), dtype=bool)
        half[rng.permutation(rows)[: len(rows) // 2]] = True
        answers.append(train(half, number)[rows])
        members.append(half[rows])
    return Shadows(np.concatenate(answers), np.tile(labels[rows], shadows), np.concatenate(members))


def shadow_predictions(shadows: Shadows, labels: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """Return (records,) membership predictions of one network per class, fitted on the outputs of shadow models.

    Args:
        labels: (records,) positions of the classes.
        own: (records, classes) what the target answers, as logarithms.
    """
    shadow_outputs, shadow_labels, member = shadows
    calls = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        in_class = shadow_labels == label
        of_class = labels == label
        few = min((in_class & member).sum(), (in_class & ~member).sum()) < FEWEST_OF_A_CLASS
        calls[of_class] = _calls(
            shadow_outputs,
            shadow_labels,
            member,
            np.ones_like(in_class) if few else in_class,
            outputs[of_class],
            labels[of_class],
        )
    return calls


def _calls(
    shadow_outputs: np.ndarray,
    shadow_labels: np.ndarray,
    member: np.ndarray,
    rows: np.ndarray,
    outputs: np.ndarray,
    labels,
) -> np.ndarray:
    shadow_outputs = shadow_outputs[rows]
    shadow_labels = shadow_labels[rows]
    member = member[rows]
    taken = balanced(member, hashes(shadow_outputs, shadow_labels), ROWS)
    fitted = learn(sorted_features(shadow_outputs[taken], shadow_labels[taken]), member[taken])
    return fitted(sorted_features(outputs, labels)) > 0


def unused_records(
    parts: Sequence[np.ndarray], evaluated: np.ndarray, max_records: int, rng: np.random.Generator
) -> np.ndarray:
    """(records,) the adversary's own records: of each part of the people at most so many that are not asked about."""
    unused = np.zeros(len(evaluated), dtype=bool)
    for part in parts:
        unused[rng.permutation(np.flatnonzero(part & ~evaluated & ~unused))[:max_records]] = True
    return unused
