"""The threshold that tells members from non-members best, for whoever knows the truth."""

from __future__ import annotations

import numpy as np

from guestlist.arrays.samples import paired


def best_threshold(scores: np.ndarray, member: np.ndarray) -> float:
    """The observed score that, as a threshold, maximises TPR - FPR; among equals the one that calls fewest.

    Knows the truth, so it is for records other than those it is then applied to. NaN scores are left out.
    """
    scores, member = paired(scores, member)
    if member.all() or not member.any():
        raise ValueError("Expected both members and non-members to choose a threshold, found one kind.")
    order = np.argsort(-scores)  # not stable, which is slower: ties are called together
    ranked, is_member = scores[order], member[order]
    # Counts, not rates, so that equal advantages compare equal.
    n1, n0 = member.sum(), (~member).sum()
    gain = np.cumsum(is_member) * n0 - np.cumsum(~is_member) * n1
    last = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))
    return float(ranked[last[np.argmax(gain[last])]])
