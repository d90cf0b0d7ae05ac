"""The adversary's view of model outputs: of one target, or of every model in turn as the target."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from guestlist._kernels import (
    ClassEcdf,
    InOutMoments,
    Moments,
    as_slice,
    class_ecdf,
    class_ecdf_of_others,
    class_thresholds,
    in_out_moments,
    leave_block_out_moments,
    leave_block_out_share_above,
    leave_block_out_thresholds,
    lookup_thresholds,
    optional_take,
    overall_threshold,
    rows_by_label,
    share_above,
    subsample_by_label,
    take_columns,
)
from guestlist._util import freeze, freeze_fields, lazy_columns, lazy_matrices, lazy_rows, read_only
from guestlist._views.evidence import NO_EVIDENCE, Evidence, ModelsView
from guestlist.errors import NotCollectedError

T = TypeVar("T")


class _Cached:
    """A view that computes a result once."""

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the result of ``make``, cached for this view: several attacks may need it."""
        if key not in self._made:
            self._made[key] = freeze(make())
        return self._made[key]

    @cached_property
    def _made(self) -> dict[Hashable, Any]:
        return {}


# Number of references' values, per class and over all records, beyond which estimates hardly change.
ENOUGH = 2**20


@dataclass(frozen=True)
class Signals(_Cached):
    """The adversary's view of one target: its signals, and the signals and training sets of the references.

    The arrays are read-only, since all attacks share them. Statistics of the references are computed once.

    Attributes:
        values: Name to (1 + references, records); row 0 is the target. NaN: the model was not queried. Single precision
            for very many values.
        reference_member: (references, records), true where a reference trained on a record.
        labels: (records,) true class of each record, as an index.
        evidence: Evidence about the target beyond its signals.
        population: (records,) true for records that the target did not train on and that are not evaluated.
        outputs: (records, classes) logarithms of the target's probabilities; None if they are not known.

    Raises:
        ValueError: If the arrays do not fit together.

    Examples:
        >>> signals, member = gl.testing.target_of(gl.testing.gaussian_simulation(1.0, records=50, models=5))
        >>> signals.target("loss").shape, signals.reference("loss").shape
        ((50,), (4, 50))
    """

    values: Mapping[str, np.ndarray]
    reference_member: np.ndarray
    labels: np.ndarray
    evidence: Evidence = NO_EVIDENCE
    population: np.ndarray | None = None
    outputs: np.ndarray | None = None

    def __post_init__(self) -> None:
        references, records = self.reference_member.shape
        if len(self.labels) != records:
            raise ValueError(f"Expected {records} labels, one per record, found {len(self.labels)}.")
        if isinstance(self.values, dict):  # Lazy values were checked at their source.
            shape = (1 + references, records)
            for name, values in self.values.items():
                if values.shape != shape:
                    raise ValueError(f"Expected signal {name!r} shaped {shape}, found {values.shape}.")
        freeze_fields(self, "values", "reference_member", "labels", "population", "outputs")

    @property
    def references(self) -> int:
        """Number of references."""
        return len(self.reference_member)

    def target(self, name: str) -> np.ndarray:
        """Return the (records,) values of a signal of the target."""
        # A copy, so that the references' values can be freed.
        return self.once(("target", name), lambda: _lookup(self.values, name)[0].astype(np.float64))

    def reference(self, name: str, records: np.ndarray | None = None) -> np.ndarray:
        """Return the (references, records) values of a signal of the references, for all records or some positions."""
        if records is None:
            return _lookup(self._source, name)[1:]
        return read_only(lazy_columns(self._source, _checked_name(self._source, name), records))[1:]

    def inside(self, name: str) -> Moments:
        """Return moments, per record, of the references that trained on it (IN models)."""
        return self._moments(name).inside

    def outside(self, name: str) -> Moments:
        """Return moments, per record, of the references that did not train on it (OUT models)."""
        return self._moments(name).outside

    def share_above(self, name: str) -> np.ndarray:
        """Return the (records,) share of OUT models with a larger value than the target's; equal values count 0.5.

        NaN: the record has no OUT model.
        """
        values = self.reference(name)
        return share_above(self.target(name), values, ~self.reference_member & ~np.isnan(values))

    def class_ecdf(self, name: str) -> ClassEcdf:
        """Rank the target's value among the references' values on non-members of the record's class.

        All non-members count, or those in ``estimation_rows``.
        """

        def make() -> ClassEcdf:
            values, member = self._reference_values(name, self.estimation_rows)
            return class_ecdf(self.target(name), values, member, self.labels, self.estimation_rows)

        return self.once(("class_ecdf", name), make)

    def class_thresholds(self, name: str, sign: int) -> np.ndarray:
        """Return the (records,) threshold that best separates the references' members of each record's class.

        NaN: all are members, or none is.
        """

        def make() -> np.ndarray:
            rows = self.estimation_rows
            labels = self.labels if rows is None else self.labels[rows]
            thresholds = class_thresholds(*self._reference_values(name, rows), labels, sign)
            if rows is None:
                return thresholds
            return lookup_thresholds(thresholds, labels, self.labels)

        return self.once(("class_thresholds", name, sign), make)

    def best_threshold(self, name: str, sign: int) -> np.ndarray:
        """Return the (1,) threshold that best separates the references' members among all records.

        NaN: all are members, or none is.
        """

        def make() -> np.ndarray:
            rows = None
            # A simple random sample: in ``estimation_rows``, rare classes are too many.
            if self.estimation_rows is not None:
                rows = subsample_by_label(np.zeros(len(self.labels), dtype=np.int64), self._reference_counts, ENOUGH)
            return np.array([overall_threshold(*self._reference_values(name, rows), sign)])

        return self.once(("best_threshold", name, sign), make)

    @cached_property
    def estimation_rows(self) -> np.ndarray | None:
        """Records that class statistics, such as thresholds, are estimated from; None: all.

        A sample of very many records is enough. Membership plays no part in its choice.
        """
        if self.reference_member.size <= ENOUGH or (self.labels < 0).any():
            return None
        rows = subsample_by_label(self.labels, self._reference_counts, ENOUGH)
        if rows is None:
            return None
        values, member = self._reference_values(self._common_signal, rows)
        queried = ~np.isnan(values)
        for of_class in rows_by_label(self.labels[rows]):  # A sample must not miss the few members of a rare class.
            inside = member[:, of_class][queried[:, of_class]]
            if inside.all() or not inside.any():
                return None
        return rows

    @property
    def n_estimation_rows(self) -> int | None:
        """Number of records that class statistics were estimated from; None for all, or if none was computed."""
        rows = vars(self).get("estimation_rows")
        if rows is None:
            return None
        return len(rows)

    @property
    def _common_signal(self) -> str:
        """Signal that is probably in memory, to check which records were queried."""
        return next((name for name in ("margin", "loss") if name in self._source), next(iter(self._source)))

    @cached_property
    def _reference_counts(self) -> np.ndarray:
        """(records,) number of references that were queried for each record."""
        counts = np.zeros(len(self.labels), dtype=np.int64)
        for row in self.reference(self._common_signal):
            counts += ~np.isnan(row)
        return counts

    def _reference_values(self, name: str, records: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Return (references, chosen) values and membership for some of the records, or all."""
        if records is None:
            member = self.reference_member
        else:
            member = take_columns(self.reference_member, records)
        return self.reference(name, records), member

    def take(self, records: np.ndarray) -> "Signals":
        """Select records."""
        return Signals(
            values=lazy_matrices(self.values, lambda name: lazy_columns(self.values, name, records)),
            reference_member=take_columns(self.reference_member, records),
            labels=self.labels[records],
            evidence=self.evidence.take(records),
            population=optional_take(self.population, records),
            outputs=optional_take(self.outputs, records),
        )

    def with_references(self, models: ModelsView) -> "Signals":
        """Replace the references."""
        values = lazy_matrices(models.values, lambda name: np.vstack([self.target(name), models.values[name]]))
        return replace(self, values=values, reference_member=models.member)

    def with_target(self, signals: Mapping[str, np.ndarray], evidence: Evidence | None = None) -> "Signals":
        """Replace some signals of the target.

        Args:
            signals: Name to (records,) values of the new target.
            evidence: Evidence about the new target; by default unchanged.
        """

        def make(name: str) -> np.ndarray:
            if name in signals:
                return np.vstack([signals[name], self.reference(name)])
            return self.values[name]

        other = replace(self, values=lazy_matrices(self.values, make), evidence=evidence or self.evidence)
        other._made.update({("target", name): read_only(row) for name, row in signals.items()})
        # These are unchanged, and need not be copied.
        vars(other).update(_references=self._references, _source=self._source, stand_ins=self.stand_ins)
        return other

    @cached_property
    def stand_ins(self) -> "Rotation":
        """The references only, each in turn as a stand-in target with the others as its references."""
        values = lazy_matrices(self.values, self.reference, 0)
        evidence = self.evidence.for_stand_ins()
        return Rotation(values, self.reference_member, self.labels, evidence=lambda k: evidence)

    @cached_property
    def _source(self) -> Mapping[str, np.ndarray]:
        """Values that the references' signals are read from."""
        return self.values

    @cached_property
    def _references(self) -> dict[str, InOutMoments]:
        return {}

    def _moments(self, name: str) -> InOutMoments:
        if name not in self._references:
            moments = in_out_moments(self.reference(name), self.reference_member)
            self._references[name] = InOutMoments(*map(freeze, moments))
        return self._references[name]


def _no_evidence(_model: int) -> Evidence:
    return NO_EVIDENCE


def _no_outputs(_model: int) -> np.ndarray | None:
    return None


@dataclass(frozen=True)
class Rotation(_Cached):
    """Every model in turn as the target, with all the others as its references.

    A ``View`` as :class:`Signals` is, with arrays shaped (models, records), so that an attack that uses only the
    protocol scores all targets at once. Statistics of references exclude each target's own row.

    Attributes:
        values: Name to (models, records). NaN: the model was not queried.
        member: (models, records), true where a model trained on a record.
        labels: (records,) true class of each record, as an index.
        together: (models,) models with equal labels are never references of each other, such as the two of a
            complementary pair, where one model's members are the other's non-members. By default all models are
            references of each other.
        evidence: Function from a model to the evidence about it.
        not_evaluated: (records,) true for records that are not evaluated; models may have trained on them.
        outputs: Function from a model to the (records, classes) logarithms of its probabilities, or None.

    Examples:
        >>> rotation = gl.testing.gaussian_simulation(1.0, records=50, models=5)
        >>> rotation.target("loss").shape, rotation.facing(0).references
        ((5, 50), 4)
    """

    values: Mapping[str, np.ndarray]
    member: np.ndarray
    labels: np.ndarray
    together: np.ndarray | None = None
    evidence: Callable[[int], Evidence] = _no_evidence
    not_evaluated: np.ndarray | None = None
    outputs: Callable[[int], np.ndarray | None] = _no_outputs

    def __post_init__(self) -> None:
        freeze_fields(self, "values", "member", "labels", "together", "not_evaluated")

    @property
    def population(self) -> np.ndarray | None:
        """(models, records) true for records that a model did not train on and that are not evaluated."""
        if self.not_evaluated is None:
            return None
        return self.not_evaluated & ~self.member

    def target(self, name: str) -> np.ndarray:
        """Return the (models, records) values of a signal."""
        return _lookup(self.values, name)

    def inside(self, name: str) -> Moments:
        """Return moments, per target and record, of the other models that trained on it."""
        return self._moments_of_others(name, True)

    def outside(self, name: str) -> Moments:
        """Return moments, per target and record, of the other models that did not train on it."""
        return self._moments_of_others(name, False)

    def share_above(self, name: str) -> np.ndarray:
        """Return the (models, records) share of other OUT models with a larger value; equal values count half."""
        values = self.target(name)
        return leave_block_out_share_above(values, ~self.member & ~np.isnan(values), self.blocks)

    def class_ecdf(self, name: str) -> ClassEcdf:
        """Rank each target's value among the other models' values on their non-members of the record's class."""
        make = lambda: class_ecdf_of_others(self.target(name), self.member, self.labels, self.blocks)  # noqa: E731
        return self.once(("class_ecdf", name), make)

    def class_thresholds(self, name: str, sign: int) -> np.ndarray:
        """Return the (models, records) threshold that best separates the other models' members of a class."""
        thresholds = np.full(self.member.shape, np.nan)
        values = self.target(name)
        for of_class in rows_by_label(self.labels):
            thresholds[:, of_class] = self._best_threshold(values, sign, of_class)
        return thresholds

    def best_threshold(self, name: str, sign: int) -> np.ndarray:
        """Return the (models, 1) threshold that best separates the other models' members among all records."""
        return self._best_threshold(self.target(name), sign, np.arange(len(self.labels)))

    def _best_threshold(self, values: np.ndarray, sign: int, records: np.ndarray) -> np.ndarray:
        """Return the (models, 1) threshold that best separates the other models' members among these records."""
        labels, block = np.unique(self.blocks, return_inverse=True)
        values = take_columns(values, records)
        queried = ~np.isnan(values)
        blocks = np.broadcast_to(block[:, None], values.shape)
        thresholds = leave_block_out_thresholds(
            sign * values[queried], take_columns(self.member, records)[queried], blocks[queried], len(labels)
        )
        return thresholds[block][:, None]

    def facing(self, k: int) -> Signals:
        """Return the adversary's view with model ``k`` as the target, without its membership in evaluated records."""
        others = self.others(k)
        values = lazy_rows(self.values, np.r_[k, others])
        population = None if self.not_evaluated is None else self.not_evaluated & ~self.member[k]
        return Signals(
            values=values,
            reference_member=self.member[as_slice(others)],
            labels=self.labels,
            evidence=self.evidence(k),
            population=population,
            outputs=self.outputs(k),
        )

    def others(self, k: int) -> np.ndarray:
        """Return the models that are references of model ``k``."""
        return np.flatnonzero(self.blocks != self.blocks[k])

    def take(self, models: np.ndarray) -> "Rotation":
        """Select models."""
        chosen = np.arange(len(self.member))[models]
        return replace(
            self,
            values=lazy_rows(self.values, chosen),
            member=self.member[as_slice(chosen)],
            together=self.blocks[models],
            evidence=lambda k: self.evidence(int(chosen[k])),
            outputs=lambda k: self.outputs(int(chosen[k])),
        )

    def take_records(self, records: np.ndarray) -> "Rotation":
        """Select records."""

        def make(name: str) -> np.ndarray:
            return lazy_columns(self.values, name, records).astype(np.float64, copy=False)

        return replace(
            self,
            values=lazy_matrices(self.values, make),
            member=take_columns(self.member, records),
            labels=self.labels[records],
            evidence=lambda k: self.evidence(k).take(records),
            not_evaluated=optional_take(self.not_evaluated, records),
            outputs=lambda k: optional_take(self.outputs(k), records),
        )

    @property
    def blocks(self) -> np.ndarray:
        """(models,) labels of the models that are excluded together."""
        if self.together is None:
            return np.arange(len(self.member))
        return self.together

    def _moments_of_others(self, name: str, inside: bool) -> Moments:
        def make() -> Moments:
            values = self.target(name)
            return leave_block_out_moments(values, (self.member == inside) & ~np.isnan(values), self.together)

        return self.once((name, inside), make)


# The adversary's view. An attack that uses only what both have scores one target, or all models in turn at once.
View = Signals | Rotation


def _lookup(values: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    try:
        return values[name]
    except KeyError:
        _checked_name(values, name)
        raise


def _checked_name(values: Mapping[str, np.ndarray], name: str) -> str:
    """Return the name of a signal; raise if it was not collected."""
    if name not in values:
        raise NotCollectedError(
            f"This attack reads {name!r}, but the audit folder holds {', '.join(sorted(values))}. Run the audit again in "
            "a new folder to collect more signals."
        )
    return name
