"""Table IX and Figure 3: who is called more often, and do the risks say so?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from papers.shapr.data import Groups
from papers.shapr.effectiveness import balanced
from papers.shapr.measures import FIRST, OUTPUTS, OWN, SCORE, Repeat
from papers.shapr.spread import Spread, spread


@dataclass(frozen=True)
class Group:
    """The members of a group, on average over repeats; differences are from the first group of the column.

    Args:
        members: of a target, on average.
        shapr, shapr_outputs: mean SHAPr times the number of all members, in two spaces.
        score: mean privacy risk score.
        accuracy: balanced accuracy of the modified-entropy attack that learnt from the target itself, on this group.
        test: share of the group's non-members that the target is right about.
        gap: the same share of its members, minus that.
    """

    column: str
    group: str
    members: float
    shapr: Spread
    shapr_outputs: Spread
    score: Spread
    accuracy: Spread
    test: Spread
    gap: Spread


def groups(repeats: Sequence[Repeat], columns: Groups) -> list[Group]:
    """Every group of every column, in the paper's order: the one it calls the majority first."""
    rows = []
    for column, values in columns.items():
        names = sorted(set(values), reverse=True)  # Male, Female; White, Others
        for name in names:
            figures = {
                key: spread(_each(repeats, of, values == name), _each(repeats, of, values == names[0]))
                for key, of in FIGURES.items()
            }
            size = float(np.mean([(each.member & (values == name)).sum() for each in repeats]))
            rows.append(Group(column, str(name), size, **figures))
    return rows


def _each(repeats: Sequence[Repeat], of: Callable, chosen: np.ndarray) -> list[float]:
    return [of(each, chosen) for each in repeats]


def _mean_shapr(space: str) -> Callable[[Repeat, np.ndarray], float]:
    return lambda each, chosen: float(each.risks[space][chosen[each.member]].mean() * each.member.sum())


def _mean_score(each: Repeat, chosen: np.ndarray) -> float:
    return float(np.nanmean(each.risks[SCORE][chosen[each.member]]))


def _accuracy(each: Repeat, chosen: np.ndarray) -> float:
    return balanced(each, OWN, chosen)


def _test(each: Repeat, chosen: np.ndarray) -> float:
    return float(each.right[chosen & ~each.member].mean())


def _gap(each: Repeat, chosen: np.ndarray) -> float:
    return float(each.right[chosen & each.member].mean()) - _test(each, chosen)


FIGURES = {
    "shapr": _mean_shapr(FIRST),
    "shapr_outputs": _mean_shapr(OUTPUTS),
    "score": _mean_score,
    "accuracy": _accuracy,
    "test": _test,
    "gap": _gap,
}
