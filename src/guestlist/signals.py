"""What models say about records: how a signal is computed, and the adversary's view of all of them.

Two matrices carry an audit, both (models, records): the signals and the membership. An attack never gets
the target's row of the second one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import logsumexp, softmax

from guestlist.errors import NotCollectedError
from guestlist.evidence import NOTHING, Evidence, Models
from guestlist.moments import Moments, moments, moments_of_others

SMALLEST_PROBABILITY = 1e-30


def loss(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Cross-entropy of the true class, from the margin: neither large nor tiny losses run out of digits.

    >>> loss(np.array([[0.0, 0.0], [1000.0, 0.0]]), np.array([0, 1]))
    array([6.93147181e-01, 1.00000000e+03])
    """
    return np.logaddexp(0, -margin(logits, labels))


def margin(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Log-odds of the true class against all others (Carlini et al. 2022, section V-A).

    Args:
        logits: (records, classes).
        labels: (records,) true class of each record.

    Returns:
        (records,) margins, larger where the model is surer and right.
    """
    others = np.array(logits, dtype=np.float64)
    others[np.arange(len(labels)), labels] = -np.inf
    return _true(logits, labels) - logsumexp(others, axis=1)


def hinge(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Logit of the true class minus the largest other one."""
    others = np.array(logits, dtype=np.float64)
    others[np.arange(len(labels)), labels] = -np.inf
    return _true(logits, labels) - others.max(axis=1)


def correct(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """1.0 where the largest logit (the lowest class among equals) is the true class, else 0.0."""
    return (np.argmax(logits, axis=1) == labels).astype(np.float64)


def p_y(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Probability of the true class."""
    return np.exp(-loss(logits, labels))


def entropy(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Entropy of the answer; the labels play no part."""
    return _entropy(softmax(logits, axis=1))


def mentr(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Modified entropy, small only where the model is sure *and* right (Song & Mittal 2021, eq. 8)."""
    return _mentr(softmax(logits, axis=1), labels)


SIGNALS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "loss": loss,
    "margin": margin,
    "correct": correct,
    "entropy": entropy,
    "mentr": mentr,
    "p_y": p_y,
}


def signals_of_logits(logits: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
    """Every row of ``SIGNALS`` for one model's logits: name to (records,)."""
    logits = np.asarray(logits, dtype=np.float64)
    return {name: function(logits, labels) for name, function in SIGNALS.items()}


def signals_of_probabilities(
    probabilities: np.ndarray, labels: np.ndarray, smallest: float = SMALLEST_PROBABILITY
) -> dict[str, np.ndarray]:
    """The same signals where a model tells only probabilities.

    Args:
        smallest: what an answer of 0 stands for in logarithms; see :func:`smallest_answer`.
    """
    p = np.asarray(probabilities, dtype=np.float64)
    rows = np.arange(len(labels))
    true, rest = p[rows, labels], _rest(p)[rows, labels]
    log_true = np.log(np.maximum(true, smallest))
    return {
        "loss": -log_true,
        "margin": log_true - np.log(np.maximum(rest, smallest)),
        "correct": correct(p, labels),
        "entropy": _entropy(p),
        "mentr": _mentr(p, labels),
        "p_y": true,
    }


def smallest_answer(probabilities: np.ndarray) -> float:
    """The probability that an answer of exactly 0 stands for: half of the smallest positive one, at most 0.1.

    A forest of 100 trees answers in steps of 0.01, and its "0" only says "less than a step": a value below a
    detection limit, for which half the limit is the usual stand-in. Taken literally (1e-30, a margin of 69)
    such zeros are outliers that drown every Gaussian fit. Models with a smooth softmax have hardly any exact
    zeros, and then this changes nothing.

    >>> smallest_answer(np.array([[0.99, 0.01], [1.0, 0.0]]))
    0.005
    """
    positive = probabilities[probabilities > 0]
    return float(np.clip(positive.min() / 2, SMALLEST_PROBABILITY, 0.1)) if positive.size else 0.1


def _entropy(p: np.ndarray) -> np.ndarray:
    return -(p * _log(p)).sum(axis=1)


def _mentr(p: np.ndarray, labels: np.ndarray) -> np.ndarray:
    rows, rest = np.arange(len(labels)), _rest(p)
    terms = -p * _log(rest)
    terms[rows, labels] = -rest[rows, labels] * _log(p[rows, labels])
    return terms.sum(axis=1)


def _true(values: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return np.asarray(values, dtype=np.float64)[np.arange(len(labels)), labels]


def _log(p: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(p, SMALLEST_PROBABILITY))


def _rest(p: np.ndarray) -> np.ndarray:
    """1 - p column by column, as a sum of the other columns so that it does not cancel where p is near 1."""
    total = p.sum(axis=1, keepdims=True)
    rest = total - p
    rows, top = np.arange(len(p)), p.argmax(axis=1)
    others = p.copy()
    others[rows, top] = 0.0
    rest[rows, top] = others.sum(axis=1)
    return rest


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
            f"Known signals: {', '.join(SIGNALS)}; run the audit again in a new folder to collect them."
        )
    return values[name]
