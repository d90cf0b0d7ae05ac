"""Comparison of every defence with the plain model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from guestlist._audit.compare import compare
from guestlist._audit.comparison import Comparison, Difference, person_codes
from guestlist._audit.defence_candidates import AGAIN, PLAIN
from guestlist._audit.defence_runs import Removed, Tried
from guestlist._findings.results import Results
from guestlist._store import to_json
from guestlist.errors import InputError
from guestlist.metrics import WITHHELD, Estimate, auc_difference

ERROR = 0.05
FPR = 0.05


@dataclass(frozen=True)
class Row:
    """Result of one defence.

    Args:
        name, defence: of the candidate.
        failed: reason why there are no results, if any.
        options: number of options of this defence that were evaluated on the same records.
        members: number of compared members, on which both models trained.
        accuracy: on non-members; None for regression.
        auc, tpr: of each audit's own headline attack, with intervals that are not corrected for other rows.
        gap: AUC minus that of the plain model, with an interval corrected for all rows.
        epsilon: guaranteed by one such training, at ``delta``; None without a guarantee, or if it cannot be computed here.
        removed: members that were removed, if any.
    """

    name: str
    defence: str
    failed: str = ""
    options: int = 1
    members: int = 0
    accuracy: Difference | None = None
    auc: Difference | None = None
    tpr: Difference | None = None
    gap: Estimate | None = None
    epsilon: float | None = None
    delta: float | None = None
    removed: Removed | None = None

    @property
    def leaks_less(self) -> bool:
        """Evidence, corrected for all defences tried, that the AUC is smaller, without a larger TPR."""
        less = self.gap is not None and self.gap.high < 0
        return less and not (self.tpr is not None and self.tpr.differs and self.tpr.difference.value > 0)

    @property
    def less_accurate(self) -> bool:
        """Evidence that fewer predictions are right."""
        return self.accuracy is not None and self.accuracy.differs and self.accuracy.difference.value < 0


@dataclass(frozen=True, repr=False)
class Defended:
    """Defences that were tried, and their results.

    Attributes:
        rows: One per defence, in the order in which they were tried.
        plain: Audit of the model as it is.
        audits: Name of a defence to its audit.
        compared: ``gl.compare`` of the audits of the same records, which excludes removals; None if there are none.

    Examples:
        >>> model, members, nonmembers = gl.testing.small_model()
        >>> rounded = {"one digit": gl.defences.Rounded(1)}
        >>> defended = gl.defend(
        ...     model, members, nonmembers, defences=rounded, references=4, attacks=["loss"], baseline=False, jobs=1
        ... )
        >>> [row.name for row in defended.rows]
        ['trained again', 'one digit']
        >>> defended.helps
        ()
    """

    rows: tuple[Row, ...]
    plain: Results
    audits: Mapping[str, Results]
    compared: Any = None

    @property
    def helps(self) -> tuple[str, ...]:
        """Defences with evidence of a smaller leak, the most accurate first."""
        helpful = [row for row in self.rows if row.leaks_less and row.name != AGAIN]
        return tuple(row.name for row in sorted(helpful, key=lambda row: (-_accuracy(row), _auc(row))))

    @property
    def table(self) -> pd.DataFrame:
        """One row per defence: differences to the plain model with the ends of their intervals."""
        return pd.DataFrame([_flat(row) for row in self.rows])

    def __repr__(self) -> str:
        return self.table.to_string()

    def document(self) -> list[dict[str, Any]]:
        """Return the rows as JSON."""
        return [to_json(row) for row in self.rows]


def compare_defences(plain: Results, tried: Sequence[Tried], fpr: float) -> Defended:
    """Compare every audited defence with the plain model."""
    done = {attempt.candidate.name: attempt for attempt in tried if attempt.results is not None}
    confidence = together(len(done))
    audits = {name: attempt.results for name, attempt in done.items() if attempt.results is not None}
    same = {name: results for name, results in audits.items() if _removed(done[name]) is None}
    compared = compare({PLAIN: plain, **same}, fpr=fpr) if same else None
    comparisons = {attempt.second: attempt for attempt in compared or ()}
    for name in audits.keys() - same.keys():
        pair = {PLAIN: restricted_to(plain, audits[name]), name: audits[name]}
        comparisons |= {attempt.second: attempt for attempt in compare(pair, fpr=fpr)}
    names = [attempt.candidate.defence for attempt in done.values()]
    rows = tuple(
        _row(attempt, comparisons, plain, confidence, names.count(attempt.candidate.defence)) for attempt in tried
    )
    return Defended(rows, plain, audits, compared)


def together(defences: int) -> float:
    """Return the confidence of each interval with which all of them hold at 95 % (Bonferroni)."""
    return 1 - ERROR / max(1, defences)


def restricted_to(plain: Results, other: Results) -> Results:
    """Return the audit of the plain model, with only the records of another audit."""
    records = table_of(plain)
    return replace(plain, records=records[records["id"].isin(table_of(other)["id"])].reset_index(drop=True))


def table_of(results: Results) -> pd.DataFrame:
    assert results.records is not None, "audits that were just made have their records"
    return results.records


def auc_gap(plain: Results, other: Results, confidence: float) -> Estimate:
    """Return the AUC of an audit's headline attack minus the plain model's, on the records of both."""
    first, second = (_by_id(results) for results in (restricted_to(plain, other), other))
    return auc_difference(
        _scores(second, other),
        _scores(first, plain),
        first["member"].to_numpy(dtype=bool),
        clusters=person_codes(first),
        confidence=confidence,
    )


def _by_id(results: Results) -> pd.DataFrame:
    return table_of(results).set_index("id").sort_index(kind="stable")


def _scores(table: pd.DataFrame, results: Results) -> np.ndarray:
    """Return the scores of the audit's headline attack."""
    assert results.headline is not None, "an audit has a headline"
    return table[f"score_{results.headline.name}"].to_numpy(dtype=float)


