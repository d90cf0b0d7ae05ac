"""Share of models with a larger value than the target's on the same record, equals counting one half."""

from __future__ import annotations

import numpy as np

from guestlist.arrays.ranks import tie_ends


def share_above(values: np.ndarray, others: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """(records,) share of the models in ``mask`` with a larger value; NaN where there is none.

    Args:
        values: (records,) of the target.
        others: (models, records).
        mask: (models, records) what counts.
    """
    wins = (mask & (others > values)).sum(axis=0) + 0.5 * (mask & (others == values)).sum(axis=0)
    with np.errstate(invalid="ignore"):  # 0 / 0 is NaN: no model applies
        return wins / mask.sum(axis=0)


def share_above_of_others(values: np.ndarray, mask: np.ndarray, blocks: np.ndarray) -> np.ndarray:
    """(models, records) the same for every model as target: each record's models are sorted once, and counted from there.

    Args:
        values: (models, records).
        mask: (models, records) what counts.
        blocks: (models,) models with equal labels are left out together.
    """
    by_record = np.ascontiguousarray(values.T)
    order = np.argsort(by_record, axis=1)
    first, last = tie_ends(np.take_along_axis(by_record, order, axis=1))
    # running[:, j]: how many models of the mask are among the j smallest values.
    running = np.zeros((len(order), len(values) + 1))
    np.cumsum(np.take_along_axis(mask.T, order, axis=1), axis=1, out=running[:, 1:])
    below, up_to = (np.take_along_axis(running, ends, axis=1) for ends in (first, last + 1))
    wins = np.empty(by_record.shape)
    np.put_along_axis(wins, order, running[:, -1:] - (below + up_to) / 2, axis=1)
    count = np.broadcast_to(mask.sum(axis=0), values.shape)
    own_wins, own_count = _within_block(blocks, values, mask)
    with np.errstate(invalid="ignore"):
        return (wins.T - own_wins) / (count - own_count)


def _within_block(blocks: np.ndarray, values: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What each target won against the models that are left out with it, itself among them, and how many they are."""
    wins, count = np.zeros(values.shape), np.zeros(values.shape)
    for label in np.unique(blocks):
        block = np.flatnonzero(blocks == label)
        for k in block:
            wins[k] = ((values[block] > values[k]) & mask[block]).sum(axis=0)
            wins[k] += 0.5 * ((values[block] == values[k]) & mask[block]).sum(axis=0)
            count[k] = mask[block].sum(axis=0)
    return wins, count
