"""Exposed members and persons, with the false discovery rate controlled."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import false_discovery_control, rankdata

from guestlist._case import Case
from guestlist._collect import MIN_STAND_INS
from guestlist._findings import headline, sample, sampled_stand_ins, training_set, tried
from guestlist._kernels import means_by_label, rows_by_label, take_columns
from guestlist.attacks import lira_bayes_offline
from guestlist.metrics import conformal_p_values

MAX_P_VALUE = 0.05  # records with a larger p-value are not listed

NaturalKey = tuple[tuple[tuple[int, str], ...], str]


@dataclass(frozen=True)
class TopRanked:
    """The first records of a ranking.

    Attributes:
        rows: Positions of the listed records, in order.
        tied: Number of records with the same values, for each of them.
        left_out: Number of records that are tied for the next rank and too many to list; 0 if all are listed.
    """

    rows: np.ndarray = field(repr=False)
    tied: np.ndarray = field(repr=False)
    left_out: int


def top_k_ties(by: Sequence[np.ndarray], names: Sequence, k: int, at_most: int) -> TopRanked:
    """Return the first records by some values, without splitting ties.

    Args:
        by: Arrays (rows,) in the order of their priority; smaller values come first, NaN last.
        names: (rows,) names; records with equal values are in their natural order.
        k: Number of records to list, unless ties extend beyond it.
        at_most: Maximum number of listed records, including such ties.
    """
    values = np.nan_to_num(np.stack(by).astype(np.float64), nan=np.inf, posinf=np.inf, neginf=-np.inf)
    order = np.lexsort(values[::-1])
    ranked = values[:, order]
    edges = np.flatnonzero(np.concatenate([[True], (ranked[:, 1:] != ranked[:, :-1]).any(axis=0), [True]]))
    rows: list[int] = []
    tied: list[int] = []
    left_out = 0
    for begin, end in pairwise(edges.tolist() if len(order) else ()):
        if len(rows) >= k:
            break
        if end > at_most:
            left_out = end - begin
            break
        rows += sorted(order[begin:end].tolist(), key=lambda row: natural_key(names[row]))
        tied += [end - begin] * (end - begin)
    return TopRanked(np.array(rows, dtype=int), np.array(tied, dtype=int), left_out)


def natural_key(name: object) -> NaturalKey:
    """Return a sort key by which numbers within names count as numbers.

    >>> sorted(["r10", "r9", "r", "q11"], key=natural_key)
    ['q11', 'r', 'r9', 'r10']
    """
    text = str(name)
    parts = re.split("([0-9]+)", text)
    # Numbers without leading zeros sort by their length, then by their digits.
    keys = [(len(part.lstrip("0")), part.lstrip("0")) if at % 2 else (0, part) for at, part in enumerate(parts)]
    return tuple(keys), text


Q = 0.1


@dataclass(frozen=True)
class Exposure:
    """Number of flagged members, and how stable the flags are.

    Attributes:
        q: False discovery rate that is allowed, on average over audits.
        tested: Number of members with a p-value.
        flagged: Number of members that are flagged.
        rate_in_models: Share of the stand-in targets trained on a flagged record in which it is as extreme; None: no
            flags.
        rate_out_models: The same for stand-in targets not trained on it.
        inflation: Factor by which the normal scores of the p-values were divided; 1 if the target varies around its reference
            models at most as much as they vary around each other.
    """

    q: float
    tested: int
    flagged: int
    rate_in_models: float | None = None
    rate_out_models: float | None = None
    inflation: float = 1.0


@dataclass(frozen=True)
class FlaggedRecords:
    """P-values and flags of (evaluated records,), and the inflation factor; a record without a p-value has NaN."""

    p_value: np.ndarray = field(repr=False)
    flagged: np.ndarray = field(repr=False)
    inflation: float = 1.0


def find_exposure(case: Case) -> Exposure | None:
    """Count the flagged members; return None with too few references on the same records."""
    records = case.of(flagged_records)
    if records is None:
        return None
    tested = int((~np.isnan(records.p_value) & case.truth.member_evaluated).sum())
    if not records.flagged.any():
        return Exposure(Q, tested, 0, inflation=records.inflation)
    target, scores, member = case.of(_scores)
    threshold = target[records.flagged].min()
    sampled = records.flagged[tried(case)]
    scores = scores[:, sampled]
    known = ~np.isnan(scores)
    member = member[:, sampled]
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
    stand_ins = case.stand_ins
    if (
        stand_ins is None
        or len(stand_ins.member) < MIN_STAND_INS
        or case.setting.predictions
        or "margin" not in stand_ins.values
    ):
        return None
    target, scores, member = case.of(_scores)
    counted = conformal_p_values(target, scores[~member])
    factor = inflation(counted[~case.truth.member_evaluated])
    p_value = inflated(counted, factor)
    if case.of(training_set.doubted):
        return FlaggedRecords(p_value, np.zeros(len(p_value), dtype=bool), factor)
    return FlaggedRecords(p_value, flagged(p_value, case.truth.member_evaluated), factor)


def inflation(p_value: np.ndarray) -> float:
    """Return the inflation of non-members' scores under the target relative to stand-in targets, at least 1.

    It is the root mean square of the normal scores of p-values below 0.5: only that tail decides which records are flagged.

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
    """Return (records,) true for members that the procedure of Benjamini and Hochberg flags at ``q``."""
    tested = np.flatnonzero(member & ~np.isnan(p_value))
    flags = np.zeros(len(p_value), dtype=bool)
    if len(tested):
        flags[tested] = false_discovery_control(p_value[tested]) <= q
    return flags


