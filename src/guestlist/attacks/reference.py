"""Attacks that compare the target's output for a record with those of references for the same record.

Attack R measures how unusual the target's output would be from a model that did not train on the record. Difficulty
calibration subtracts the references' output, so that a record that every model finds easy does not look like a member.
"""

from __future__ import annotations

import numpy as np

from guestlist.attacks.bayes import log_odds_of_tail
from guestlist.attacks.likelihood import standard_deviation
from guestlist.views.view import View

# Degrees of freedom that a pooled variance counts as at most: its tail is then nearly normal, and never too light.
PLENTY = 10_000


def reference(signals: View) -> np.ndarray:
    """Attack R, smoothed: log-odds that a model which did not train on the record has a smaller margin.

    The OUT references' margins are taken as a normal sample, so a further one lies below the target's with a
    chance that Student's t gives (Ye et al. 2022, attack R, with its quantile beyond 1 / references). A
    record with a single OUT reference takes the pooled variance and its degrees of freedom; a variance below
    the floor is raised to it.

    Returns:
        (records,) scores, or (models, records); NaN where every reference trained on the record.
    """
    return signals.once("reference", lambda: _reference(signals))  # also used by its p-values


def _reference(signals: View) -> np.ndarray:
    outside = signals.outside("margin")
    pooled_freedom = np.clip(np.maximum(outside.count - 1, 0).sum(axis=-1, keepdims=True), 1, PLENTY)
    freedom = np.where(outside.count > 1, outside.count - 1, pooled_freedom)
    with np.errstate(divide="ignore"):  # 1 / 0: the mean is NaN there, and so is the score
        scale = standard_deviation(outside, True) * np.sqrt(1 + 1 / outside.count)
    return log_odds_of_tail((signals.target("margin") - outside.mean) / scale, freedom.astype(np.float64))


def reference_empirical(signals: View) -> np.ndarray:
    """Attack R as a plain share: OUT references with a larger loss than the target, ties counting one half.

    (Ye et al. 2022, attack R.) It knows no rate between 0 and 1 / references, so low false-positive rates are
    beyond it. NaN where every reference trained on the record.
    """
    loss = signals.target("loss")
    return np.where(np.isnan(loss), np.nan, signals.share_above("loss"))


def difficulty(signals: View) -> np.ndarray:
    """Margin minus the mean of the references', IN and OUT in equal parts (difficulty calibration, Watson et al. 2022).

    NaN where no reference trained, or none did not train, on the record.
    """
    return signals.target("margin") - (signals.inside("margin").mean + signals.outside("margin").mean) / 2


def difficulty_offline(signals: View) -> np.ndarray:
    """Margin minus the mean of the OUT references' (Watson et al. 2022); NaN where every reference trained on it."""
    return signals.target("margin") - signals.outside("margin").mean
