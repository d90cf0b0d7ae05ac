"""How many models call a record, counted in one pass over what they say.

Imports numba, so it is itself imported only where mock targets were scored.
"""

from __future__ import annotations

from numba import njit


@njit(cache=True)
def flag_counts(
    scores, member, thresholds, called_outside, outside, called_inside, inside
):  # pragma: no cover: compiled
    """Add to (records,) counts: of models that did not train on a record, and of those that did, who call it, and all.

    Args:
        scores, member: (models, records) NaN is left out.
        thresholds: (models,) a call is a score that is no smaller; NaN calls nobody.
    """
    models, records = scores.shape
    for k in range(models):
        for i in range(records):
            score = scores[k, i]
            if score == score:
                if member[k, i]:
                    inside[i] += 1
                    called_inside[i] += score >= thresholds[k]
                else:
                    outside[i] += 1
                    called_outside[i] += score >= thresholds[k]