def _share_above(scores: np.ndarray, threshold: float) -> float | None:
    """Return the share of scores at or above a threshold; None if stand-in targets were evaluated on none of the records."""
    if scores.size:
        return float((scores >= threshold).mean())
    return None


def _scores(case: Case) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the target's scores of evaluated records, those of stand-in targets, and the records these trained on."""
    stand_ins = case.of(sampled_stand_ins)
    assert stand_ins is not None
    name = "lira_bayes_offline"
    if name in case.attacks and case.attacks[name].score is lira_bayes_offline:
        target_scores = case.scores[name]  # an attack that was run need not run again
    else:
        target_scores = lira_bayes_offline(case.view)
    evaluated = case.truth.evaluated[case.of(sample)]
    return (
        target_scores[case.truth.evaluated],
        take_columns(lira_bayes_offline(stand_ins), evaluated),
        take_columns(stand_ins.member, evaluated),
    )


MAX_PERSONS = 20


@dataclass(frozen=True)
class ExposedPerson:
    """A person whose member records are outliers under the headline attack.

    Attributes:
        person: Person identifier.
        records: Number of member records.
        mean_rank: Mean rank of these records among all, from 0 (lowest score) to 1.
        p_value: Share of persons without a member record whose mean rank is as high.
        p_among_models: Share of ``models`` that trained on none of these records, counting the target, under which they rank
            as high; None without such models.
        models: Number of these models.
    """

    person: str
    records: int
    mean_rank: float
    p_value: float
    p_among_models: float | None = None
    models: int | None = None


def find_persons(case: Case) -> tuple[ExposedPerson, ...] | None:
    """Return the most exposed persons; None without person identifiers."""
    persons = case.persons
    if persons is None:
        return None
    if case.of(training_set.doubted):  # these records may not be the training set, so no person is listed
        return ()
    evaluated = case.truth.evaluated
    member = case.truth.member_evaluated
    names = np.unique(case.records["person"].to_numpy()[evaluated])
    score = case.scores[case.of(headline.find).name][evaluated]
    scored = ~np.isnan(score)
    ranks = (rankdata(np.where(scored, score, -np.inf)) - 1) / max(len(score) - 1, 1)
    inside = member & scored
    outside = scored & ~np.isin(persons, persons[member])
    mean_ranks = means_by_label(persons[inside], ranks[inside], len(names))
    p_values = conformal_p_values(mean_ranks, means_by_label(persons[outside], ranks[outside], len(names)))
    model_scores = case.of(headline.stand_in_scores)
    model_member = None
    if case.stand_ins is not None:
        model_member = take_columns(case.stand_ins.member, evaluated)
    exposed = []
    for rows in rows_by_label(np.where(inside, persons, -1)):
        code = persons[rows[0]]
        p_among_models = models = None
        if model_scores is not None and model_member is not None:
            target_scores = score[rows].astype(model_scores.dtype)
            p_among_models, models = p_value_of_person(target_scores, model_scores[:, rows], model_member[:, rows])
        exposed.append(
            ExposedPerson(
                person=str(names[code]),
                records=len(rows),
                mean_rank=float(mean_ranks[code]),
                p_value=float(p_values[code]),
                p_among_models=p_among_models,
                models=models,
            )
        )
    return tuple(sorted(filter(_has_small_p_value, exposed), key=_sort_key)[:MAX_PERSONS])


def p_value_of_person(target_scores: np.ndarray, scores: np.ndarray, member: np.ndarray) -> tuple[float | None, int]:
    """Test a person's records together among models that trained on none of them; also return the number of models.

    The models are ranked on each record, the target among them; the mean of the target's ranks is compared with that of each
    other model. If the target trained on none of the records either, it is exchangeable with them, and P(p <= a) <= a
    for any number of records and any dependence between them.

    Args:
        target_scores: (records,) scores of a person's records under the target.
        scores: (models, records) scores under other models.
        member: (models, records) true for records that these models trained on.
    """
    outside = ~member.any(axis=1) & ~np.isnan(scores).any(axis=1)
    models = int(outside.sum())
    if not models:
        return None, 0
    ranks = rankdata(np.vstack([target_scores, scores[outside]]), axis=0)
    sums = ranks.sum(axis=1)  # sums of half-integers are exact
    return (1 + int((sums[1:] >= sums[0]).sum())) / (1 + models), models


def _has_small_p_value(person: ExposedPerson) -> bool:
    """Return whether the p-value among models is small; with too few models, use the p-value among persons."""
    if person.p_among_models is None or person.models is None:
        return person.p_value <= MAX_P_VALUE
    if (1 + person.models) * MAX_P_VALUE >= 1:
        return person.p_among_models <= MAX_P_VALUE
    return person.p_among_models * (1 + person.models) <= 1 and person.p_value <= MAX_P_VALUE


def _sort_key(person: ExposedPerson) -> tuple[float, float, NaturalKey]:
    p_among_models = 1.0 if person.p_among_models is None else person.p_among_models
    return p_among_models, -person.mean_rank, natural_key(person.person)
