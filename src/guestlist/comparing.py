"""Two audits of the same records: did the second model give away less, and what did it cost?

Members and non-members are the same people in both, so figures are compared pair by pair. All intervals of one comparison hold
together. They are about these two models: another training of either recipe would give other figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from guestlist.arrays.samples import numbered
from guestlist.errors import InputError
from guestlist.evaluate import WITHHELD, Estimate, auc, auc_difference, share, tpr_at_fpr
from guestlist.evaluate.intervals import difference_of
from guestlist.evaluate.means import group_means
from guestlist.findings.results import Results

ERROR = 0.05
FPR = 0.05


@dataclass(frozen=True)
class Difference:
    """One figure of two audits, and by how much the second exceeds the first.

    Args:
        what: ``accuracy``, ``auc`` or ``tpr``.
        of: the records it is about, or the attacks.
        first, second: with 95 % intervals of their own.
        difference: with an interval that holds together with those of the other figures.
    """

    what: str
    of: str
    first: Estimate
    second: Estimate
    difference: Estimate

    @property
    def differs(self) -> bool:
        """Whether it is shown that the two differ."""
        return not np.isnan(self.difference.value) and not self.difference.low <= 0 <= self.difference.high


@dataclass(frozen=True)
class Comparison:
    """What is different about the second of two audits.

    Args:
        first, second: their names.
        members, nonmembers: records that both were asked about.
        fpr: of the TPR.
        differences: in accuracy on non-members and on members, in AUC and in TPR.
    """

    first: str
    second: str
    members: int
    nonmembers: int
    fpr: float
    differences: tuple[Difference, ...]

    @property
    def table(self) -> pd.DataFrame:
        """One row per figure."""
        return pd.DataFrame(
            [
                {
                    "figure": row.what,
                    "of": row.of,
                    self.first: row.first.value,
                    self.second: row.second.value,
                    "difference": row.difference.value,
                    "low": row.difference.low,
                    "high": row.difference.high,
                    "differs": row.differs,
                }
                for row in self.differences
            ]
        )


def compare(audits: Mapping[str, Results], *, fpr: float = FPR) -> tuple[Comparison, ...]:
    """Every audit beside the first, figure by figure.

    Each is judged by its own headline attack: an attacker who knows the defence takes the attack that suits it.

    Args:
        audits: name to results of audits of the same members and non-members, the model without a defence first.
        fpr: at which members found are compared.
    """
    if len(audits) < 2:
        raise InputError(f"A comparison takes two audits or more, found {len(audits)}.")
    (name, first), *others = audits.items()
    paired = [
        (other, results, _paired(name, first, other, results)) for other, results in others
    ]  # or refused, first of all
    return tuple(_compared(name, first, other, results, pairs, fpr) for other, results, pairs in paired)


@dataclass(frozen=True)
class _Pairs:
    """The records of two audits, in one order."""

    first: pd.DataFrame
    second: pd.DataFrame

    @property
    def member(self) -> np.ndarray:
        return self.first["member"].to_numpy(dtype=bool)

    @property
    def persons(self) -> np.ndarray | None:
        return numbered(self.first["person"].to_numpy()) if "person" in self.first else None


def _paired(name: str, first: Results, other: str, second: Results) -> _Pairs:
    tables = []
    for audit, results in ((name, first), (other, second)):
        if results.records is None or results.headline is None:
            raise InputError(f"The audit {audit!r} has no table of records: read it from its folder, or audit again.")
        table = results.records.set_index("id").sort_index(kind="stable")
        if table.index.has_duplicates:
            raise InputError(f"In the audit {audit!r} several records have one id, so that they cannot be paired.")
        tables.append(table)
    a, b = tables
    missing = len(a.index.symmetric_difference(b.index))
    if missing:
        raise InputError(
            f"{missing} records of {name!r} and {other!r} are not in both: audit the same members and non-members."
        )
    for column in ("member", "label"):
        unlike = int((a[column].astype(str) != b[column].astype(str)).sum())
        if unlike:
            raise InputError(
                f"{unlike} records have another {column} in {other!r} than in {name!r}: compare the same split."
            )
    return _Pairs(a, b)


def _compared(name: str, first: Results, other: str, second: Results, pairs: _Pairs, fpr: float) -> Comparison:
    attacks = tuple(results.headline.name for results in (first, second) if results.headline is not None)
    scores = tuple(
        table[f"score_{attack}"].to_numpy(dtype=float)
        for table, attack in zip((pairs.first, pairs.second), attacks, strict=True)
    )
    right = "correct" in pairs.first and "correct" in pairs.second
    together = 1 - ERROR / (4 if right else 2)  # one interval for each figure
    rows = []
    if right:
        a, b = (table["correct"].to_numpy(dtype=float) for table in (pairs.first, pairs.second))
        for side, of in ((~pairs.member, "non-members"), (pairs.member, "members")):
            rows.append(_accuracy(a, b, side, of, pairs.persons, together))
    of = " and ".join(dict.fromkeys(attacks))
    rows += [_auc(scores, pairs, of, together), _tpr(scores, pairs, of, fpr, together)]
    return Comparison(name, other, int(pairs.member.sum()), int((~pairs.member).sum()), fpr, tuple(rows))


def _accuracy(
    a: np.ndarray, b: np.ndarray, side: np.ndarray, of: str, persons: np.ndarray | None, together: float
) -> Difference:
    own = None if persons is None else persons[side]
    first, second = (share(values[side] > 0, persons=own) for values in (a, b))
    return Difference("accuracy", of, first, second, mean_of_differences(b[side] - a[side], own, together))


def mean_of_differences(values: np.ndarray, persons: np.ndarray | None, confidence: float = 0.95) -> Estimate:
    """Mean of values in [-1, 1], with bounds that hold for lumpy ones as well: most pairs do not differ."""
    if not len(values):
        return WITHHELD
    (found,) = group_means(
        values, [np.ones(len(values), dtype=bool)], bounds=(-1.0, 1.0), persons=persons, confidence=confidence
    )
    return found.mean


def _auc(scores: Sequence[np.ndarray], pairs: _Pairs, of: str, together: float) -> Difference:
    first, second = (auc(values, pairs.member, persons=pairs.persons) for values in scores)
    gap = auc_difference(scores[1], scores[0], pairs.member, persons=pairs.persons, confidence=together)
    return Difference("auc", of, first, second, gap)


def _tpr(scores: Sequence[np.ndarray], pairs: _Pairs, of: str, fpr: float, together: float) -> Difference:
    """Thresholds are estimated too, each on its own; that pairs resemble each other makes the interval wider than it need be."""
    first, second = (tpr_at_fpr(values, pairs.member, fpr, persons=pairs.persons) for values in scores)
    ends = [tpr_at_fpr(values, pairs.member, fpr, persons=pairs.persons, confidence=together) for values in scores]
    if any(np.isnan(end.value) for end in ends):
        return Difference("tpr", of, first, second, WITHHELD)
    value, low, high = difference_of(ends[1], ends[0])
    return Difference("tpr", of, first, second, Estimate(value, max(low, -1.0), min(high, 1.0)))


def named(paths: Sequence[str]) -> list[str]:
    """Short names for folders: the last part of each, or the whole where two end alike."""
    last = [path.rstrip("/").rsplit("/", 1)[-1] for path in paths]
    return last if len(set(last)) == len(last) else list(paths)
