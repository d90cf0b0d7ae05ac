"""Members flagged as exposed, with a controlled false discovery rate.

Every flagged record is a member, so a false discovery has to be defined: a record is falsely flagged if the target's output
about it is no more extreme than that of a model not trained on it. Each record is compared with itself: how far is the target's
margin in the tail of the margins of references not trained on it? A count of these references could not be smaller than one
over their number, and no record would be flagged among many. The tail is therefore Student's (``lira_bayes_offline``), but it
is not trusted: stand-in targets show how often a record that they did not train on is as extreme, and that share is the p-value.

Pooled over records, such a p-value is right on average over them, as the false discovery rate requires
(Benjamini & Hochberg 1995; Bates et al. 2023).

Reference models share one pool, so they differ less from each other than from a model that was trained on other people: for a
linear model the variance is a third. The target's own non-members show whether it is such a model, because it did not train on
them. If their normal scores vary more than those of stand-in targets, all normal scores are divided by that factor, as in
genomic control (Devlin & Roeder 1999). No record is flagged if these records may not be the training set at all (GL129).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import false_discovery_control

from guestlist.arrays.columns import take_columns
from guestlist.arrays.conformal import conformal_p_values
from guestlist.attacks.bayes import lira_bayes_offline
from guestlist.case import Case
from guestlist.collecting.until import MIN_MOCKS
from guestlist.findings import training_set
from guestlist.findings.sampling import asked_of_sample, sampled_stand_ins, tried

Q = 0.1


@dataclass(frozen=True)
class Exposure:
    """Number of flagged members, and how stable the flags are.

    Attributes:
        q: False discovery rate that is allowed, on average over audits.
        tested: Number of members with a p-value.
        flagged: Number of members that are flagged.
        rate_in_models: Of stand-in targets trained on a flagged record, the share in which it is as extreme; None: none flagged.
        rate_out_models: The same of stand-in targets not trained on it.
        inflation: Factor by which the normal scores of the p-values were divided; 1 where the target varies no more around
            its reference models than they do around each other.
    """

    q: float
    tested: int
    flagged: int
    rate_in_models: float | None = None
    rate_out_models: float | None = None
    inflation: float = 1.0


@dataclass(frozen=True)
class FlaggedRecords:
    """(evaluated records,) p-values, NaN without one, and flags; and the inflation factor."""

    p_value: np.ndarray = field(repr=False)
    flagged: np.ndarray = field(repr=False)
    inflation: float = 1.0


def find(case: Case) -> Exposure | None:
    """Count the flagged members; return None with too few references on the same records."""
    records = case.of(flagged_records)
    if records is None:
        return None
    tested = int((~np.isnan(records.p_value) & case.truth.member_evaluated).sum())
    if not records.flagged.any():
        return Exposure(Q, tested, 0, inflation=records.inflation)
    target, scores, member = _scores(case)
    threshold = target[records.flagged].min()
    sampled = records.flagged[tried(case)]
    scores = scores[:, sampled]
    member = member[:, sampled]
    known = ~np.isnan(scores)
    return Exposure(
        q=Q,
        tested=tested,
        flagged=int(records.flagged.sum()),
        rate_in_models=_share_above(scores[known & member], threshold),
        rate_out_models=_share_above(scores[known & ~member], threshold),
        inflation=records.inflation,
    )


def flagged_records(case: Case) -> FlaggedRecords | None:
    """Flag members at ``Q``, with p-values of members and, for comparison, of non-members."""
    mocks = case.mocks
    if mocks is None or len(mocks.member) < MIN_MOCKS or case.setting.predictions or "margin" not in mocks.values:
        return None
    target, scores, member = _scores(case)
    counted = conformal_p_values(target, scores[~member])
    factor = inflation(counted[~case.truth.member_evaluated])
    p_value = inflated(counted, factor)
    if case.of(training_set.doubted):
        return FlaggedRecords(p_value, np.zeros(len(p_value), dtype=bool), factor)
    return FlaggedRecords(p_value, flagged(p_value, case.truth.member_evaluated), factor)


def inflation(p_value: np.ndarray) -> float:
    """Return by how much records that the target did not train on vary more than under stand-in targets, at least 1.

    The root mean square of the normal scores of p-values below 0.5: only that tail decides which records are flagged.

    Args:
        p_value: (non-members,) their p-values; NaN is ignored.

    >>> inflation(np.array([0.0455, 0.0455, 0.9])) > 1.6
    True
    """
    below = p_value[p_value < 0.5]
    if not len(below):
        return 1.0
    return max(1.0, float(np.sqrt(np.mean(np.square(ndtri(below))))))


def inflated(p_value: np.ndarray, factor: float) -> np.ndarray:
    """Divide the normal scores of p-values below 0.5 by ``factor``."""
    return np.where(p_value < 0.5, ndtr(ndtri(p_value) / factor), p_value)


def flagged(p_value: np.ndarray, member: np.ndarray, q: float = Q) -> np.ndarray:
    """(records,) true for members that the procedure of Benjamini and Hochberg flags at ``q``."""
    tested = np.flatnonzero(member & ~np.isnan(p_value))
    flags = np.zeros(len(p_value), dtype=bool)
    if len(tested):
        flags[tested] = false_discovery_control(p_value[tested]) <= q
    return flags


def _share_above(scores: np.ndarray, threshold: float) -> float | None:
    """Return the share of scores at or above a threshold; None if stand-in targets were evaluated on none of the records."""
    return float((scores >= threshold).mean()) if scores.size else None


def _scores(case: Case) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the target's scores of evaluated records, those of stand-in targets, and the records these trained on."""
    mocks = case.of(sampled_stand_ins)
    assert mocks is not None
    evaluated = asked_of_sample(case)
    return (
        case.of(_target_scores)[case.truth.evaluated],
        take_columns(case.of(_stand_in_scores), evaluated),
        take_columns(mocks.member, evaluated),
    )


def _target_scores(case: Case) -> np.ndarray:
    name = "lira_bayes_offline"  # an attack that was run need not run again
    if name in case.attacks and case.attacks[name].score is lira_bayes_offline:
        return case.scores[name]
    return lira_bayes_offline(case.view)


def _stand_in_scores(case: Case) -> np.ndarray:
    mocks = case.of(sampled_stand_ins)
    assert mocks is not None
    return lira_bayes_offline(mocks)
