"""Which persons are exposed, where several records may belong to one.

A person with many records has more chances to stand out by one of them. So all of a person's records are judged together: by
their mean place, which no single lucky record decides, and that mean is compared with means of as many records. Nobody is on
the list without a small p-value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from guestlist.arrays.columns import take_columns
from guestlist.arrays.samples import rows_by_label
from guestlist.case import Case
from guestlist.evaluate import conformal_p_values
from guestlist.findings import headline, training_set
from guestlist.findings.places import MAX_P_VALUE, Name, natural_key

MOST = 20


@dataclass(frozen=True)
class ExposedPerson:
    """A person whose member records stand out under the headline attack.

    ``place`` is the mean place of these records among all, from 0 (lowest score) to 1. ``p_value``: share of persons without a
    member record whose mean place is as high. ``p_among_models``: share of ``models`` that trained on none of these records, the
    target counted in, under which they rank as high; None where there are no such models.
    """

    person: str
    records: int
    mean_rank: float
    p_value: float
    p_among_models: float | None = None
    models: int | None = None


def find(case: Case) -> tuple[ExposedPerson, ...] | None:
    """The persons who stand out most; None where each record stands alone."""
    persons = case.persons
    if persons is None:
        return None
    if case.of(training_set.doubted):  # these records may not be the training set: no person is exposed by this model
        return ()
    asked, member = case.truth.evaluated, case.truth.member_evaluated
    names = np.unique(case.records["person"].to_numpy()[asked])
    score = case.scores[case.of(headline.find).name][asked]
    scored = ~np.isnan(score)
    places = mid_ranks(np.where(scored, score, -np.inf)) / max(len(score) - 1, 1)
    inside, outside = member & scored, scored & ~np.isin(persons, persons[member])
    theirs = _means(places, persons, inside)
    p_values = conformal_p_values(theirs, _means(places, persons, outside))
    scores, found = case.of(headline.stand_in_scores), []
    others = None if case.mocks is None else take_columns(case.mocks.member, asked)
    for own in rows_by_label(np.where(inside, persons, -1)):
        code, among, models = persons[own[0]], None, None
        if scores is not None and others is not None:
            among, models = p_value_of_person(score[own].astype(scores.dtype), scores[:, own], others[:, own])
        found.append(
            ExposedPerson(str(names[code]), len(own), float(theirs[code]), float(p_values[code]), among, models)
        )
    return tuple(sorted(filter(_small, found), key=_first)[:MOST])


def p_value_of_person(own: np.ndarray, scores: np.ndarray, member: np.ndarray) -> tuple[float | None, int]:
    """How unusual a person's records are together among models that trained on none of them, and how many these are.

    The models are ranked on each record, the target among them; the mean of the target's ranks is compared with that of each
    other model. If the target trained on none of the records either, it is one more of them, and P(p <= a) <= a however many
    records there are and however they resemble each other.

    Args:
        own: (records,) scores of a person's records under the target.
        scores, member: (models, records) of other models.
    """
    outside = ~member.any(axis=1) & ~np.isnan(scores).any(axis=1)
    models = int(outside.sum())
    if not models:
        return None, 0
    every = np.vstack([own, scores[outside]])
    sums = np.column_stack([mid_ranks(record) for record in every.T]).sum(axis=1)  # halves add up exactly
    as_high = int((sums[1:] >= sums[0]).sum())
    return (1 + as_high) / (1 + models), models


def mid_ranks(values: np.ndarray) -> np.ndarray:
    """Rank of each value among all, from 0; equal values share the mean of theirs."""
    ordered = np.sort(values)
    return (np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right") - 1) / 2


def _means(places: np.ndarray, persons: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """(persons,) mean place of the records that ``mask`` selects; NaN for persons without any."""
    count = np.bincount(persons[mask], minlength=persons.max() + 1)
    with np.errstate(invalid="ignore"):  # 0 / 0 is NaN: nobody's records
        return np.bincount(persons[mask], places[mask], minlength=persons.max() + 1) / count


def _small(person: ExposedPerson) -> bool:
    """Whether the p-value is small: that among models, and where they are too few for a small one, that among persons."""
    if person.p_among_models is None or person.models is None:
        return person.p_value <= MAX_P_VALUE
    if (1 + person.models) * MAX_P_VALUE >= 1:
        return person.p_among_models <= MAX_P_VALUE
    return person.p_among_models * (1 + person.models) <= 1 and person.p_value <= MAX_P_VALUE


def _first(person: ExposedPerson) -> tuple[float, float, Name]:
    among = 1.0 if person.p_among_models is None else person.p_among_models
    return among, -person.mean_rank, natural_key(person.person)
