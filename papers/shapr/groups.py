"""Table IX and Figure 3: attack accuracy and risks by group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from papers.shapr.data import Groups
from papers.shapr.effectiveness import balanced
from papers.shapr.measures import FIRST, OUTPUTS, SCORE, SELF_SHADOW, Repeat
from papers.shapr.summaries import Summary, summarise


@dataclass(frozen=True)
class Group:
    """Metrics of the members of a group, averaged over repeats; differences are from the first group of the column.

    Args:
        members: mean number of members of a target.
        shapr, shapr_outputs: mean SHAPr times the number of all members, in two spaces.
        score: mean privacy risk score.
        accuracy: balanced accuracy, on this group, of the modified-entropy attack fitted on the target itself.
        test: accuracy of the target on the group's non-members.
        gap: accuracy on the group's members minus ``test``.
    """

    column: str
    group: str
    members: float
    shapr: Summary
    shapr_outputs: Summary
    score: Summary
    accuracy: Summary
    test: Summary
    gap: Summary


def groups(repeats: Sequence[Repeat], columns: Groups) -> list[Group]:
    """Return every group of every column, in the paper's order: the majority group first."""
    rows = []
    for column, values in columns.items():
        names = sorted(set(values), reverse=True)  # Male, Female; White, Others
        for name in names:
            metrics = {
                key: summarise(_each(repeats, measure, values == name), _each(repeats, measure, values == names[0]))
                for key, measure in METRICS.items()
            }
            size = float(np.mean([(each.member & (values == name)).sum() for each in repeats]))
            rows.append(Group(column, str(name), size, **metrics))
    return rows


def _each(repeats: Sequence[Repeat], measure: Callable, chosen: np.ndarray) -> list[float]:
    return [measure(each, chosen) for each in repeats]


def _mean_shapr(space: str) -> Callable[[Repeat, np.ndarray], float]:
    return lambda each, chosen: float(each.risks[space][chosen[each.member]].mean() * each.member.sum())


def _mean_score(each: Repeat, chosen: np.ndarray) -> float:
    return float(np.nanmean(each.risks[SCORE][chosen[each.member]]))


def _accuracy(each: Repeat, chosen: np.ndarray) -> float:
    return balanced(each, SELF_SHADOW, chosen)


def _test(each: Repeat, chosen: np.ndarray) -> float:
    return float(each.right[chosen & ~each.member].mean())


def _gap(each: Repeat, chosen: np.ndarray) -> float:
    return float(each.right[chosen & each.member].mean()) - _test(each, chosen)


METRICS = {
    "shapr": _mean_shapr(FIRST),
    "shapr_outputs": _mean_shapr(OUTPUTS),
    "score": _mean_score,
    "accuracy": _accuracy,
    "test": _test,
    "gap": _gap,
}
