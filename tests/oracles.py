"""Slow and obvious versions of what is fast in the package: loops over models and records."""

from __future__ import annotations

import math

import numpy as np


def moments_of_others(values, mask, together=None):
    """Count, mean and sum of squares over the other models, cell by cell, in exact sums."""
    models, records = values.shape
    together = np.arange(models) if together is None else together
    count, mean, squares = (np.zeros((models, records)) for _ in range(3))
    for k in range(models):
        for i in range(records):
            chosen = [values[j, i] for j in range(models) if together[j] != together[k] and mask[j, i]]
            count[k, i] = len(chosen)
            mean[k, i] = math.fsum(chosen) / len(chosen) if chosen else math.nan
            squares[k, i] = math.fsum((x - mean[k, i]) ** 2 for x in chosen)
    return count, mean, squares


def auc(scores, member):
    """Share of (member, non-member) pairs in the right order, ties counting one half."""
    wins, pairs = 0.0, 0
    for a, is_member in zip(scores, member, strict=True):
        for b, is_other in zip(scores, member, strict=True):
            if is_member and not is_other and not math.isnan(a) and not math.isnan(b):
                wins += 1.0 if a > b else 0.5 if a == b else 0.0
                pairs += 1
    return wins / pairs if pairs else math.nan
