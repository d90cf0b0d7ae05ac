"""Several attacks as one: a record is called where any of them calls it, where most do, or where all do.

Scores of different attacks cannot be compared, so each is first put on one scale: the share of non-members that score as
high. Those non-members are the references', each reference in turn being attacked as if it were the target; the target's
own truth plays no part. Calling whatever *any* of m attacks calls at a level of alpha has a false-positive rate of up to
m times alpha, and whatever *all* call, of less than alpha. So the combined score is ranked among the same combination on
those mock targets, and that rank is the p-value: at every level, the combination's own rate.
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
    """Attacks and the rule by which they are combined: ``(signals) -> scores``, as every attack.

    Args:
        names: of two attacks or more, from ``ATTACKS``.
        rule: a record is a member where any attack says so (``union``), more than half of them (``majority``), or all
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
        alone = [name for name in self.names if not ATTACKS[name].on_stand_ins]
        if alone:
            looks = ", ".join(sorted({ATTACKS[name].evidence for name in alone}))
            raise InputError(
                f"{', '.join(alone)} cannot be combined: combining compares with the references as mock targets, about "
                f"which there is no {looks}."
            )

    def __str__(self) -> str:
        return f"{self.rule}({','.join(self.names)})"

    @property
    def __name__(self) -> str:
        """A plain word: it becomes a column and a file."""
        return "_".join((self.rule, *self.names))

    @property
    def attack(self) -> Attack:
        """The row of a table that this would be."""
        parts = [ATTACKS[name] for name in self.names]
        evidence = next((part.evidence for part in parts if part.evidence), "")
        return Attack(
            score=self,
            summary=f"{_WORDS[self.rule]} {', '.join(self.names)}",
            paper="guestlist",
            needs=tuple(dict.fromkeys(signal for part in parts for signal in part.needs)),
            # A mock target has one reference fewer, and needs one even where the attacks do without.
            references=1 + max(1, *(part.references for part in parts)),
            p_value=self.p_value,
            default=False,
            evidence=evidence,
            stand_in_evidence=bool(evidence),  # or it could not have been combined
        )

    def __call__(self, signals: Signals) -> np.ndarray:
        """Minus the logarithm of the smallest (union), middle (majority) or largest (intersection) p-value.

        NaN where no attack has a score; for the intersection, where any has none.
        """
        return -np.log(self._level(signals, self._of_mocks(signals)))

    def p_value(self, signals: Signals) -> np.ndarray:
        """(records,) share of the mock targets' non-members that score as high, the record's own counting as one."""
        of_mocks = self._of_mocks(signals)
        theirs = _joint(np.stack([_share_as_high(scores) for scores in of_mocks]), self.rule)
        return conformal_p_values(-self._level(signals, of_mocks), -theirs)

    def _of_mocks(self, signals: Signals) -> list[np.ndarray]:
        """What each attack says of the non-members of mock targets; the same ones in the same order."""
        mocks = _mock_targets(signals)

        def settled(name: str) -> np.ndarray:
            scores = score_every_target(ATTACKS[name], mocks)[~mocks.member]
            return _settled(scores, scores)

        # Other combinations, and the p-values of this one, may need the same.
        return [mocks.once(("combined", name), partial(settled, name)) for name in self.names]

    def _level(self, signals: Signals, of_mocks: list[np.ndarray]) -> np.ndarray:
        """(records,) the lowest level at which the target's record is called, each attack at its own."""
        levels = []
        for name, theirs in zip(self.names, of_mocks, strict=True):
            levels.append(conformal_p_values(_settled(ATTACKS[name].score(signals), theirs), theirs))
        return _joint(np.stack(levels), self.rule)


def combined(names: Sequence[str], rule: Rule = "union") -> Combination:
    """Attacks combined into one, for ``audit(attacks=[...])``.

    Args:
        names: of two attacks or more, from ``ATTACKS``; not those that look at more than signals.
        rule: ``union``, ``majority`` or ``intersection``.

    >>> str(combined(["loss", "lira"]))
    'union(loss,lira)'
    """
    return Combination(tuple(names), rule)


def parse_combination(text: str) -> Combination | None:
    """A combination as it is written, ``union(loss, lira)``; None where the text is a plain name."""
    found = _WRITTEN.fullmatch(text)
    if found is None:
        return None
    names = tuple(name.strip() for name in found[2].split(",") if name.strip())
    return Combination(names, cast(Rule, found[1]))  # which refuses what is not a rule


def _mock_targets(signals: Signals) -> Rotation:
    """The references of a target, each in turn as a target of the others."""
    if signals.references < 2:
        raise InputError(
            f"Attacks are combined on references that are attacked by each other: at least 2, found {signals.references}."
        )
    return signals.mocks


def _settled(scores: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Scores without their last digits, which hang on the order of a sum: what is equal must rank as equal.

    Args:
        others: scores of the same attack, whose largest says how far from 0 a score is that stands for 0.
    """
    largest = np.abs(others[np.isfinite(others)]).max(initial=0)
    mantissa, exponent = np.frexp(np.where(np.abs(scores) < 1e-13 * largest, 0.0, scores))
    return np.ldexp(np.round(mantissa, 10), exponent)


def _share_as_high(scores: np.ndarray) -> np.ndarray:
    """Share of the scores that are as high as each of them, itself among them; NaN where there is none.

    The p-value of one among the others, and so on the scale of the target's own.
    """
    ordered = np.sort(scores[~np.isnan(scores)])
    as_high = len(ordered) - np.searchsorted(ordered, scores, "left")
    return np.where(np.isnan(scores), np.nan, as_high / max(len(ordered), 1))


def _joint(levels: np.ndarray, rule: Rule) -> np.ndarray:
    """(records,) the lowest level at which the rule calls a record, from the (attacks, records) levels of each attack."""
    if rule == "intersection":
        return levels.max(axis=0)
    ordered = np.sort(levels, axis=0)  # NaN last: attacks without a score have no vote
    votes = (~np.isnan(levels)).sum(axis=0)
    needed = np.zeros_like(votes) if rule == "union" else np.minimum(votes // 2, len(levels) - 1)
    return np.take_along_axis(ordered, needed[None], axis=0)[0]
