"""The adversary's view of what models say about records: of one target, or of every model in turn as the target.

Two matrices carry an audit, both (models, records): the signals and the membership. An attack never gets
the target's row of the second one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from guestlist.arrays.columns import columns, in_a_row
from guestlist.arrays.moments import Moments, Sides, moments_of_others, moments_of_sides
from guestlist.arrays.samples import enough_of_each, rows_of_each
from guestlist.arrays.shares import share_above, share_above_of_others
from guestlist.arrays.standings import Standing, standing, standing_of_others
from guestlist.arrays.thresholds import Thresholds, class_thresholds, of_other_records
from guestlist.errors import NotCollectedError
from guestlist.views.evidence import NO_EVIDENCE, Evidence, ModelsView
from guestlist.views.lazily import freeze, lazy_columns, lazy_matrices, lazy_rows, read_only
from guestlist.views.view import T

# Values of references about each class, and about all records: what is learnt from so many, more of them would hardly change.
ENOUGH = 2**20


@dataclass(frozen=True)
class Signals:
    """The adversary's view of one target: its signals, the references' signals, and who *they* trained on.

    Nobody can change the arrays, since all attacks share them; what is computed from references is computed once.

    Args:
        values: name to (1 + references, records); row 0 is the target. NaN: that model was not asked. Single precision
            where there are very many.
        reference_member: (references, records), true where a reference trained on a record.
        labels: (records,) true class of each record, as an index.
        evidence: what else was collected about the target.
        population: (records,) true for records that the target was not trained on, and that nobody asks about.
        answers: (records, classes) logarithms of the probabilities that the target answers with; None: not known.
    """

    values: Mapping[str, np.ndarray]
    reference_member: np.ndarray
    labels: np.ndarray
    evidence: Evidence = NO_EVIDENCE
    population: np.ndarray | None = None
    answers: np.ndarray | None = None

    def __post_init__(self) -> None:
        references, records = self.reference_member.shape
        if len(self.labels) != records:
            raise ValueError(f"Expected {records} labels, one per record, found {len(self.labels)}.")
        if isinstance(self.values, dict):  # what is made lazily was checked where it came from
            for name, values in self.values.items():
                if values.shape != (1 + references, records):
                    shape = (1 + references, records)
                    raise ValueError(f"Expected signal {name!r} shaped {shape}, found {values.shape}.")
        _lock(self, "values", "reference_member", "labels", "population", "answers")

    @property
    def references(self) -> int:
        return len(self.reference_member)

    def target(self, name: str) -> np.ndarray:
        """(records,) what the target says."""
        # A copy: not tied to the references'.
        return self.once(("target", name), lambda: _lookup(self.values, name)[0].astype(np.float64))

    def reference(self, name: str, records: np.ndarray | None = None) -> np.ndarray:
        """(references, records) what the references say, about all records or those at some places."""
        if records is None:
            return _lookup(self._source, name)[1:]
        return read_only(lazy_columns(self._source, _known(self._source, name), records))[1:]

    def inside(self, name: str) -> Moments:
        """Moments, per record, of the references that trained on it."""
        return self._of_references(name).inside

    def outside(self, name: str) -> Moments:
        """Moments, per record, of the references that did not train on it."""
        return self._of_references(name).outside

    def share_above(self, name: str) -> np.ndarray:
        """(records,) share of OUT references with a larger value than the target's, equals half; NaN: there is none."""
        values = self.reference(name)
        return share_above(self.target(name), values, ~self.reference_member & ~np.isnan(values))

    def class_ecdf(self, name: str) -> Standing:
        """Where the target's value stands among those of references on non-members of the record's class.

        On all of them, or on those of ``estimation_rows``.
        """

        def make() -> Standing:
            said, member = self._said(name, self.estimation_rows)
            return standing(self.target(name), said, member, self.labels, self.estimation_rows)

        return self.once(("standing", name), make)

    def class_thresholds(self, name: str, sign: int) -> np.ndarray:
        """(records,) the threshold that tells references' members among the records of a class best; NaN: of one kind."""
        rows = self.estimation_rows
        found = self._thresholds(name, sign, "classes", rows).of_class
        return found if rows is None else of_other_records(found, self.labels[rows], self.labels)

    def best_threshold(self, name: str, sign: int) -> np.ndarray:
        """(1,) the threshold that tells references' members among all records best; NaN where they are of one kind."""
        rows = None
        if (
            self.estimation_rows is not None
        ):  # an even sample: of the records that teach classes, rare ones are too many
            rows = enough_of_each(np.zeros(len(self.labels), dtype=np.int64), self._answers_about, ENOUGH)
        return self._thresholds(name, sign, "everybody", rows).overall

    @cached_property
    def estimation_rows(self) -> np.ndarray | None:
        """The records that teach what is common to a class: a threshold, how scores are spread. None: all.

        Of very many records some teach it as well as all. Who was a member plays no part in which.
        """
        if self.reference_member.size <= ENOUGH or (self.labels < 0).any():
            return None
        rows = enough_of_each(self.labels, self._answers_about, ENOUGH)
        if rows is None:
            return None
        said, member = self._said(self._kept, rows)
        known = ~np.isnan(said)
        for of_class in rows_of_each(self.labels[rows]):  # what is so rare must not be missed
            inside = member[:, of_class][known[:, of_class]]
            if inside.all() or not inside.any():
                return None
        return rows

    @property
    def n_estimation_rows(self) -> int | None:
        """How many records taught what is common to a class; None where it was all, or nobody asked."""
        rows = vars(self).get("estimation_rows")
        return None if rows is None else len(rows)

    @property
    def _kept(self) -> str:
        """A signal that tells who was asked, and that is likely to be at hand."""
        return next((name for name in ("margin", "loss") if name in self._source), next(iter(self._source)))

    @cached_property
    def _answers_about(self) -> np.ndarray:
        """(records,) how many references say something about each."""
        return sum(~np.isnan(row) for row in self.reference(self._kept)) + np.zeros(len(self.labels), dtype=np.int64)

    def _said(self, name: str, records: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """(references, chosen) what the references say about some of the records, or all, and who they trained on."""
        member = self.reference_member
        return self.reference(name, records), member if records is None else columns(member, records)

    def _thresholds(self, name: str, sign: int, of: str, records: np.ndarray | None) -> Thresholds:
        """From what is said of some records, by whom they stand for, or of all: classes and everybody then ask for the same."""

        def make() -> Thresholds:
            labels = self.labels if records is None else self.labels[records]
            return class_thresholds(*self._said(name, records), labels, sign)

        return self.once(("thresholds", name, sign, "all" if records is None else of), make)

    def take(self, records: np.ndarray) -> Signals:
        """The same view of some of the records, or of all of them in another order."""
        return Signals(
            lazy_matrices(self.values, lambda name: lazy_columns(self.values, name, records)),
            columns(self.reference_member, records),
            self.labels[records],
            self.evidence.take(records),
            None if self.population is None else self.population[records],
            None if self.answers is None else self.answers[records],
        )

    def among(self, models: ModelsView) -> Signals:
        """The same target among other models than its references."""
        values = lazy_matrices(models.values, lambda name: np.vstack([self.target(name), models.values[name]]))
        return replace(self, values=values, reference_member=models.member)

    def with_target(self, said: Mapping[str, np.ndarray], evidence: Evidence | None = None) -> Signals:
        """The same references with a target that says something else: name to (records,), for some of the signals.

        Args:
            evidence: about the other target, if there is another.
        """

        def changed(name: str) -> np.ndarray:
            return np.vstack([said[name], self.reference(name)]) if name in said else self.values[name]

        other = replace(self, values=lazy_matrices(self.values, changed), evidence=evidence or self.evidence)
        other._made.update({("target", name): read_only(row) for name, row in said.items()})
        # These have not changed, and need not be copied.
        vars(other).update(_references=self._references, _source=self._source, mocks=self.mocks)
        return other

    @cached_property
    def mocks(self) -> Rotation:
        """The references alone, each in turn as a target of the others."""
        values, evidence = lazy_matrices(self.values, self.reference, 0), self.evidence.for_mocks()
        return Rotation(values, self.reference_member, self.labels, evidence=lambda k: evidence)

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What ``make`` makes, made once for this view: several attacks may need it."""
        return _once(self._made, key, make)

    @cached_property
    def _made(self) -> dict[Hashable, Any]:
        return {}

    @cached_property
    def _source(self) -> Mapping[str, np.ndarray]:
        """Where the references' signals are."""
        return self.values

    @cached_property
    def _references(self) -> dict[str, Sides]:
        return {}

    def _of_references(self, name: str) -> Sides:
        if name not in self._references:
            found = moments_of_sides(self.reference(name), self.reference_member)
            self._references[name] = Sides(*map(freeze, found))
        return self._references[name]


def _no_evidence(_model: int) -> Evidence:
    return NO_EVIDENCE


def _no_answers(_model: int) -> np.ndarray | None:
    return None


@dataclass(frozen=True)
class Rotation:
    """Every model in turn as the target, with all the others as its references.

    A :class:`View` as :class:`Signals` is, with arrays shaped (models, records), so that an attack written with what
    they share scores all targets at once. What is computed from references leaves each target's own row out.

    Args:
        values: name to (models, records). NaN: that model was not asked.
        member: (models, records), true where a model trained on a record.
        labels: (records,) true class of each record, as an index.
        together: (models,) models with equal labels are never references of each other, such as the two of a
            complementary pair, where one model's members are the other's non-members. By default each model
            stands alone.
        evidence: model to what else was collected about it.
        not_evaluated: (records,) true for records that nobody asks about; models may have trained on them.
        answers: model to (records, classes) logarithms of the probabilities that it answers with, or None.
    """

    values: Mapping[str, np.ndarray]
    member: np.ndarray
    labels: np.ndarray
    together: np.ndarray | None = None
    evidence: Callable[[int], Evidence] = _no_evidence
    not_evaluated: np.ndarray | None = None
    answers: Callable[[int], np.ndarray | None] = _no_answers

    def __post_init__(self) -> None:
        _lock(self, "values", "member", "labels", "together", "not_evaluated")

    @property
    def population(self) -> np.ndarray | None:
        """(models, records) true for records that a model did not train on and that nobody asks about."""
        return None if self.not_evaluated is None else self.not_evaluated & ~self.member

    def target(self, name: str) -> np.ndarray:
        """(models, records) what every model says."""
        return _lookup(self.values, name)

    def inside(self, name: str) -> Moments:
        """Moments, per target and record, of the other models that trained on it."""
        return self._of_others(name, True)

    def outside(self, name: str) -> Moments:
        """Moments, per target and record, of the other models that did not train on it."""
        return self._of_others(name, False)

    def share_above(self, name: str) -> np.ndarray:
        """(models, records) share of other OUT models with a larger value than the target's, equals half."""
        values = self.target(name)
        return share_above_of_others(values, ~self.member & ~np.isnan(values), self.blocks)

    def class_ecdf(self, name: str) -> Standing:
        """Where each target's value stands among those of others on all their non-members of the record's class."""
        make = lambda: standing_of_others(self.target(name), self.member, self.labels, self.blocks)  # noqa: E731
        return self.once(("standing", name), make)

    def class_thresholds(self, name: str, sign: int) -> np.ndarray:
        """(models, records) the threshold that tells the other models' members among the records of a class best."""
        found, values = np.full(self.member.shape, np.nan), self.target(name)
        for of_class in rows_of_each(self.labels):
            found[:, of_class] = self._best_among(values, sign, of_class)
        return found

    def best_threshold(self, name: str, sign: int) -> np.ndarray:
        """(models, 1) the threshold that tells the other models' members among all records best."""
        return self._best_among(self.target(name), sign, np.arange(len(self.labels)))

    def _best_among(self, said: np.ndarray, sign: int, records: np.ndarray) -> np.ndarray:
        """(models, 1) the threshold that tells the other models' members among these records best."""
        from guestlist.arrays.thresholds_of_others import thresholds_of_others  # imports numba

        labels, block = np.unique(self.blocks, return_inverse=True)
        values = columns(said, records)
        asked = ~np.isnan(values)
        blocks = np.broadcast_to(block[:, None], values.shape)
        found = thresholds_of_others(
            sign * values[asked], columns(self.member, records)[asked], blocks[asked], len(labels)
        )
        return found[block][:, None]

    def facing(self, k: int) -> Signals:
        """The adversary's view with model ``k`` as the target; holds no membership of it in records asked about."""
        others = self.others(k)
        values = lazy_rows(self.values, np.r_[k, others])
        population = None if self.not_evaluated is None else self.not_evaluated & ~self.member[k]
        member = self.member[in_a_row(others)]
        return Signals(values, member, self.labels, self.evidence(k), population, self.answers(k))

    def others(self, k: int) -> np.ndarray:
        """The models that are references of model ``k``."""
        return np.flatnonzero(self.blocks != self.blocks[k])

    def take(self, models: np.ndarray) -> Rotation:
        """The same view with some of the models only, or with all of them in another order."""
        chosen = np.arange(len(self.member))[models]
        return replace(
            self,
            values=lazy_rows(self.values, chosen),
            member=self.member[in_a_row(chosen)],
            together=self.blocks[models],
            evidence=lambda k: self.evidence(int(chosen[k])),
            answers=lambda k: self.answers(int(chosen[k])),
        )

    def of_records(self, records: np.ndarray) -> Rotation:
        """The same view of some of the records only."""

        def answers(k: int) -> np.ndarray | None:
            found = self.answers(k)
            return None if found is None else found[records]

        return replace(
            self,
            values=lazy_matrices(
                self.values, lambda name: lazy_columns(self.values, name, records).astype(np.float64, copy=False)
            ),
            member=columns(self.member, records),
            labels=self.labels[records],
            evidence=lambda k: self.evidence(k).take(records),
            not_evaluated=None if self.not_evaluated is None else self.not_evaluated[records],
            answers=answers,
        )

    @property
    def blocks(self) -> np.ndarray:
        """(models,) labels of the models that are left out together."""
        return np.arange(len(self.member)) if self.together is None else self.together

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What ``make`` makes, made once for this view: several attacks may need it."""
        return _once(self._made, key, make)

    @cached_property
    def _made(self) -> dict[Hashable, Any]:
        return {}

    def _of_others(self, name: str, inside: bool) -> Moments:
        def make() -> Moments:
            values = self.target(name)
            return moments_of_others(values, (self.member == inside) & ~np.isnan(values), self.together)

        return self.once((name, inside), make)


def _lock(view: Signals | Rotation, *names: str) -> None:
    """Make the arrays of a view read-only: an attack that works in place must not change what the next one sees."""
    for name in names:
        object.__setattr__(view, name, freeze(getattr(view, name)))


def _once(made: dict[Hashable, Any], key: Hashable, make: Callable[[], T]) -> T:
    if key not in made:
        made[key] = freeze(make())
    return made[key]


def _lookup(values: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    return read_only(values[_known(values, name)])


def _known(values: Mapping[str, np.ndarray], name: str) -> str:
    """The name of a signal that is there; an error where it is not."""
    if name not in values:
        raise NotCollectedError(
            f"This attack reads {name!r}, but the store holds {sorted(values)}. "
            "Run the audit again in a new folder to collect others."
        )
    return name