def _row(tried: Tried, comparisons: Mapping[str, Comparison], plain: Results, confidence: float, options: int) -> Row:
    candidate = tried.candidate
    if tried.results is None:
        return Row(candidate.name, candidate.defence, failed=tried.failed)
    comparison = comparisons[candidate.name]
    epsilon, delta = _guarantee(candidate.method, comparison.members)
    return Row(
        candidate.name,
        candidate.defence,
        options=options,
        members=comparison.members,
        accuracy=next((d for d in comparison.differences if d.metric == "accuracy" and d.scope == "non-members"), None),
        auc=next(d for d in comparison.differences if d.metric == "auc"),
        tpr=next(d for d in comparison.differences if d.metric == "tpr"),
        gap=auc_gap(plain, tried.results, confidence),
        epsilon=epsilon,
        delta=delta,
        removed=_removed(tried),
    )


def _guarantee(method: Any, members: int) -> tuple[float | None, float | None]:
    """Return epsilon and delta of a private training, if they can be computed; delta is below 1 / members."""
    if not hasattr(method, "privacy"):
        return None, None
    delta = min(1e-5, 0.1 / members)
    try:
        return float(method.privacy(delta).epsilon), delta
    except InputError:  # the accountant is an extra
        return None, None


def _removed(tried: Tried) -> Removed | None:
    if tried.note is None:
        return None
    return tried.note.removed


def _accuracy(row: Row) -> float:
    if row.accuracy is None:
        return 0.0
    return row.accuracy.second.value


def _auc(row: Row) -> float:
    if row.auc is None:
        return float("inf")
    return row.auc.second.value


def _flat(row: Row) -> dict[str, Any]:
    flat: dict[str, Any] = {"defence": row.name}
    for name, difference in (("accuracy", row.accuracy), ("auc", row.auc), ("tpr", row.tpr)):
        value = np.nan
        change = WITHHELD
        if difference is not None:
            value = difference.second.value
            change = difference.difference
        flat |= {name: value} | dict(zip((f"{name}_change", f"{name}_low", f"{name}_high"), change, strict=True))
    return flat | {
        "leaks_less": row.leaks_less,
        "less_accurate": row.less_accurate,
        "members": row.members,
        "epsilon": row.epsilon,
        "failed": row.failed,
    }
