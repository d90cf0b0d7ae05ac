"""Attacks that learn: a classifier sees what references say about their own members and non-members.

Its score for a record is the log-odds of membership, given what the target says.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import logsumexp

from guestlist.attacks.learning import ROWS, LogOdds, balanced, hashes, learn
from guestlist.errors import NotCollectedError
from guestlist.views.evidence import FullAnswersView
from guestlist.views.signals import Signals

# A class needs this many members, and as many non-members, of the references for a classifier of its own.
FEWEST_OF_A_CLASS = 50
# Where there are many classes, each has at least this many rows to learn from.
FEWEST_ROWS = 1_000
# No model's certainty beyond this says more; a logit of 1000 would drown the rest.
LARGEST_LOG_ODDS = 50.0

# Logarithms of probabilities (rows, classes) and labels (rows,) to features (rows, …).
Features = Callable[[np.ndarray, np.ndarray], np.ndarray]


def nn_shokri(signals: Signals) -> np.ndarray:
    """A network per class, of the answer with the true class first and the others by size (Shokri et al. 2017).

    A class in which references have few members or few non-members takes a network of all classes.

    Returns:
        (records,) log-odds of membership; NaN where the target was not asked, and without references of both kinds.
    """
    (answers, own), labels = _answers(signals), signals.labels
    scores = np.full(len(labels), np.nan)
    classes = np.unique(labels)
    left = np.zeros(len(labels), dtype=bool)
    for label in classes:
        of_class = labels == label
        fitted = _fit(answers, labels, of_class, sorted_features, max(FEWEST_ROWS, ROWS // len(classes)))
        if fitted is None:
            left |= of_class
        else:
            scores[of_class] = fitted(sorted_features(own[of_class], labels[of_class]))
    if left.any():
        fitted = _fit(answers, labels, np.ones(len(labels), dtype=bool), sorted_features, ROWS, fewest=1)
        if fitted is not None:
            scores[left] = fitted(sorted_features(own[left], labels[left]))
    return scores


def nn_nasr(signals: Signals) -> np.ndarray:
    """One network for all classes, of the answer and the label (Nasr et al. 2018, 2019).

    Returns:
        (records,) log-odds of membership; NaN where the target was not asked, and without references of both kinds.
    """
    (answers, own), labels = _answers(signals), signals.labels
    fitted = _fit(answers, labels, np.ones(len(labels), dtype=bool), labelled_features, ROWS, fewest=1)
    if fitted is None:
        return np.full(len(labels), np.nan)
    return fitted(labelled_features(own, labels))


def sorted_features(log_p: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Log-odds of the true class, then those of all others, largest first."""
    odds, rows = log_odds(log_p), np.arange(len(labels))
    true = odds[rows, labels]
    odds[rows, labels] = -np.inf
    return np.column_stack([true, -np.sort(-odds, axis=1)[:, :-1]])


def labelled_features(log_p: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Log-odds of the true class, those of every class, and the label as a column of its own per class."""
    odds = log_odds(log_p)
    return np.column_stack([odds[np.arange(len(labels)), labels], odds, np.eye(odds.shape[1])[labels]])


def log_odds(log_p: np.ndarray) -> np.ndarray:
    """(rows, classes) log-odds of each class against all others."""
    log_p = log_p.astype(np.float64)
    rows, top = np.arange(len(log_p)), log_p.argmax(axis=1)
    others = log_p.copy()
    others[rows, top] = -np.inf
    with np.errstate(divide="ignore"):
        rest = np.log1p(-np.exp(np.minimum(log_p, 0)))
    rest[rows, top] = logsumexp(others, axis=1)  # 1 - p cancels where p is near 1
    return np.clip(log_p - rest, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)


def _answers(signals: Signals) -> tuple[FullAnswersView, np.ndarray]:
    """What the references answered, and what the target did, both in single precision: that is how they are kept."""
    references = signals.evidence.need("full_answers")
    if signals.answers is None:
        raise NotCollectedError("This attack compares the target's whole answers with its references', and has none.")
    return references, signals.answers.astype(np.float32)


def _fit(
    answers: FullAnswersView,
    labels: np.ndarray,
    records: np.ndarray,
    features: Features,
    most: int,
    fewest: int = FEWEST_OF_A_CLASS,
) -> LogOdds | None:
    """A network learnt from what references say about some records; None with fewer than ``fewest`` of a kind."""
    asked = ~np.isnan(answers.log_p).any(axis=2) & records
    member = answers.member[asked]
    if min(member.sum(), (~member).sum()) < fewest:
        return None
    log_p, of = answers.log_p[asked], labels[np.nonzero(asked)[1]]
    taken = balanced(member, hashes(log_p, of), most)
    return learn(features(log_p[taken], of[taken]), member[taken])
