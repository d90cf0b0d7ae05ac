"""What the target says about a record, against what references say about the same record.

Attack R asks how unusual the target's answer would be from a model that did not train on the record.
Difficulty calibration subtracts what references say, so that a record that every model finds easy does not
look like a member.
"""

from __future__ import annotations

import numpy as np

from guestlist.arrays.ranks import tie_ends
from guestlist.attacks.bayes import log_odds_of_tail
from guestlist.attacks.likelihood import spread
from guestlist.views.signals import Rotation, Signals


def reference(signals: Signals | Rotation) -> np.ndarray:
    """Attack R, smoothed: log-odds that a model which did not train on the record has a smaller margin.

    The OUT references' margins are taken as a normal sample, so a further one lies below the target's with a
    chance that Student's t gives (Ye et al. 2022, attack R, with its quantile beyond 1 / references). A
    record with a single OUT reference takes the pooled variance and its degrees of freedom; a variance below
    the floor is raised to it.

    Returns:
        (records,) scores, or (models, records); NaN where every reference trained on the record.
    """
    outside = signals.outside("margin")
    pooled_freedom = np.maximum(np.maximum(outside.count - 1, 0).sum(axis=-1, keepdims=True), 1)
    freedom = np.where(outside.count > 1, outside.count - 1, pooled_freedom)
    with np.errstate(divide="ignore"):  # 1 / 0: the mean is NaN there, and so is the score
        scale = spread(outside, True) * np.sqrt(1 + 1 / outside.count)
    return log_odds_of_tail((signals.target("margin") - outside.mean) / scale, freedom.astype(np.float64))


def reference_empirical(signals: Signals | Rotation) -> np.ndarray:
    """Attack R as a plain share: OUT references with a larger loss than the target, ties counting one half.

    (Ye et al. 2022, attack R.) It knows no rate between 0 and 1 / references, so low false-positive rates are
    beyond it. NaN where every reference trained on the record.
    """
    loss = signals.target("loss")
    if isinstance(signals, Signals):
        others = signals.reference("loss")
        above = _share_above(loss, others, ~signals.reference_member & ~np.isnan(others))
    else:
        above = _share_above_of_others(signals, loss)
    return np.where(np.isnan(loss), np.nan, above)


def difficulty(signals: Signals | Rotation) -> np.ndarray:
    """Margin minus the mean of the references', IN and OUT in equal parts (difficulty calibration, Watson et al. 2022).

    NaN where no reference trained, or none did not train, on the record.
    """
    return signals.target("margin") - (signals.inside("margin").mean + signals.outside("margin").mean) / 2


def difficulty_offline(signals: Signals | Rotation) -> np.ndarray:
    """Margin minus the mean of the OUT references' (Watson et al. 2022); NaN where every reference trained on it."""
    return signals.target("margin") - signals.outside("margin").mean


def _share_above(loss: np.ndarray, others: np.ndarray, mask: np.ndarray) -> np.ndarray:
    wins = (mask & (others > loss)).sum(axis=0) + 0.5 * (mask & (others == loss)).sum(axis=0)
    with np.errstate(invalid="ignore"):  # 0 / 0 is NaN: no reference applies
        return wins / mask.sum(axis=0)


def _share_above_of_others(rotation: Rotation, loss: np.ndarray) -> np.ndarray:
    """(models, records) the same for every target: each record's models are sorted once, and counted from there."""
    out = ~rotation.member & ~np.isnan(loss)
    by_record = np.ascontiguousarray(loss.T)
    order = np.argsort(by_record, axis=1)
    first, last = tie_ends(np.take_along_axis(by_record, order, axis=1))
    # running[:, j]: how many OUT models are among the j smallest losses.
    running = np.zeros((len(order), len(loss) + 1))
    np.cumsum(np.take_along_axis(out.T, order, axis=1), axis=1, out=running[:, 1:])
    below, up_to = (np.take_along_axis(running, ends, axis=1) for ends in (first, last + 1))
    wins = np.empty(by_record.shape)
    np.put_along_axis(wins, order, running[:, -1:] - (below + up_to) / 2, axis=1)
    count = np.broadcast_to(out.sum(axis=0), loss.shape)
    own_wins, own_count = _within_block(rotation.blocks, loss, out)
    with np.errstate(invalid="ignore"):
        return (wins.T - own_wins) / (count - own_count)


def _within_block(blocks: np.ndarray, loss: np.ndarray, out: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What each target won against the models that are left out with it, itself among them, and how many they are."""
    wins, count = np.zeros(loss.shape), np.zeros(loss.shape)
    for label in np.unique(blocks):
        block = np.flatnonzero(blocks == label)
        for k in block:
            wins[k] = ((loss[block] > loss[k]) & out[block]).sum(axis=0)
            wins[k] += 0.5 * ((loss[block] == loss[k]) & out[block]).sum(axis=0)
            count[k] = out[block].sum(axis=0)
    return wins, count
