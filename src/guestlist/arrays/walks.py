"""Down a ranking until there are too many non-members, in many draws of who they are.

A low rate is decided among the highest scores, so a walk is short however many records there are.

Imports numba, so it is itself imported only where draws are looked at.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def members_before(sides, starts, places, ties, allowed):  # pragma: no cover: compiled
    """(rates, draws) members strictly above the non-member that is one too many; all of them where there is none.

    Args:
        sides: 1 for members, 0 for non-members; in draw d, the record of rank i is on the side ``sides[starts[d] + places[i]]``.
        ties: (ranks,) the first rank with an equal score.
        allowed: (rates, draws) non-members that are not too many, rising with the rate.
    """
    rates, draws = allowed.shape
    found = np.empty((rates, draws))
    for d in range(draws):
        false, before, rate, most = 0, 0, 0, allowed[0, d]
        for i in range(len(places)):
            before = i - false if ties[i] == i else before
            false += 1 - sides[starts[d] + places[i]]  # no branch: which side it is cannot be foreseen
            if false > most:
                while rate < rates and false > allowed[rate, d]:
                    found[rate, d] = before
                    rate += 1
                if rate == rates:
                    break
                most = allowed[rate, d]
        for left in range(rate, rates):
            found[left, d] = len(places) - false
    return found
