"""What an attack may look at beyond the signals: each kind of evidence about one target, as plain arrays.

Only data is here, without any knowledge of how it came to be; ``collecting/evidence`` collects it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from guestlist.arrays.columns import columns
from guestlist.errors import MissingEvidenceError
from guestlist.views.lazily import LazyMapping, freeze


class Part(Protocol):
    """What one kind of evidence holds. If it holds something about every reference, it has ``among(references)`` too."""

    def take(self, records: np.ndarray) -> Part:
        """The same about some of the records, or about all of them in another order."""


@dataclass(frozen=True)
class ModelsView:
    """Signals of another set of models about the same records, and who trained on what.

    Args:
        values: name to (models, records). NaN: that model was not asked.
        member: (models, records), true where a model trained on a record.
    """

    values: Mapping[str, np.ndarray]
    member: np.ndarray

    def take(self, records: np.ndarray) -> ModelsView:
        return ModelsView(
            {name: columns(matrix, records) for name, matrix in self.values.items()}, columns(self.member, records)
        )


@dataclass(frozen=True)
class NeighboursView:
    """Where a K-NN target looks for neighbours: what attacks that compute, and train nothing, need to know.

    Args:
        x: (records, features) in the space of the target's distances.
        k: how many neighbours it asks.
        metric: ``euclidean`` or ``cosine``.
        rate: share of the evaluated records that the target trained on.
        evaluated: (records,) true for the records it may have trained on.
    """

    x: np.ndarray
    k: int
    metric: str
    rate: float
    evaluated: np.ndarray

    def take(self, records: np.ndarray) -> NeighboursView:
        return replace(self, x=self.x[records], evaluated=self.evaluated[records])


@dataclass(frozen=True)
class PerturbedView:
    """How often the target labels a record rightly although it was changed a little.

    Args:
        share: (records,) share of perturbed copies that it labels rightly. NaN: it was not asked.
        copies: how many there are of each record.
    """

    share: np.ndarray
    copies: int

    def take(self, records: np.ndarray) -> PerturbedView:
        return replace(self, share=self.share[records])


class Degenerate(NamedTuple):
    """A regressor that is no better than a constant: the mean pinball loss of either on records that it had not seen.

    ``loss`` is NaN where it predicts one value for all records.
    """

    records: int
    loss: float
    constant: float


@dataclass(frozen=True)
class QuantilesView:
    """What the target's hinge rarely exceeds on non-members, learnt from some that are known.

    Args:
        hinge: (records,) the target's logit of the true class minus the largest other one.
        ceiling: (records,) predicted quantile of the hinge, were the record not a member. NaN: it is a known one.
        beyond: hinge minus ceiling of known non-members that the regressor was not fitted on, sorted.
        degenerate: what is known of a regressor that learnt nothing, where the ceiling is one for all records.
    """

    hinge: np.ndarray
    ceiling: np.ndarray
    beyond: np.ndarray
    degenerate: Degenerate | None = None

    def take(self, records: np.ndarray) -> QuantilesView:
        return replace(self, hinge=self.hinge[records], ceiling=self.ceiling[records])


@dataclass(frozen=True)
class LeavesView:
    """Where records fall in the trees of the target, and what its file tells about the training records that did.

    Args:
        leaf: (records, trees) numbers of leaves; those of different trees have nothing to do with each other.
        held: (records, trees) training records in the record's leaf, as the model keeps it; None: it keeps nothing.
        by_class: whether only those of the record's own class are counted.
        bag: (trees,) training records of each tree; None: the model does not keep it.
        rate: share of the evaluated records that the target trained on.
        evaluated: (records,) true for the records it may have trained on.
        weight: (records, trees) what each record adds to ``held`` and ``bag`` if it is a member; None: 1.
    """

    leaf: np.ndarray
    held: np.ndarray | None
    by_class: bool
    bag: np.ndarray | None
    rate: float
    evaluated: np.ndarray
    weight: np.ndarray | None = None

    def take(self, records: np.ndarray) -> LeavesView:
        by_record = {name: getattr(self, name) for name in ("leaf", "held", "evaluated", "weight")}
        return replace(self, **{name: part[records] for name, part in by_record.items() if part is not None})


@dataclass(frozen=True)
class FullAnswersView:
    """Everything the references answered, not only about the true class; what the target did is ``view.answers``.

    Args:
        log_p: (references, records, classes) logarithms of probabilities. NaN: not asked.
        member: (references, records), true where a reference trained on a record.
    """

    log_p: np.ndarray
    member: np.ndarray

    def take(self, records: np.ndarray) -> FullAnswersView:
        return FullAnswersView(self.log_p[:, records], columns(self.member, records))

    def among(self, references: np.ndarray | slice) -> FullAnswersView:
        """The same with some of the references only, or with all of them in another order."""
        return FullAnswersView(self.log_p[references], self.member[references])


@dataclass(frozen=True)
class WhiteBoxView:
    """What the target's parameters say about each record, and the records whose membership the attacker knows.

    Args:
        features: (records, features); NaN for records that are not asked about.
        names: of the features.
        known: (records,) true where the attacker knows whether the target trained on the record.
        member: (records,) true for members among the known records, and false for all others: nothing else is told.
    """

    features: np.ndarray
    names: tuple[str, ...]
    known: np.ndarray
    member: np.ndarray

    def __post_init__(self) -> None:
        if (self.member & ~self.known).any():
            raise ValueError("Expected member to be true for known records only.")

    def take(self, records: np.ndarray) -> WhiteBoxView:
        return WhiteBoxView(self.features[records], self.names, self.known[records], self.member[records])


@dataclass(frozen=True)
class OwnersView:
    """What whoever trained the model computes of each record, knowing the members.

    Args:
        values: name to (records,) values. NaN: a record has none.
    """

    values: Mapping[str, np.ndarray]

    def take(self, records: np.ndarray) -> OwnersView:
        return OwnersView({name: values[records] for name, values in self.values.items()})


@dataclass(frozen=True)
class Evidence:
    """All that was collected about one target beyond its signals; nobody can change the arrays, since all attacks share them.

    Args:
        parts: kind to what was collected; what is not there was not collected.
        missing: kind to the rest of a sentence about an attack that lacks it, which says how to get it.
        shared: the kinds that are the same for references, as mock targets, as they are for the target.
    """

    parts: Mapping[str, Part] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    shared: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        given = self.parts
        object.__setattr__(self, "parts", LazyMapping(given, lambda name: freeze(given[name])))

    def get(self, name: str) -> Any:
        """One part of it; None where it was not collected."""
        return self.parts.get(name)

    def need(self, name: str) -> Any:
        """One part of it; an error that says how to collect it where it is missing."""
        part = self.get(name)
        if part is None:
            raise MissingEvidenceError(f"This attack {missing_message(name, self.missing)}")
        return part

    def take(self, records: np.ndarray) -> Evidence:
        """The same evidence about some of the records, or about all of them in another order."""
        return replace(self, parts=LazyMapping(self.parts, lambda name: self.parts[name].take(records)))

    def among(self, references: np.ndarray | slice) -> Evidence:
        """The same evidence with some of the references only, or with all of them in another order."""

        def chosen(name: str) -> Part:
            part: Any = self.parts[name]
            return part.among(references) if hasattr(part, "among") else part

        return replace(self, parts=LazyMapping(self.parts, chosen))

    def with_part(self, name: str, part: Part) -> Evidence:
        """The same evidence with one part more, or another one of its kind."""
        names = dict.fromkeys([*self.parts, name])
        return replace(self, parts=LazyMapping(names, lambda one: part if one == name else self.parts[one]))

    def without(self, *names: str) -> Evidence:
        """The same evidence with some parts less."""
        return replace(
            self, parts=LazyMapping([one for one in self.parts if one not in names], lambda one: self.parts[one])
        )

    def for_mocks(self) -> Evidence:
        """What of it there is about references, as mock targets."""
        return self.without(*(name for name in self.parts if name not in self.shared))


NO_EVIDENCE = Evidence()


def missing_message(name: str, missing: Mapping[str, str]) -> str:
    """The rest of a sentence about an attack that lacks one kind of evidence."""
    return missing.get(name, f"looks at {name!r}, evidence that was not collected. See: guestlist show evidence")
