"""What an attack may look at beyond the signals: each kind of evidence about one target, as plain arrays.

Only data is here, without any knowledge of how it came to be; the other files of this folder collect it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import numpy as np

from guestlist.collecting.evidence.missing import missing_evidence
from guestlist.errors import NotCollectedError


@dataclass(frozen=True)
class Models:
    """Signals of another set of models about the same records, and who trained on what.

    Args:
        values: name to (models, records). NaN: that model was not asked.
        member: (models, records), true where a model trained on a record.
    """

    values: Mapping[str, np.ndarray]
    member: np.ndarray

    def take(self, records: np.ndarray) -> Models:
        return Models({name: matrix[:, records] for name, matrix in self.values.items()}, self.member[:, records])


@dataclass(frozen=True)
class Neighbourhood:
    """Where a K-NN target looks for neighbours: what attacks that compute, and train nothing, need to know.

    Args:
        x: (records, features) in the space of the target's distances.
        k: how many neighbours it asks.
        metric: ``euclidean`` or ``cosine``.
        rate: share of the asked records that the target trained on.
        asked: (records,) true for the records it may have trained on.
    """

    x: np.ndarray
    k: int
    metric: str
    rate: float
    asked: np.ndarray

    def take(self, records: np.ndarray) -> Neighbourhood:
        return replace(self, x=self.x[records], asked=self.asked[records])


@dataclass(frozen=True)
class Robustness:
    """How often the target labels a record rightly although it was changed a little.

    Args:
        share: (records,) share of perturbed copies that it labels rightly. NaN: it was not asked.
        copies: how many there are of each record.
    """

    share: np.ndarray
    copies: int

    def take(self, records: np.ndarray) -> Robustness:
        return replace(self, share=self.share[records])


class Degenerate(NamedTuple):
    """A regressor that is no better than a constant: the mean pinball loss of either on records that it had not seen.

    ``loss`` is NaN where it predicts one value for all records.
    """

    records: int
    loss: float
    constant: float


@dataclass(frozen=True)
class Ceilings:
    """What the target's hinge rarely exceeds on non-members, learnt from some that are known.

    Args:
        hinge: (records,) the target's logit of the true class minus the largest other one.
        ceiling: (records,) predicted quantile of the hinge, were the record no member. NaN: it is a known one.
        beyond: hinge minus ceiling of known non-members that the regressor was not fitted on, sorted.
        degenerate: set if the regressor learnt nothing and the ceiling is one for all records.
    """

    hinge: np.ndarray
    ceiling: np.ndarray
    beyond: np.ndarray
    degenerate: Degenerate | None = None

    def take(self, records: np.ndarray) -> Ceilings:
        return replace(self, hinge=self.hinge[records], ceiling=self.ceiling[records])


@dataclass(frozen=True)
class Leaves:
    """Where records fall in the trees of the target, and what its file tells about the training records that did.

    Args:
        leaf: (records, trees) numbers of leaves; those of different trees have nothing to do with each other.
        held: (records, trees) training records in the record's leaf, as the model keeps it; None: it keeps nothing.
        by_class: whether only those of the record's own class are counted.
        bag: (trees,) training records of each tree; None: the model does not keep it.
        rate: share of the asked records that the target trained on.
        asked: (records,) true for the records it may have trained on.
        weight: (records, trees) what each record adds to ``held`` and ``bag`` if it is a member; None: 1.
    """

    leaf: np.ndarray
    held: np.ndarray | None
    by_class: bool
    bag: np.ndarray | None
    rate: float
    asked: np.ndarray
    weight: np.ndarray | None = None

    def take(self, records: np.ndarray) -> Leaves:
        by_record = {name: getattr(self, name) for name in ("leaf", "held", "asked", "weight")}
        return replace(self, **{name: _taken(part, records) for name, part in by_record.items()})


@dataclass(frozen=True)
class FullAnswers:
    """Everything the target and its references answered, not only about the true class.

    Args:
        log_p: (1 + references, records, classes) logarithms of probabilities; row 0 is the target. NaN: not asked.
        member: (references, records), true where a reference trained on a record.
    """

    log_p: np.ndarray
    member: np.ndarray

    def take(self, records: np.ndarray) -> FullAnswers:
        return FullAnswers(self.log_p[:, records], self.member[:, records])

    def among(self, references: np.ndarray | slice) -> FullAnswers:
        """The same with some of the references only, or with all of them in another order."""
        return FullAnswers(np.concatenate([self.log_p[:1], self.log_p[1:][references]]), self.member[references])


@dataclass(frozen=True)
class WhiteBox:
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

    def __post_init__(self):
        if (self.member & ~self.known).any():
            raise ValueError("Expected member to be true for known records only.")

    def take(self, records: np.ndarray) -> WhiteBox:
        return WhiteBox(self.features[records], self.names, self.known[records], self.member[records])


@dataclass(frozen=True)
class Evidence:
    """All that was collected about one target beyond its signals; None: it was not collected.

    Args:
        population: (records,) true for records that the target was not trained on, and that nobody asks about.
        neighbourhood: where the target looks for neighbours, if it is a K-NN model.
        leaves: where records fall in its trees, if it is made of trees.
        distilled: models that were taught by the target, on records that carry its answers as labels.
        left_out: models trained as the target was, but without the record that they are asked about.
        perturbed: how the target labels perturbed copies of the records.
        quantiles: what the target's hinge rarely exceeds on non-members.
        answers: everything that the target and its references answered.
        inner: what the target's parameters say, and which records the attacker knows.
    """

    population: np.ndarray | None = None
    neighbourhood: Neighbourhood | None = None
    leaves: Leaves | None = None
    distilled: Models | None = None
    left_out: Models | None = None
    perturbed: Robustness | None = None
    quantiles: Ceilings | None = None
    answers: FullAnswers | None = None
    inner: WhiteBox | None = None

    def need(self, name: str):
        """One part of it; an error that says how to collect it where it is missing."""
        part = getattr(self, name)
        if part is None:
            raise NotCollectedError(f"This attack {missing_evidence(name)}")
        return part

    def take(self, records: np.ndarray) -> Evidence:
        """The same evidence about some of the records, or about all of them in another order."""
        return Evidence(**{field.name: _taken(getattr(self, field.name), records) for field in fields(self)})

    def among(self, references: np.ndarray | slice) -> Evidence:
        """The same evidence with some of the references only, or with all of them in another order."""
        return self if self.answers is None else replace(self, answers=self.answers.among(references))


NOTHING = Evidence()
# What only some models give, at once and unasked; worlds that are made up have none of it.
LIVE = ("neighbourhood", "leaves")


def _taken(part, records: np.ndarray):
    if part is None:
        return None
    return part[records] if isinstance(part, np.ndarray) else part.take(records)
