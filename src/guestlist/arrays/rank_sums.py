"""Sums of ranks of many targets, in one pass over scores that are in order.

Imports numba, so it is itself imported only where many targets are looked at.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def doubled_rank_sums(scores, order, inside, scored):  # pragma: no cover: compiled
    """(targets,) twice the sum of the mid-ranks of those inside: whole numbers.

    Args:
        scores, inside: (targets, records).
        order: (targets, records) positions of the scores of each target, upwards.
        scored: (targets,) how many of them count, from the lowest.
    """
    found = np.zeros(len(scores), dtype=np.int64)
    for t in range(len(scores)):
        start = 0
        while start < scored[t]:
            value, end, members = scores[t, order[t, start]], start, 0
            while end < scored[t] and scores[t, order[t, end]] == value:
                members += inside[t, order[t, end]]
                end += 1
            found[t] += members * (start + 1 + end)  # from rank start + 1 to rank end
            start = end
    return found
