"""The adversary's view of what models say about records: of one target, or of every model in turn as the target.

Two matrices carry an audit, both (models, records): the signals and the membership. An attack never gets
the target's row of the second one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from guestlist.arrays.moments import Moments, moments, moments_of_others
from guestlist.errors import NotCollectedError
from guestlist.views.evidence import NOTHING, Evidence, Models


@dataclass(frozen=True)
class Signals:
    """The adversary's view of one target: its signals, the references' signals, and who *they* trained on.

    Args:
        values: name to (1 + references, records); row 0 is the target. NaN: that model was not asked.
        reference_member: (references, records), true where a reference trained on a record.
        labels: (records,) true class of each record, as an index.
        evidence: what else was collected about the target.
    """

    values: Mapping[str, np.ndarray]
    reference_member: np.ndarray
    labels: np.ndarray
    evidence: Evidence = NOTHING

    def __post_init__(self):
        references, records = self.reference_member.shape
        if len(self.labels) != records:
            raise ValueError(f"Expected {records} labels, one per record, found {len(self.labels)}.")
        for name, values in self.values.items():
            if values.shape != (1 + references, records):
                raise ValueError(f"Expected signal {name!r} shaped {(1 + references, records)}, found {values.shape}.")

    @property
    def references(self) -> int:
        return len(self.reference_member)

    def target(self, name: str) -> np.ndarray:
        """(records,) what the target says."""
        return self._matrix(name)[0]

    def reference(self, name: str) -> np.ndarray:
        """(references, records) what the references say."""
        return self._matrix(name)[1:]

    def inside(self, name: str) -> Moments:
        """Moments, per record, of the references that trained on it."""
        values = self.reference(name)
        return moments(values, self.reference_member & ~np.isnan(values))

    def outside(self, name: str) -> Moments:
        """Moments, per record, of the references that did not train on it."""
        values = self.reference(name)
        return moments(values, ~self.reference_member & ~np.isnan(values))

    def take(self, records: np.ndarray) -> Signals:
        """The same view of some of the records, or of all of them in another order."""
        values = {name: matrix[:, records] for name, matrix in self.values.items()}
        evidence = self.evidence.take(records)
        return Signals(values, self.reference_member[:, records], self.labels[records], evidence)

    def among(self, models: Models) -> Signals:
        """The same target among other models than its references."""
        values = {name: np.vstack([self.target(name), matrix]) for name, matrix in models.values.items()}
        return replace(self, values=values, reference_member=models.member)

    def _matrix(self, name: str) -> np.ndarray:
        return _lookup(self.values, name)


def _nothing(_model: int) -> Evidence:
    return NOTHING


@dataclass(frozen=True)
class Rotation:
    """Every model in turn as the target, with all the others as its references.

    Has the same ``target``, ``inside`` and ``outside`` as :class:`Signals`, shaped (models, records), so that
    an attack written with them scores all targets at once. The moments leave each target's own row out.

    Args:
        values: name to (models, records). NaN: that model was not asked.
        member: (models, records), true where a model trained on a record.
        labels: (records,) true class of each record, as an index.
        together: (models,) models with equal labels are never references of each other, such as the two of a
            complementary pair, where one model's members are the other's non-members. By default each model
            stands alone.
        evidence: model to what else was collected about it.
    """

    values: Mapping[str, np.ndarray]
    member: np.ndarray
    labels: np.ndarray
    together: np.ndarray | None = None
    evidence: Callable[[int], Evidence] = _nothing

    @cached_property
    def _moments(self) -> dict[tuple[str, bool], Moments]:
        return {}

    def target(self, name: str) -> np.ndarray:
        return _lookup(self.values, name)

    def inside(self, name: str) -> Moments:
        return self._of_others(name, True)

    def outside(self, name: str) -> Moments:
        return self._of_others(name, False)

    def facing(self, k: int) -> Signals:
        """The adversary's view with model ``k`` as the target; holds no membership of it."""
        others = self.others(k)
        values = {name: matrix[np.r_[k, others]] for name, matrix in self.values.items()}
        return Signals(values, self.member[others], self.labels, self.evidence(k))

    def others(self, k: int) -> np.ndarray:
        """The models that are references of model ``k``."""
        return np.flatnonzero(self.blocks != self.blocks[k])

    def take(self, models: np.ndarray) -> Rotation:
        """The same view with some of the models only, or with all of them in another order."""
        values = {name: matrix[models] for name, matrix in self.values.items()}
        chosen = np.arange(len(self.member))[models]
        evidence = lambda k: self.evidence(int(chosen[k]))  # noqa: E731
        return Rotation(values, self.member[models], self.labels, self.blocks[models], evidence)

    @property
    def blocks(self) -> np.ndarray:
        """(models,) labels of the models that are left out together."""
        return np.arange(len(self.member)) if self.together is None else self.together

    def _of_others(self, name: str, inside: bool) -> Moments:
        if (name, inside) not in self._moments:
            values = self.target(name)
            mask = (self.member == inside) & ~np.isnan(values)
            self._moments[name, inside] = moments_of_others(values, mask, self.together)
        return self._moments[name, inside]


def _lookup(values: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    if name not in values:
        raise NotCollectedError(
            f"This attack reads {name!r}, but the store holds {sorted(values)}. "
            "Run the audit again in a new folder to collect others."
        )
    return values[name]
