"""Verdict of a gate on an audit, stored with the results next to the policy.

No finding of an audit: it is made from the results, by someone who sets limits, and is gone when they are made anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from guestlist.case import Figure
from guestlist.evaluate import Estimate

Measure = Literal["auc", "tpr", "advantage"]


@dataclass(frozen=True)
class Limit:
    """The largest AUC, advantage, or TPR at the false-positive rate ``fpr``, that may pass."""

    most: float
    measure: Measure = "auc"
    fpr: float | None = None

    def __post_init__(self):
        if self.measure not in ("auc", "tpr", "advantage"):
            raise ValueError(f"Expected measure={self.measure!r} to be 'auc', 'tpr' or 'advantage'.")
        if (self.fpr is not None) != (self.measure == "tpr"):
            raise ValueError(f"Expected fpr={self.fpr} for a TPR, and for nothing else; found {self.measure!r}.")
        for name, value in {"limit": self.most, "fpr": self.fpr}.items():
            if value is not None and not 0 < value <= 1:
                raise ValueError(f"Expected {name}={value} in (0, 1].")


@dataclass(frozen=True)
class Sizes:
    """Numbers of members and non-members."""

    members: int
    nonmembers: int


@dataclass(frozen=True)
class Verdict:
    """Verdict on a limit for the attack that comes closest to it or goes furthest beyond.

    Args:
        estimate: NaN where the attack has no figure for it, which cannot pass.
        margin: the limit minus the upper end; negative where it is beyond.
        sample_size_needed: about how many records would bring the upper end down to the limit at the present value. None: that
            many do already, no number would, or it cannot be told.
        pushing: ids of the members that push the figure up; none where it passes.
        tied: how many members share the next place, too many to name.
    """

    limit: Limit
    attack: str
    estimate: Estimate
    passed: bool
    margin: float
    sample_size_needed: Sizes | None
    drivers: tuple[str, ...]
    tied: int = 0


@dataclass(frozen=True)
class Demand:
    """Something that an audit must have before its figures count, and whether it has.

    Args:
        code: a row of ``DEMANDS``.
        figures: by name, for the sentence.
    """

    code: str
    passed: bool
    figures: Mapping[str, Figure]


@dataclass(frozen=True)
class OpenCheck:
    """A check of the audit that found an issue, or that the user chose to ignore.

    Args:
        code: a row of ``CHECKS``.
        figures: by name, for the sentence.
        undermines: whether the audit may have missed a leak because of it.
        ignored: ``audit`` or ``gate``, whichever was asked to ignore it; empty where neither was.
    """

    code: str
    figures: Mapping[str, Figure]
    undermines: bool
    ignored: str = ""

    @property
    def passed(self) -> bool:
        """True if the gate may pass in spite of it."""
        return bool(self.ignored) or not self.undermines


@dataclass(frozen=True)
class Gated:
    """Verdict of a gate.

    Args:
        checks: every open check of the audit, and every one that is ignored.
        policy, sha256: text of the policy file, and the hash of its bytes; None where limits were given one by one.
    """

    passed: bool
    verdicts: tuple[Verdict, ...]
    demands: tuple[Demand, ...]
    policy: str | None = None
    sha256: str | None = None
    checks: tuple[OpenCheck, ...] = ()
