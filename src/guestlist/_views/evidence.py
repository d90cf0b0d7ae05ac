"""Evidence beyond the signals: each type of evidence about one target, as plain arrays.

Only data is here; ``collecting/evidence`` collects it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from guestlist._kernels import take_columns
from guestlist._util import LazyMapping, freeze
from guestlist.errors import MissingEvidenceError


class Part(Protocol):
    """Data of one type of evidence.

    If it holds data of every reference, it has ``take_references(references)`` too.
    """

    def take(self, records: np.ndarray) -> Part:
        """Select records."""


@dataclass(frozen=True)
class ModelsView:
    """Signals of a separate set of models on the same records, and their training sets.

    Attributes:
        values: Name to (models, records). NaN: the model was not queried.
        member: (models, records), true where a model trained on a record.

    Examples:
        >>> models = gl.attacks.ModelsView({"loss": np.zeros((3, 50))}, np.zeros((3, 50), dtype=bool))
        >>> models.take(np.arange(10)).member.shape
        (3, 10)
    """

    values: Mapping[str, np.ndarray]
    member: np.ndarray

    def take(self, records: np.ndarray) -> ModelsView:
        values = {name: take_columns(matrix, records) for name, matrix in self.values.items()}
        return ModelsView(values, take_columns(self.member, records))


@dataclass(frozen=True)
class NeighboursView:
    """Feature space of a K-NN target, for attacks that compute instead of training references.

    Args:
        x: (records, features) in the space of the target's distances.
        k: Number of neighbours.
        metric: ``euclidean`` or ``cosine``.
        rate: Share of the evaluated records that the target trained on.
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
    """Share of perturbed copies of each record that the target labels correctly.

    Args:
        share: (records,) share of copies that it labels correctly. NaN: it was not queried.
        copies: Number of copies of each record.
    """

    share: np.ndarray
    copies: int

    def take(self, records: np.ndarray) -> PerturbedView:
        return replace(self, share=self.share[records])


class Degenerate(NamedTuple):
    """Mean pinball losses of a regressor and of a constant that it does not beat, on held-out records.

    ``loss`` is NaN if the regressor predicts one value for all records.
    """

    records: int
    loss: float
    constant: float


@dataclass(frozen=True)
class QuantilesView:
    """Quantile of the target's hinge on non-members, estimated from known non-members.

    Args:
        hinge: (records,) the target's logit of the true class minus the largest other one.
        ceiling: (records,) predicted quantile of the hinge of a non-member. NaN: the record is a known non-member.
        beyond: Hinge minus ceiling of known non-members that the regressor was not fitted on, sorted.
        degenerate: Losses of a regressor that does not beat a constant; the ceiling is then equal for all records.
    """

    hinge: np.ndarray
    ceiling: np.ndarray
    beyond: np.ndarray
    degenerate: Degenerate | None = None

    def take(self, records: np.ndarray) -> QuantilesView:
        return replace(self, hinge=self.hinge[records], ceiling=self.ceiling[records])


@dataclass(frozen=True)
class LeavesView:
    """Leaves of the records in the trees of the target, and the training counts that the model file holds.

    Args:
        leaf: (records, trees) numbers of leaves, separate for each tree.
        held: (records, trees) number of training records in the record's leaf; None if the model does not hold it.
        by_class: Whether only training records of the record's class are counted.
        bag: (trees,) number of training records of each tree; None if the model does not hold it.
        rate: Share of the evaluated records that the target trained on.
        evaluated: (records,) true for the records it may have trained on.
        weight: (records, trees) weight of each record in ``held`` and ``bag`` if it is a member; None: 1.
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
class FullOutputsView:
    """Outputs of the references for every class; those of the target are ``view.outputs``.

    Args:
        log_p: (references, records, classes) logarithms of probabilities. NaN: not queried.
        member: (references, records), true where a reference trained on a record.
    """

    log_p: np.ndarray
    member: np.ndarray

    def take(self, records: np.ndarray) -> FullOutputsView:
        return FullOutputsView(self.log_p[:, records], take_columns(self.member, records))

    def take_references(self, references: np.ndarray | slice) -> FullOutputsView:
        """Select references."""
        return FullOutputsView(self.log_p[references], self.member[references])


@dataclass(frozen=True)
class WhiteBoxView:
    """Features from the target's parameters, and the records with a membership that the attacker knows.

    Args:
        features: (records, features); NaN for records that are not evaluated.
        names: Names of the features.
        known: (records,) true where the attacker knows whether the target trained on the record.
        member: (records,) true for members among the known records, and false for all others.
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
    """Values of each record that the model owner computes, who knows the members.

    Args:
        values: Name to (records,) values. NaN: a record has none.
    """

    values: Mapping[str, np.ndarray]

    def take(self, records: np.ndarray) -> OwnersView:
        return OwnersView({name: values[records] for name, values in self.values.items()})


@dataclass(frozen=True)
class Evidence:
    """Evidence about one target beyond its signals; the arrays are read-only, since all attacks share them.

    Attributes:
        parts: Type of evidence to its data, for the types that were collected.
        missing: Type of evidence to the end of a sentence about an attack that lacks it, with a remedy.
        shared: Types that stand-in targets share with the target.
    """

    parts: Mapping[str, Part] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    shared: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        parts = self.parts
        object.__setattr__(self, "parts", LazyMapping(parts, lambda name: freeze(parts[name])))

    def get(self, name: str) -> Any:
        """Return one type of evidence; None if it was not collected."""
        return self.parts.get(name)

    def need(self, name: str) -> Any:
        """Return one type of evidence; if it is missing, raise an error with instructions to collect it."""
        part = self.get(name)
        if part is None:
            raise MissingEvidenceError(f"This attack {missing_message(name, self.missing)}")
        return part

    def take(self, records: np.ndarray) -> Evidence:
        """Select records."""
        return replace(self, parts=LazyMapping(self.parts, lambda name: self.parts[name].take(records)))

    def take_references(self, references: np.ndarray | slice) -> Evidence:
        """Select references."""

        def take(name: str) -> Part:
            part: Any = self.parts[name]
            if not hasattr(part, "take_references"):
                return part
            return part.take_references(references)

        return replace(self, parts=LazyMapping(self.parts, take))

    def with_part(self, name: str, part: Part) -> Evidence:
        """Add or replace one type of evidence."""
        names = dict.fromkeys([*self.parts, name])
        return replace(self, parts=LazyMapping(names, lambda key: part if key == name else self.parts[key]))

    def without(self, *names: str) -> Evidence:
        """Remove types of evidence."""
        remaining = [name for name in self.parts if name not in names]
        return replace(self, parts=LazyMapping(remaining, lambda name: self.parts[name]))

    def for_stand_ins(self) -> Evidence:
        """Return the evidence that stand-in targets share with the target."""
        return self.without(*(name for name in self.parts if name not in self.shared))


NO_EVIDENCE: Evidence = Evidence()


def missing_message(name: str, missing: Mapping[str, str]) -> str:
    """Return the end of a sentence about an attack that lacks one type of evidence."""
    return missing.get(
        name, f"needs the evidence {name!r}, which was not collected. List all types with guestlist show evidence."
    )
