"""Comparisons of audits as data, and the pairing of their records."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from guestlist import _report  # its names are loaded when a page is written
from guestlist._case import Cover
from guestlist._findings import Results, interval_columns
from guestlist._kernels import consecutive_codes
from guestlist._store import to_json, write_json, write_text
from guestlist.defences import Training
from guestlist.errors import InputError
from guestlist.metrics import WITHHELD, Estimate


@dataclass(frozen=True)
class Difference:
    """One metric of two audits and the difference, second minus first.

    Args:
        metric: ``accuracy``, ``auc``, ``tpr`` or ``calibration_error``; ``exposed_auc`` and ``exposed_tpr`` are those of the most
            exposed members.
        scope: the records that it is measured on, or the attacks.
        first, second: the metric in each audit, with its 95% interval.
        difference: with an interval corrected for all metrics of the comparison.
    """

    metric: str
    scope: str
    first: Estimate
    second: Estimate
    difference: Estimate

    @property
    def differs(self) -> bool:
        """Return whether the difference is statistically significant."""
        return not np.isnan(self.difference.value) and not self.difference.low <= 0 <= self.difference.high


@dataclass(frozen=True)
class MostExposed:
    """The most exposed members according to the references of either audit.

    Args:
        share: their share of all members.
        members: their number.
        seen_from: smallest detectable difference in TPR if the first attack flags all of them; None: no difference is
            detectable.
    """

    share: float
    members: int
    seen_from: float | None


@dataclass(frozen=True)
class RiskChanges:
    """Members whose risk mu changed significantly.

    Args:
        q: false discovery rate of each list.
        tested: number of members with a mu in both audits.
        rose, fell: ids, the largest change first.
    """

    q: float
    tested: int
    rose: tuple[str, ...]
    fell: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """Differences of the second of two audits from the first.

    Attributes:
        first, second: Names of the audits.
        members, nonmembers: Numbers of records that were evaluated in both.
        fpr: False positive rate of the TPR.
        differences: Second minus first, in accuracy on non-members and on members, in AUC and TPR of all and of the most exposed
            members, and in calibration error.
        most_exposed: The most exposed members; None if an audit has no mu.
        risk_changes: Members whose risk changed; None if an audit has no standard errors of mu.

    Examples:
        >>> results = gl.testing.small_audit()
        >>> comparison = gl.compare({"first run": results, "second run": results}).pairs[0]
        >>> comparison.first, comparison.second, comparison.members
        ('first run', 'second run', 200)
        >>> any(row.differs for row in comparison.differences)
        False
    """

    first: str
    second: str
    members: int
    nonmembers: int
    fpr: float
    differences: tuple[Difference, ...]
    most_exposed: MostExposed | None = None
    risk_changes: RiskChanges | None = None

    @property
    def table(self) -> pd.DataFrame:
        """One row per metric."""
        return pd.DataFrame(
            [
                {
                    "metric": row.metric,
                    "scope": row.scope,
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


@dataclass(frozen=True)
class AuditMetrics:
    """Metrics of one audit, each with its own 95% interval.

    Args:
        attack: headline attack, to which AUC and TPR refer.
        accuracy, accuracy_members: accuracy on non-members and on members; None for regression.
        calibration_error: on non-members; None if confidences were not recorded.
        risks: name of a risk to its quantiles over members, at ``LEVELS``.
        training: training of the model, and the attacker's knowledge of it; None if not recorded.
    """

    name: str
    attack: str
    accuracy: Estimate | None
    accuracy_members: Estimate | None
    auc: Estimate
    tpr: Estimate
    calibration_error: Estimate | None
    risks: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    training: Training | None = None


@dataclass(frozen=True)
class Comparisons:
    """Audits of the same records: each by itself, and pairs of them.

    Iterate or index it to get the pairs; ``to_html(path)`` writes a page.

    Attributes:
        fpr: False positive rate of every TPR.
        audits: Metrics of each audit, in the order given; all others are compared with the first.
        pairs: Every audit with the first, then the requested ``pairs``.
        cover: Cover of the page; by default the entries on which the covers of all audits agree.

    Examples:
        >>> results = gl.testing.small_audit()
        >>> compared = gl.compare({"first run": results, "second run": results})
        >>> [audit.name for audit in compared.audits]
        ['first run', 'second run']
        >>> compared.pair("first run", "second run").nonmembers
        200
    """

    fpr: float
    audits: tuple[AuditMetrics, ...]
    pairs: tuple[Comparison, ...]
    cover: Cover | None = None

    def __iter__(self) -> Iterator[Comparison]:
        return iter(self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, at: int) -> Comparison:
        return self.pairs[at]

    def pair(self, first: str, second: str) -> Comparison:
        """Return the comparison of two audits by their names."""
        for comparison in self.pairs:
            if (comparison.first, comparison.second) == (first, second):
                return comparison
        raise KeyError(
            f"{first!r} and {second!r} were not compared. Compare them with pairs={{{first!r}: [{second!r}]}}."
        )

    @property
    def table(self) -> pd.DataFrame:
        """One row per audit: every metric with the ends of its interval."""
        return pd.DataFrame([_row(audit) for audit in self.audits])

    def to_html(self, path: str | Path) -> Path:
        """Write the comparison as one self-contained page and return its path."""
        write_text(Path(path), _report.comparison_page(self))
        return Path(path)

    def to_json(self, path: str | Path) -> Path:
        """Write all numbers as JSON and return the path."""
        write_json(Path(path), to_json(self))
        return Path(path)


def _row(audit: AuditMetrics) -> dict[str, object]:
    row: dict[str, object] = {"audit": audit.name, "attack": audit.attack, "attacker": None}
    if audit.training is not None:
        row["attacker"] = audit.training.attacker
    for name in ("accuracy", "accuracy_members", "auc", "tpr", "calibration_error"):
        row |= interval_columns(name, getattr(audit, name) or WITHHELD)
    return row


@dataclass(frozen=True, eq=False)
class Side:
    """One audit: its name, its headline attack, and its records in an order that all audits share."""

    name: str
    attack: str
    records: pd.DataFrame
    results: Results

    @cached_property
    def member(self) -> np.ndarray:
        return self.records["member"].to_numpy(dtype=bool)

    @cached_property
    def persons(self) -> np.ndarray | None:
        if "person" not in self.records:
            return None
        return consecutive_codes(self.records["person"].to_numpy())

    @cached_property
    def scores(self) -> np.ndarray:
        return self.values(f"score_{self.attack}")

    def values(self, column: str) -> np.ndarray:
        return self.records[column].to_numpy(dtype=float)

    def has(self, *columns: str) -> bool:
        return all(column in self.records for column in columns)


def side_of(name: str, results: Results) -> Side:
    """Return an audit for comparison: its records sorted by id."""
    if results.records is None or results.headline is None:
        raise InputError(
            f"The audit {name!r} has no table of records. Read it with gl.read_results(folder), or run the audit again."
        )
    table = results.records.set_index("id").sort_index(kind="stable")
    if table.index.has_duplicates:
        raise InputError(
            f"The audit {name!r} has several records with the same id, so records cannot be paired. Use unique ids."
        )
    attack = results.headline.name
    if f"score_{attack}" not in table:
        raise InputError(f"The audit {name!r} has no scores of its headline attack {attack!r}. Run the audit again.")
    return Side(name, attack, table, results)


def with_common_persons(sides: Mapping[str, Side]) -> dict[str, Side]:
    """Return the audits, all with the persons of the first audit that has some: intervals of all pairs then count persons."""
    known = next((side.records["person"] for side in sides.values() if side.persons is not None), None)
    if known is None:
        return dict(sides)
    return {
        name: side if side.persons is not None else replace(side, records=side.records.assign(person=known))
        for name, side in sides.items()
    }


def check_pairs(first: Side, second: Side) -> None:
    """Raise unless both have the same records, members and labels."""
    missing = len(first.records.index.symmetric_difference(second.records.index))
    if missing:
        raise InputError(
            f"{missing} records are in only one of the audits {first.name!r} and {second.name!r}. Audit both models on "
            "the same members and non-members."
        )
    for column in ("member", "label"):
        unlike = int((first.records[column].astype(str) != second.records[column].astype(str)).sum())
        if unlike:
            raise InputError(
                f"{unlike} records have a different {column} in {second.name!r} from {first.name!r}. Compare audits of "
                "the same split."
            )
