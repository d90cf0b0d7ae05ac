"""results.json: how it is read, and the part of it that a gate reads and adds.

A gate runs in CI, so this module imports neither pandas nor SciPy's subpackages, and the table of records is read on demand.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from guestlist._case import Check, CheckValue
from guestlist._store import from_json, read_json
from guestlist._util import close_matches, path_error, path_exists
from guestlist.errors import FolderError
from guestlist.metrics import Estimate

if TYPE_CHECKING:
    import pandas as pd


FORMAT = 3
T = TypeVar("T")


def read_document(folder: Path, convert: Callable[[Mapping], T]) -> T:
    """Read results.json in an audit folder.

    Args:
        folder: the audit folder.
        convert: function from the content to the results, or to a part of them.

    Raises:
        FolderError: If the folder has no results, they are damaged, or another version of guestlist wrote them.
    """
    path = folder / "results.json"
    if not path_exists(folder):
        raise FolderError(f"There is no folder {folder}. Check the path.")
    if not path_exists(path):
        raise FolderError(
            f"{folder} has no results.json: it is not an audit folder, or the audit did not finish. Run the audit again."
        )
    try:
        content = read_json(path)
        if content.get("format") != FORMAT:
            raise FolderError(
                f"{path} has format {content.get('format')}; this version of guestlist reads format {FORMAT}. Run the "
                "audit again in the same folder: it keeps what was collected and rewrites the results."
            )
        return convert(content)
    except PermissionError as error:
        raise path_error(path, error) from error
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise FolderError(f"{path} is damaged ({type(error).__name__}: {error}). Run the audit again.") from error


def read_records(folder: Path) -> "pd.DataFrame | None":
    """Read the table of evaluated records in an audit folder; None if there is none."""
    from guestlist._util import read_parquet  # imports pandas

    path = folder / "records.parquet"
    try:
        return read_parquet(path) if path.exists() else None
    except Exception as error:  # pyarrow raises many types of errors for a damaged file
        raise FolderError(f"{path} is damaged ({error}). Run the audit again.") from error


Measure = Literal["auc", "tpr", "advantage"]


@dataclass(frozen=True)
class Limit:
    """Largest AUC, advantage, or TPR at the false positive rate ``fpr``, that passes the gate."""

    maximum: float
    measure: Measure = "auc"
    fpr: float | None = None

    def __post_init__(self):
        if self.measure not in ("auc", "tpr", "advantage"):
            raise ValueError(f"Expected measure={self.measure!r} to be 'auc', 'tpr' or 'advantage'.")
        if (self.fpr is not None) != (self.measure == "tpr"):
            raise ValueError(
                f"Expected fpr= with measure='tpr' only; found fpr={self.fpr} with measure={self.measure!r}."
            )
        for name, value in {"limit": self.maximum, "fpr": self.fpr}.items():
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
        estimate: NaN if the attack has no estimate of the metric, which cannot pass.
        margin: the limit minus the upper end; negative if the limit is exceeded.
        sample_size_needed: approximate number of records that would bring the upper end down to the limit at the present
            value. None: the limit is met already, no number suffices, or it is unknown.
        drivers: ids of the members that drive the number up; none if it passes.
        tied: number of members tied for the next rank, too many to list.
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
    """A requirement that an audit must meet before its numbers count, and whether it does.

    Args:
        code: as in :func:`guestlist._audit.gate.demands`.
        values: numbers and names that the message reports.
    """

    code: str
    passed: bool
    values: Mapping[str, CheckValue]


@dataclass(frozen=True)
class OpenCheck:
    """A check of the audit that found an issue, or that the user chose to ignore.

    Args:
        code: a row of ``CHECKS``.
        values: numbers and names that the message reports.
        undermines: whether the audit may have missed a leak because of it.
        ignored: ``audit`` or ``gate``, depending on where the user ignored it; empty if it is not ignored.
    """

    code: str
    values: Mapping[str, CheckValue]
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
        checks: every open check of the audit, and every check that is ignored.
        policy, sha256: text of the policy file, and the hash of its bytes; None if limits were passed separately.
    """

    passed: bool
    verdicts: tuple[Verdict, ...]
    demands: tuple[Demand, ...]
    policy: str | None = None
    sha256: str | None = None
    checks: tuple[OpenCheck, ...] = ()


@dataclass(frozen=True)
class MeasuredRate:
    """TPR of an attack at a false-positive rate.

    Attributes:
        fpr: The false-positive rate.
        tpr: The true-positive rate.
    """

    fpr: float
    tpr: Estimate


@dataclass(frozen=True)
class MeasuredAttack:
    """The metrics of an attack that limits apply to."""

    name: str
    auc: Estimate
    advantage: Estimate
    rates: tuple[MeasuredRate, ...]


@dataclass(frozen=True)
class ReferenceCount:
    """Number of reference models."""

    count: int


@dataclass(frozen=True)
class GateInput:
    """The part of an audit's results that a gate reads, with the names of results.json.

    Attributes:
        outcomes: Metrics of each attack.
        checks: Outcome of every check.
        subject: Numbers of members and non-members.
        references: Number of reference models; None without any.
        baseline: Result of the model-free baseline; None if it was not run.
        load_records: Returns the table of records, which a gate needs to name members, and for rates that were not stored.
    """

    outcomes: tuple[MeasuredAttack, ...] | None = None
    checks: tuple[Check, ...] | None = None
    subject: Sizes | None = None
    references: ReferenceCount | None = None
    baseline: Any = None
    load_records: Callable[[], Any] = field(default=lambda: None, compare=False)

    @cached_property
    def records(self) -> "pd.DataFrame | None":
        """One row per evaluated record."""
        return self.load_records()

    def attack(self, name: str) -> MeasuredAttack:
        """Return the metrics of one attack, by name."""
        return attack_named(name, self.outcomes or ())

    def check(self, code: str) -> Check | None:
        """Return one check, by its code."""
        return next((check for check in self.checks or () if check.code == code), None)


def read_gate_input(folder: Path) -> GateInput:
    """Read the part of the results in an audit folder that a gate needs; the table of records is read on demand."""
    stored: GateInput = read_document(folder, partial(from_json, GateInput))
    return replace(stored, load_records=partial(read_records, folder))


def attack_named(name: str, outcomes: Sequence[Any]) -> Any:
    """Return the result of one attack, by name; the error lists similar names."""
    for outcome in outcomes:
        if outcome.name == name:
            return outcome
    names = [outcome.name for outcome in outcomes]
    raise FolderError(f"Attack {name!r} was not run. Available names: {close_matches(name, names)}.")
