"""Combinations of attacks: a record is flagged if any of them flags it, if most do, or if all do.

Scores of different attacks are not comparable, so each is first converted to the share of non-members that score as high.
Those non-members come from the references, each in turn attacked as a stand-in target; the target's ground truth is not used.
Flagging the records that *any* of m attacks flags at level alpha has a false positive rate of up to m times alpha, and those
that *all* flag, of less than alpha. So the combined score is ranked among those of the same combination on the stand-in targets,
and that rank is the p-value, valid at every level.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, cast, get_args

import numpy as np

from guestlist.arrays.conformal import conformal_p_values
from guestlist.attacks.attack import Attack
from guestlist.attacks.every_target import score_every_target
from guestlist.attacks.table import ATTACKS
from guestlist.errors import InputError
from guestlist.views.signals import Rotation, Signals

Rule = Literal["union", "majority", "intersection"]
RULES: tuple[str, ...] = get_args(Rule)
_WORDS = {"union": "any of", "majority": "more than half of", "intersection": "all of"}
_WRITTEN = re.compile(r"\s*(\w+)\s*\((.*)\)\s*")


@dataclass(frozen=True)
class Combination:
    """Attacks and the rule that combines them: a function ``(signals) -> scores``, as every attack.

    Args:
        names: Names of two attacks or more, from ``ATTACKS``.
        rule: A record is flagged if any attack flags it (``union``), more than half of them (``majority``), or all
            (``intersection``).
    """

    names: tuple[str, ...]
    rule: Rule

    def __post_init__(self):
        if self.rule not in RULES:
            raise InputError(f"Attacks are combined by {', '.join(RULES)}; found {self.rule!r}.")
        if len(self.names) < 2:
            raise InputError(f"Two attacks or more can be combined, found {list(self.names)}.")
        for name in self.names:
            if name not in ATTACKS:
                raise InputError(f"There is no attack {name!r} to combine; there are {', '.join(ATTACKS)}.")
        target_only = [name for name in self.names if not ATTACKS[name].on_stand_ins]
        if target_only:
            looks = ", ".join(sorted({ATTACKS[name].evidence for name in target_only}))
            raise InputError(
                f"{', '.join(target_only)} cannot be combined: combining compares with the references as mock targets, about "
                f"which there is no {looks}."
            )

    def __str__(self) -> str:
        return f"{self.rule}({','.join(self.names)})"

    @property
    def __name__(self) -> str:
        """Return an identifier; it becomes the name of a column and a file."""
        return "_".join((self.rule, *self.names))

    @property
    def attack(self) -> Attack:
        """Return the combination as an attack."""
        parts = [ATTACKS[name] for name in self.names]
        evidence = next((part.evidence for part in parts if part.evidence), "")
        return Attack(
            score=self,
            summary=f"{_WORDS[self.rule]} {', '.join(self.names)}",
            paper="guestlist",
            needs=tuple(dict.fromkeys(signal for part in parts for signal in part.needs)),
            # A stand-in target has one reference fewer, and needs one even if the attacks need none.
            references=1 + max(1, *(part.references for part in parts)),
            p_value=self.p_value,
            default=False,
            evidence=evidence,
            stand_in_evidence=bool(evidence),  # Otherwise it could not be combined.
        )

    def __call__(self, signals: Signals) -> np.ndarray:
        """Return minus the log of the smallest (union), middle (majority) or largest (intersection) p-value.

        NaN where no attack has a score; for the intersection, where any has none.
        """
        return -np.log(self._level(signals, self._stand_in_scores(signals)))

    def p_value(self, signals: Signals) -> np.ndarray:
        """Return (records,) shares of the stand-in targets' non-members that score as high, counting the record itself."""
        stand_in_scores = self._stand_in_scores(signals)
        stand_in_levels = _joint(np.stack([_share_as_high(scores) for scores in stand_in_scores]), self.rule)
        return conformal_p_values(-self._level(signals, stand_in_scores), -stand_in_levels)

    def _stand_in_scores(self, signals: Signals) -> list[np.ndarray]:
        """Return each attack's scores of the non-members of stand-in targets, in the same order for all attacks."""
        stand_ins = _stand_in_targets(signals)

        def rounded(name: str) -> np.ndarray:
            scores = score_every_target(ATTACKS[name], stand_ins)[~stand_ins.member]
            return _rounded(scores, scores)

        # Other combinations, and the p-values of this one, may need the same scores.
        return [stand_ins.once(("combined", name), partial(rounded, name)) for name in self.names]

    def _level(self, signals: Signals, stand_in_scores: list[np.ndarray]) -> np.ndarray:
        """Return (records,) the lowest level at which the rule flags a record of the target."""
        levels = []
        for name, null_scores in zip(self.names, stand_in_scores, strict=True):
            levels.append(conformal_p_values(_rounded(ATTACKS[name].score(signals), null_scores), null_scores))
        return _joint(np.stack(levels), self.rule)


def combined(names: Sequence[str], rule: Rule = "union") -> Combination:
    """Combine attacks into one, for ``audit(attacks=[...])``.

    Args:
        names: Names of two attacks or more, from ``ATTACKS``; not those that read evidence of the target only.
        rule: ``union``, ``majority`` or ``intersection``.

    >>> str(combined(["loss", "lira"]))
    'union(loss,lira)'
    """
    return Combination(tuple(names), rule)


def parse_combination(text: str) -> Combination | None:
    """Parse a combination such as ``union(loss, lira)``; None if the text is a plain name."""
    match = _WRITTEN.fullmatch(text)
    if match is None:
        return None
    names = tuple(name.strip() for name in match[2].split(",") if name.strip())
    return Combination(names, cast(Rule, match[1]))  # raises an error for other rules


def _stand_in_targets(signals: Signals) -> Rotation:
    """Return the references of a target, each in turn as the target of the others."""
    if signals.references < 2:
        raise InputError(
            f"Attacks are combined on references that are attacked by each other: at least 2, found {signals.references}."
        )
    return signals.mocks


def _rounded(scores: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Round scores to ten digits: the last ones depend on the order of a sum, and equal scores must tie.

    Args:
        scores: Scores of the attack.
        others: Scores of the same attack; values below 1e-13 of the largest are rounded to 0.
    """
    largest = np.abs(others[np.isfinite(others)]).max(initial=0)
    mantissa, exponent = np.frexp(np.where(np.abs(scores) < 1e-13 * largest, 0.0, scores))
    return np.ldexp(np.round(mantissa, 10), exponent)


def _share_as_high(scores: np.ndarray) -> np.ndarray:
    """Return the share of the scores that are as high as each of them, counting itself; NaN where there is none.

    It is the p-value of a score among the others, on the scale of the target's p-values.
    """
    ordered = np.sort(scores[~np.isnan(scores)])
    as_high = len(ordered) - np.searchsorted(ordered, scores, "left")
    return np.where(np.isnan(scores), np.nan, as_high / max(len(ordered), 1))


def _joint(levels: np.ndarray, rule: Rule) -> np.ndarray:
    """Return (records,) the lowest level at which the rule flags a record, from (attacks, records) levels."""
    if rule == "intersection":
        return levels.max(axis=0)
    ordered = np.sort(levels, axis=0)  # NaN last: attacks without a score have no vote
    votes = (~np.isnan(levels)).sum(axis=0)
    needed = np.zeros_like(votes)
    if rule == "majority":
        needed = np.minimum(votes // 2, len(levels) - 1)
    return np.take_along_axis(ordered, needed[None], axis=0)[0]
