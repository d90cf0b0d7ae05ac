"""The options of an audit, validated once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from guestlist._case import PRIOR, About, notes_of
from guestlist._collect import (
    Engine,
    Progress,
    UntilWidth,
    WithinMinutes,
    check_about,
    check_folder,
    progress_of,
    resolve_engine,
)
from guestlist._diagnostics.table import check_codes
from guestlist._util import flag, integer, number
from guestlist.evidence import check_plans
from guestlist.evidence.table import AnyPlan
from guestlist.privacy import Claim

REFERENCES = 32
# The split is a table of models and records that must fit into memory.
MAX_REFERENCES = 100_000
References = int | UntilWidth | WithinMinutes


@dataclass(frozen=True, kw_only=True)
class AuditConfig:
    """The options of an audit; :func:`guestlist.audit` documents each of them.

    ``audit``, ``collect``, ``play``, ``defend``, ``experiment`` and ``audit_predictions`` share it. ``engine`` and ``progress``
    are resolved, and ``about`` includes the cover; see :meth:`from_options`.
    """

    label: str | None = None
    group: str | Sequence[str] = ()
    id: str | None = None
    person: str | None = None
    duplicates: Literal["warn", "drop"] = "warn"
    fit_params: Mapping[str, Any] | None = None
    references: References = REFERENCES
    attacks: Sequence[str | Callable] | None = None
    evidence: Sequence[AnyPlan] = ()
    folder: str | Path | None = None
    seed: int = 0
    engine: Engine
    prior: float = PRIOR
    ignore: Sequence[str] = ()
    baseline: bool = True
    claimed: Claim | None = None
    progress: Progress | None = None
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self):
        if self.claimed is not None and not isinstance(self.claimed, Claim):
            raise ValueError(f"claimed={self.claimed!r} is not a claim. Pass claimed=gl.Claim(epsilon=…, delta=…).")
        integer("references", getattr(self.references, "at_most", self.references), high=MAX_REFERENCES)
        integer("seed", self.seed)
        number("prior", self.prior, 0, 1)
        flag("baseline", self.baseline)
        check_about(self.about)
        check_folder(self.folder)
        check_plans(self.evidence)
        check_codes(self.ignore)

    @classmethod
    def from_options(
        cls,
        *,
        jobs: int | None = None,
        engine: Engine | None = None,
        progress: Progress | bool = True,
        about: About | None = None,
        **options: Any,
    ) -> "AuditConfig":
        """Build a config from options as users pass them: ``jobs``, a flag as ``progress``, a cover in ``about``."""
        return cls(
            engine=resolve_engine(engine, jobs),
            progress=progress_of(progress),
            about=notes_of(about),
            **options,
        )

    @property
    def min_references(self) -> int:
        """Number of reference models to train at first."""
        if isinstance(self.references, UntilWidth):
            return self.references.start
        if isinstance(self.references, WithinMinutes):
            return 1
        return self.references

    @property
    def checked_references(self) -> int:
        """Number of reference models that the attacks are checked against before any is trained."""
        if isinstance(self.references, WithinMinutes):
            return self.references.at_most
        return self.min_references

    @property
    def budget(self) -> WithinMinutes | None:
        """Minutes that the audit may take; None without a limit."""
        if isinstance(self.references, WithinMinutes):
            return self.references
        return None

    @property
    def until(self) -> UntilWidth | None:
        """Interval width at which training of reference models stops; None for a fixed number."""
        if isinstance(self.references, UntilWidth):
            return self.references
        return None

    def fixed_references(self, reason: str) -> int:
        """Return the number of reference models; raise with the reason if it is not fixed."""
        if not isinstance(self.references, int):
            raise ValueError(f"references={self.references} must be an integer: {reason}.")
        return self.references

    @property
    def input_options(self) -> dict[str, Any]:
        """Options of :func:`~guestlist._collect.inputs.prepare`."""
        return {
            "label": self.label,
            "group": self.group,
            "id": self.id,
            "person": self.person,
            "duplicates": self.duplicates,
            "seed": self.seed,
            "fit_params": self.fit_params,
        }


def claim_about(claim: Claim | None) -> dict[str, Any]:
    """Return the entry of a claim in a folder's manifest; empty without a claim.

    Args:
        claim: A claim, or None.

    Returns:
        ``{"claimed": {…}}`` with the fields of the claim.

    Raises:
        ValueError: If it is neither a claim nor None.
    """
    if claim is None:
        return {}
    return {"claimed": asdict(claim)}
