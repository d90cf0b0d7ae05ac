"""Down a ranking until there are too many non-members, in many draws of who they are.

A low rate is decided among the highest scores, so a walk is short however many records there are.

Imports numba, so it is itself imported only where draws are looked at.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def true_positives_at(sides, starts, places, ties, allowed, begin, passed, above):  # pragma: no cover: compiled
    """(rates, draws) members strictly above the non-member that is one too many; all of them where there is none.

    Args:
        sides: 1 for members, 0 for non-members; in draw d, the record of rank i is on the side ``sides[starts[d] + places[i]]``.
        ties: (ranks,) the first rank with an equal score.
        allowed: (rates, draws) non-members that are not too many, rising with the rate.
        begin: (rates,) rank at which the walk to a rate may begin; 0: at the top.
        passed: (rates, draws) non-members above that rank; where they are too many, the walk begins earlier.
        above: (rates, draws) members above the first that tie with that rank.
    """
    rates, draws = allowed.shape
    found, ranks = np.empty((rates, draws)), len(places)
    for d in range(draws):
        false, before, rate, i = 0, 0, 0, 0
        while rate < rates:
            most = allowed[rate, d]
            if begin[rate] > i and passed[rate, d] <= most:
                i, false, before = begin[rate], passed[rate, d], above[rate, d]
            while i < ranks and false <= most:
                before = i - false if ties[i] == i else before
                false += 1 - sides[starts[d] + places[i]]  # no branch: which side it is cannot be foreseen
                i += 1
            if false <= most:
                break
            while rate < rates and false > allowed[rate, d]:
                found[rate, d] = before
                rate += 1
        for left in range(rate, rates):
            found[left, d] = ranks - false
    return found
