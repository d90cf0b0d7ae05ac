"""One way to guess membership: the row of a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from guestlist.arguments import numbers
from guestlist.errors import InputError

Compares = Literal["nothing", "any", "out", "both"]


@dataclass(frozen=True, kw_only=True)
class Attack:
    """One way to guess membership.

    Args:
        score: signals to (records,) scores that rise with membership.
        summary, paper: for people.
        needs: the signals it reads.
        references: the fewest reference models it can do with.
        threshold: signals to the threshold at which it calls a record a member (``score >= threshold``), if the
            attack has one of its own.
        p_value: signals to (records,) chances that a non-member scores as high, if the attack is a test of its own: at
            every level alpha it calls the records with a p-value of at most alpha.
        compares: the references without which a record has no score (NaN): "nothing" (none needed), "any", "out" (at
            least one that did not train on it), or "both" (one that did and one that did not).
        default: whether an audit runs it unless told otherwise; variants are run by name.
        rotates: whether ``score`` also takes a ``Rotation`` and scores every model as target at once.
        evidence: the kind of evidence that it looks at, if any.
        stand_in_evidence: whether there is such evidence about mock targets too, as the kind's row says.
        learns: whether it fits a classifier when it scores, so that it takes seconds.
        oracle: whether its threshold is the best for the truth, which no attacker knows: an upper bound.
        custom: whether a user gave it, so that nothing is known of it but what it says.
    """

    score: Callable[[Any], np.ndarray]
    summary: str
    paper: str = ""
    needs: tuple[str, ...] = ()
    references: int = 0
    threshold: Callable[[Any], float] | None = None
    p_value: Callable[[Any], np.ndarray] | None = None
    compares: Compares = "nothing"
    default: bool = True
    rotates: bool = False
    evidence: str = ""
    stand_in_evidence: bool = False
    learns: bool = False
    oracle: bool = False
    custom: bool = False

    @property
    def on_stand_ins(self) -> bool:
        """Whether it can be tried on mock targets: on signals alone, or on evidence that there is about those too."""
        return not self.evidence or self.stand_in_evidence


def checked_scores(name: str, given: Any, shape: tuple[int, ...]) -> np.ndarray:
    """What an attack gave, as float64; an error where it is not one number per record.

    Args:
        name: of the attack.
        shape: that of the records.
    """
    try:
        scores = numbers("scores", given)
    except ValueError as error:
        raise InputError(f"Attack {name!r} must give numbers that rise with membership. {error}") from error
    if scores.shape != shape:
        raise InputError(f"Attack {name!r} must give one score per record, shaped {shape}, found {scores.shape}.")
    return scores
