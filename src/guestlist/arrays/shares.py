"""Share of models with a larger value than the target's on the same record; ties count 0.5."""

from __future__ import annotations

import numpy as np

from guestlist.arrays.ranks import ecdf_counts


def share_above(values: np.ndarray, others: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """(records,) share of the models in ``mask`` with a larger value; NaN where there is none.

    Args:
        values: (records,) Values of the target.
        others: (models, records).
        mask: (models, records) Values that count.
    """
    wins = (mask & (others > values)).sum(axis=0) + 0.5 * (mask & (others == values)).sum(axis=0)
    with np.errstate(invalid="ignore"):  # 0 / 0 is NaN: no model applies.
        return wins / mask.sum(axis=0)


def leave_block_out_share_above(values: np.ndarray, mask: np.ndarray, blocks: np.ndarray) -> np.ndarray:
    """(models, records) share above for every model as target, from one sort of each record's models.

    Args:
        values: (models, records).
        mask: (models, records) Values that count.
        blocks: (models,) Models with equal labels are left out together.
    """
    below, up_to, count = ecdf_counts(np.ascontiguousarray(values.T), np.ascontiguousarray(mask.T))
    wins = count - (below + up_to) / 2
    block_wins, block_count = _wins_within_block(blocks, values, mask)
    with np.errstate(invalid="ignore"):
        return (wins.T - block_wins) / (count.T - block_count)


def _wins_within_block(blocks: np.ndarray, values: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Count each target's wins against the models of its block, itself included, and the number of those."""
    labels, sizes = np.unique(blocks, return_counts=True)
    if (sizes == 1).all():  # a tie with itself, where it counts
        return 0.5 * mask, mask.astype(np.float64)
    wins = np.zeros(values.shape)
    count = np.zeros(values.shape)
    for label in labels:
        block = np.flatnonzero(blocks == label)
        for k in block:
            wins[k] = ((values[block] > values[k]) & mask[block]).sum(axis=0)
            wins[k] += 0.5 * ((values[block] == values[k]) & mask[block]).sum(axis=0)
            count[k] = mask[block].sum(axis=0)
    return wins, count
