"""A list of exposed members in which at most a given share is listed falsely.

Everyone on the list is a member, so what is false must be said: a record is falsely listed when the target says no more about
it than a model that did not train on it. Each record is compared with itself: how far is the target's margin in the tail of
what references say that did not train on it? Counting these references would resolve no less than one over their number, and
of many records none would be listed. So the tail is Student's (``lira_bayes_offline``), and is not believed: mock targets
show how often a record that they did not train on comes out so far, and that share is the p-value.

Pooled over records, such a p-value is right on average over them, which is what a share of false ones needs
(Benjamini & Hochberg 1995; Bates et al. 2023).

Reference models share one pool, so they differ less from each other than from a model that was trained on other people: for a
linear model the variance is a third. The target's own non-members show whether it is such a model, because it did not train on
them. If their normal scores vary more than those of stand-in targets, all normal scores are divided by that factor, as in
genomic control (Devlin & Roeder 1999). No record is listed if these records may not be the training set at all (GL129).
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
    """How many members are listed, and how steady the list is.

    Args:
        q: the share of falsely listed records that is allowed, on average over audits.
        tested, flagged: members.
        again: of mock targets that trained on a listed record, the share in which it stands out as far; None: no list.
        without: of mock targets that did not train on a listed record, the share in which it stands out as far.
        inflation: factor by which the normal scores of the p-values were divided; 1 where the target varies no more around
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
    """(records,) of the asked records: p-values, NaN where there is none, and who is listed; and the inflation factor."""

    p_value: np.ndarray = field(repr=False)
    flagged: np.ndarray = field(repr=False)
    inflation: float = 1.0


def find(case: Case) -> Exposure | None:
    """The list of exposed members; None where too few references were compared with each other on the same records."""
    found = case.of(flagged_records)
    if found is None:
        return None
    own, scores, member = _scores(case)
    tested = int((~np.isnan(found.p_value) & case.truth.member_evaluated).sum())
    if not found.flagged.any():
        return Exposure(Q, tested, 0, inflation=found.inflation)
    far, here = own[found.flagged].min(), found.flagged[tried(case)]
    scores, member = scores[:, here], member[:, here]
    known = ~np.isnan(scores)
    shares = [scores[known & side] >= far for side in (member, ~member)]
    # Of very many records, none that is listed may be among those at which mock targets are looked at.
    again, without = (float(one.mean()) if one.size else None for one in shares)
    return Exposure(
        q=Q,
        tested=tested,
        flagged=int(found.flagged.sum()),
        rate_in_models=again,
        rate_out_models=without,
        inflation=found.inflation,
    )


def flagged_records(case: Case) -> FlaggedRecords | None:
    """Who is listed at ``Q``, with p-values of members and, for comparison, of non-members."""
    mocks = case.mocks
    if mocks is None or len(mocks.member) < MIN_MOCKS or case.setting.predictions or "margin" not in mocks.values:
        return None
    own, scores, member = _scores(case)
    counted = conformal_p_values(own, scores[~member])
    factor = inflation(counted[~case.truth.member_evaluated])
    p_value = inflated(counted, factor)
    if case.of(training_set.doubted):
        return FlaggedRecords(p_value, np.zeros(len(p_value), dtype=bool), factor)
    return FlaggedRecords(p_value, flagged(p_value, case.truth.member_evaluated), factor)


def inflation(p_value: np.ndarray) -> float:
    """Return by how much records that the target did not train on vary more than under stand-in targets, at least 1.

    The root mean square of the normal scores of p-values below 0.5: only that tail decides who is listed.

    Args:
        p_value: (non-members,) their p-values; NaN is left out.

    >>> inflation(np.array([0.0455, 0.0455, 0.9])) > 1.6
    True
    """
    below = p_value[p_value < 0.5]
    return max(1.0, float(np.sqrt(np.mean(np.square(ndtri(below)))))) if len(below) else 1.0


def inflated(p_value: np.ndarray, factor: float) -> np.ndarray:
    """Divide the normal scores of p-values below 0.5 by ``factor``."""
    return np.where(p_value < 0.5, ndtr(ndtri(p_value) / factor), p_value)


def flagged(p_value: np.ndarray, member: np.ndarray, q: float = Q) -> np.ndarray:
    """(records,) true for members that Benjamini and Hochberg list at ``q``."""
    tested = np.flatnonzero(member & ~np.isnan(p_value))
    found = np.zeros(len(p_value), dtype=bool)
    if len(tested):
        found[tested] = false_discovery_control(p_value[tested]) <= q
    return found


def _scores(case: Case) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of the asked records: the target's scores, those of mock targets where these are looked at, and what they trained on."""
    mocks, asked = case.of(sampled_stand_ins), asked_of_sample(case)
    assert mocks is not None
    return (
        case.of(_own)[case.truth.evaluated],
        take_columns(case.of(_of_mocks), asked),
        take_columns(mocks.member, asked),
    )


def _own(case: Case) -> np.ndarray:
    name = "lira_bayes_offline"  # where it ran as an attack it need not run again
    own = name in case.attacks and case.attacks[name].score is lira_bayes_offline
    return case.scores[name] if own else lira_bayes_offline(case.view)


def _of_mocks(case: Case) -> np.ndarray:
    mocks = case.of(sampled_stand_ins)
    assert mocks is not None
    return lira_bayes_offline(mocks)
