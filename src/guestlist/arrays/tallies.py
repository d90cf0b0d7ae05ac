"""Numbers of models that flag each record, counted in one pass over their scores.

Imports numba, so it is imported only where stand-in targets were scored.
"""

from __future__ import annotations

from numba import njit


@njit(cache=True)
def flag_counts(
    scores, member, thresholds, flagged_outside, outside, flagged_inside, inside
):  # pragma: no cover: compiled
    """Add to (records,) counts of OUT models and of IN models: those that flag a record, and all with a score.

    Args:
        scores, member: (models, records) NaN is ignored.
        thresholds: (models,) A record is flagged if its score is at least this; NaN flags no record.
    """
    models, records = scores.shape
    for k in range(models):
        for i in range(records):
            score = scores[k, i]
            if score == score:
                if member[k, i]:
                    inside[i] += 1
                    flagged_inside[i] += score >= thresholds[k]
                else:
                    outside[i] += 1
                    flagged_outside[i] += score >= thresholds[k]
