"""Exposed persons, where several records may belong to one person.

A person with many records has more chances to be an outlier by one of them. All records of a person are therefore judged
together by their mean rank, which no single record decides, and that mean is compared with means of the same number of records.
No person without a small p-value is on the list.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from guestlist.arrays.columns import take_columns
from guestlist.arrays.samples import rows_by_label
from guestlist.case import Case
from guestlist.evaluate import conformal_p_values
from guestlist.findings import headline, training_set
from guestlist.findings.places import MAX_P_VALUE, NaturalKey, natural_key

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


def find(case: Case) -> tuple[ExposedPerson, ...] | None:
    """Return the most exposed persons; None without person identifiers."""
    persons = case.persons
    if persons is None:
        return None
    if case.of(training_set.doubted):  # these records may not be the training set: no person is exposed by this model
        return ()
    evaluated = case.truth.evaluated
    member = case.truth.member_evaluated
    names = np.unique(case.records["person"].to_numpy()[evaluated])
    score = case.scores[case.of(headline.find).name][evaluated]
    scored = ~np.isnan(score)
    ranks = mid_ranks(np.where(scored, score, -np.inf)) / max(len(score) - 1, 1)
    inside = member & scored
    outside = scored & ~np.isin(persons, persons[member])
    mean_ranks = _means(ranks, persons, inside)
    p_values = conformal_p_values(mean_ranks, _means(ranks, persons, outside))
    model_scores = case.of(headline.stand_in_scores)
    model_member = None if case.mocks is None else take_columns(case.mocks.member, evaluated)
    exposed = []
    for rows in rows_by_label(np.where(inside, persons, -1)):
        code = persons[rows[0]]
        p_among_models = models = None
        if model_scores is not None and model_member is not None:
            own_scores = score[rows].astype(model_scores.dtype)
            p_among_models, models = p_value_of_person(own_scores, model_scores[:, rows], model_member[:, rows])
        person = ExposedPerson(
            person=str(names[code]),
            records=len(rows),
            mean_rank=float(mean_ranks[code]),
            p_value=float(p_values[code]),
            p_among_models=p_among_models,
            models=models,
        )
        exposed.append(person)
    return tuple(sorted(filter(_has_small_p_value, exposed), key=_sort_key)[:MAX_PERSONS])


def p_value_of_person(own: np.ndarray, scores: np.ndarray, member: np.ndarray) -> tuple[float | None, int]:
    """Test a person's records together among models that trained on none of them; also return the number of models.

    The models are ranked on each record, the target among them; the mean of the target's ranks is compared with that of each
    other model. If the target trained on none of the records either, it is one more of them, and P(p <= a) <= a however many
    records there are and however they resemble each other.

    Args:
        own: (records,) scores of a person's records under the target.
        scores: (models, records) scores under other models.
        member: (models, records) true for records that these models trained on.
    """
    outside = ~member.any(axis=1) & ~np.isnan(scores).any(axis=1)
    models = int(outside.sum())
    if not models:
        return None, 0
    stacked = np.vstack([own, scores[outside]])
    sums = np.column_stack([mid_ranks(record) for record in stacked.T]).sum(axis=1)  # halves add up exactly
    as_high = int((sums[1:] >= sums[0]).sum())
    return (1 + as_high) / (1 + models), models


def mid_ranks(values: np.ndarray) -> np.ndarray:
    """Rank of each value among all, from 0; equal values share the mean of theirs."""
    ordered = np.sort(values)
    return (np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right") - 1) / 2


def _means(ranks: np.ndarray, persons: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """(persons,) mean rank of the records that ``mask`` selects; NaN for persons without any."""
    count = np.bincount(persons[mask], minlength=persons.max() + 1)
    with np.errstate(invalid="ignore"):  # 0 / 0 is NaN: a person without such records
        return np.bincount(persons[mask], ranks[mask], minlength=persons.max() + 1) / count


def _has_small_p_value(person: ExposedPerson) -> bool:
    """Return whether the p-value among models is small; with too few models, that among persons decides."""
    if person.p_among_models is None or person.models is None:
        return person.p_value <= MAX_P_VALUE
    if (1 + person.models) * MAX_P_VALUE >= 1:
        return person.p_among_models <= MAX_P_VALUE
    return person.p_among_models * (1 + person.models) <= 1 and person.p_value <= MAX_P_VALUE


def _sort_key(person: ExposedPerson) -> tuple[float, float, NaturalKey]:
    p_among_models = 1.0 if person.p_among_models is None else person.p_among_models
    return p_among_models, -person.mean_rank, natural_key(person.person)
