"""The row of an attack, and one attack run on every model in turn as the target."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from guestlist._util import numbers
from guestlist._views import Rotation
from guestlist.errors import InputError

Compares = Literal["nothing", "any", "out", "both"]


@dataclass(frozen=True, kw_only=True)
class Attack:
    """A membership attack and its properties.

    Attributes:
        score: Function from signals to (records,) scores that rise with membership.
        summary, paper: Descriptions for users.
        needs: Names of the signals it reads.
        references: Minimum number of reference models.
        threshold: Function from signals to the threshold at which it flags a record (``score >= threshold``), if the attack
            defines one.
        p_value: Function from signals to (records,) probabilities that a non-member scores as high, if the attack is a
            hypothesis test. At every level alpha it flags the records with a p-value of at most alpha.
        compares: References without which a record has no score (NaN): "nothing" (none needed), "any", "out" (at least one
            that did not train on it), or "both" (one that did and one that did not).
        default: True if an audit runs it by default; variants are opt-in.
        rotates: True if ``score`` also takes a ``Rotation`` and scores every model as the target at once.
        evidence: Type of evidence that it reads, if any.
        stand_in_evidence: True if stand-in targets have such evidence too.
        learns: True if it fits a classifier when it scores, which takes seconds.
        oracle: True if its threshold is chosen with the ground truth, which no attacker knows: an upper bound.
        custom: True if a user supplied it, so that nothing is known about it but its scores.
        title: Display name in reports; empty for the name in the table.

    Examples:
        >>> attack = gl.attacks.Attack(score=lambda signals: -signals.target("loss"), summary="small loss", needs=("loss",))
        >>> signals, member = gl.testing.target_of(gl.testing.gaussian_simulation(1.5, records=100, models=3))
        >>> attack.score(signals).shape
        (100,)
    """

    score: Callable[[Any], np.ndarray]
    summary: str
    paper: str = ""
    title: str = ""
    needs: tuple[str, ...] = ()
    references: int = 0
    threshold: float | Callable[[Any], float] | None = None
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
        """True if it can attack stand-in targets: it reads only signals, or evidence that they have too."""
        return not self.evidence or self.stand_in_evidence


def checked_scores(name: str, output: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return an attack's output as float64.

    Args:
        name: Name of the attack.
        output: Return value of the attack.
        shape: Expected shape.

    Returns:
        The scores.

    Raises:
        InputError: If they are not numbers, or not one per record.
    """
    try:
        scores = numbers("scores", output)
    except ValueError as error:
        raise InputError(f"Attack {name!r} must return numbers that increase with membership. {error}") from error
    if scores.shape != shape:
        raise InputError(f"Attack {name!r} must return one score per record, shaped {shape}; found {scores.shape}.")
    return scores


def score_every_target(attack: Attack, rotation: Rotation) -> np.ndarray:
    """Score every model of a rotation as the target.

    Args:
        attack: Attack to run.
        rotation: Models, each in turn as the target of the others.

    Returns:
        (models, records) scores.

    Examples:
        >>> simulation = gl.testing.gaussian_simulation(1.5, records=100, models=9)
        >>> gl.attacks.score_every_target(gl.attacks.ATTACKS["lira"], simulation).shape
        (9, 100)
    """
    if attack.rotates:
        return attack.score(rotation)
    return np.stack([attack.score(rotation.facing(k)) for k in range(len(rotation.member))])
