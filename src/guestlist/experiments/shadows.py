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
    left: np.ndarray,
    shadows: int,
    rng: np.random.Generator,
) -> Shadows | None:
    """Shadows, each trained on a random half of the adversary's own records; None with too few to teach anything.

    Args:
        train: (records,) whom to train on and the number of the shadow, to (records, classes) what it answers about all.
        labels: (records,) positions of the classes.
        left: (records,) the adversary's own records.
    """
    rows = np.flatnonzero(left)
    if len(rows) < FEWEST:
        return None
    answers, members = [], []
    for number in range(shadows):
        half = np.zeros(len(labels), dtype=bool)
        half[rng.permutation(rows)[: len(rows) // 2]] = True
        answers.append(train(half, number)[rows])
        members.append(half[rows])
    return Shadows(np.concatenate(answers), np.tile(labels[rows], shadows), np.concatenate(members))


def shadow_predictions(shadows: Shadows, labels: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Return (records,) membership predictions of one network per class, fitted on the outputs of shadow models.

    Args:
        labels: (records,) positions of the classes.
        own: (records, classes) what the target answers, as logarithms.
    """
    seen, of, member = shadows
    calls = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        mine, asked = of == label, labels == label
        few = min((mine & member).sum(), (mine & ~member).sum()) < FEWEST_OF_A_CLASS
        calls[asked] = _calls(seen, of, member, np.ones_like(mine) if few else mine, own[asked], labels[asked])
    return calls


def _calls(
    seen: np.ndarray, of: np.ndarray, member: np.ndarray, rows: np.ndarray, own: np.ndarray, labels
) -> np.ndarray:
    seen, of, member = seen[rows], of[rows], member[rows]
    taken = balanced(member, hashes(seen, of), ROWS)
    fitted = learn(sorted_features(seen[taken], of[taken]), member[taken])
    return fitted(sorted_features(own, labels)) > 0


def unused_records(parts: Sequence[np.ndarray], asked: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    """(records,) the adversary's own records: of each part of the people at most so many that are not asked about."""
    left = np.zeros(len(asked), dtype=bool)
    for part in parts:
        left[rng.permutation(np.flatnonzero(part & ~asked & ~left))[:most]] = True
    return left
