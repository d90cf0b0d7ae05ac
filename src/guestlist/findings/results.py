"""Results of an audit: one optional field per finding, and tables to work on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd

from guestlist.arguments import as_path
from guestlist.blind.baseline import Baseline
from guestlist.case import Check, Origin
from guestlist.cover import Cover
from guestlist.data import Data
from guestlist.defences.training import Training
from guestlist.errors import FolderError
from guestlist.evaluate import WITHHELD, Estimate
from guestlist.findings.adjusted import Adjusted
from guestlist.findings.agreement import AgreementResult
from guestlist.findings.attacks import AttackResult
from guestlist.findings.beyond_blind import GainOverBaseline
from guestlist.findings.calibrated import CalibratedScore
from guestlist.findings.class_gap import GapCorrelation
from guestlist.findings.epsilon import Epsilon
from guestlist.findings.exposure import Exposure
from guestlist.findings.false_alarms import PerRecordFpr
from guestlist.findings.gated import Gated
from guestlist.findings.group_risks import GroupRisks
from guestlist.findings.groups import GroupResult
from guestlist.findings.headline import Headline
from guestlist.findings.hypothesis_tests import HypothesisTest, Level
from guestlist.findings.persons import ExposedPerson
from guestlist.findings.provenance import Provenance
from guestlist.findings.records import Exposed, ExposureSummary
from guestlist.findings.references import References
from guestlist.findings.risk_spread import RiskDistribution
from guestlist.findings.sampling import Sampling
from guestlist.findings.subject import Subject
from guestlist.reaching import path_error, path_exists
from guestlist.risks import PredictiveValue
from guestlist.store.files import read_json, write_json, write_npy, write_parquet, write_text
from guestlist.store.jsonable import from_json, to_json
from guestlist.unpacking import read_parquet

FORMAT = 3
NOT_FINDINGS = ("gate", "format", "records", "folder")


@dataclass(frozen=True, repr=False)
class Results:
    """An audit's findings, by the names of ``FINDINGS``; None: it was not looked for, or there is nothing of the kind.

    ``attacks`` and ``records`` are DataFrames to work on; ``summary()`` and ``to_html(path)`` are to read. ``gate`` is the
    outcome of a policy, if the gate was asked to keep it.
    """

    cover: Cover | None = None
    subject: Subject | None = None
    references: References | None = None
    training: Training | None = None
    baseline: Baseline | None = None
    gain_over_baseline: GainOverBaseline | None = None
    adjusted: Adjusted | None = None
    headline: Headline | None = None
    file_holder: Headline | None = None
    outcomes: tuple[AttackResult, ...] | None = None
    hypothesis_tests: tuple[HypothesisTest, ...] | None = None
    epsilon: Epsilon | None = None
    agreement: AgreementResult | None = None
    groups: tuple[GroupResult, ...] | None = None
    file_holder_groups: tuple[GroupResult, ...] | None = None
    group_risks: GroupRisks | None = None
    class_gap: tuple[GapCorrelation, ...] | None = None
    exposed: tuple[Exposed, ...] | None = None
    exposure_summary: ExposureSummary | None = None
    exposed_persons: tuple[ExposedPerson, ...] | None = None
    risks: tuple[PredictiveValue, ...] | None = None
    risk_distribution: RiskDistribution | None = None
    calibrated: tuple[CalibratedScore, ...] | None = None
    exposure: Exposure | None = None
    per_record_fpr: tuple[PerRecordFpr, ...] | None = None
    checks: tuple[Check, ...] | None = None
    sampling: Sampling | None = None
    untested: tuple[str, ...] | None = None
    provenance: Provenance | None = None
    origin: Origin | None = field(default=None, compare=False)
    gate: Gated | None = field(default=None, kw_only=True)
    format: int = field(default=FORMAT, kw_only=True)
    records: pd.DataFrame | None = field(default=None, compare=False, repr=False, kw_only=True)
    folder: Path | None = field(
        default=None, compare=False, repr=False, kw_only=True
    )  # where they are; not in results.json

    def attack(self, name: str) -> AttackResult:
        """The result of one attack, by name."""
        for outcome in self.outcomes or ():
            if outcome.name == name:
                return outcome
        ran = ", ".join(outcome.name for outcome in self.outcomes or ()) or "none"
        raise FolderError(f"Attack {name!r} was not run; these were: {ran}.")

    def levels(self, name: str) -> tuple[Level, ...]:
        """Return the realised rates of a test at its nominal levels; empty for other attacks."""
        return next((test.levels for test in self.hypothesis_tests or () if test.name == name), ())

    def check(self, code: str) -> Check | None:
        """One check, by its code."""
        return next((check for check in self.checks or () if check.code == code), None)

    @property
    def attacks(self) -> pd.DataFrame:
        """One row per attack: every estimate with the ends of its interval."""
        return pd.DataFrame([_row(outcome, self.levels(outcome.name)) for outcome in self.outcomes or ()])

    def document(self) -> dict:
        """The content of results.json: all but the table of records."""
        content = to_json(replace(self, records=None, folder=None))
        return {name: value for name, value in content.items() if name not in ("records", "folder")}

    @classmethod
    def finding_names(cls) -> tuple[str, ...]:
        """Return the names of the findings, one field each."""
        return tuple(part.name for part in fields(cls) if part.name not in NOT_FINDINGS)

    @classmethod
    def from_document(cls, content: Mapping) -> Self:
        """Return results from the content of results.json, without the table of records.

        A finding that the content lacks is None, and an unknown finding is ignored: files of older and newer versions can be
        read as long as the format is the same.
        """
        known = {name: content[name] for name in (*cls.finding_names(), "gate", "format") if name in content}
        return from_json(cls, {**known, "records": None})

    def summary(self) -> str:
        """Return the verdict and the table of attacks as text for a terminal."""
        from guestlist.report.terminal import summary

        return summary(self)

    def to_html(self, path: str | Path, *, features: Data | None = None) -> Path:
        """Write the report as one self-contained page and return its path.

        Args:
            path: file to write.
            features: the members of the audit with their ids, to show the features of the most exposed; the audit folder
                holds no features.
        """
        from guestlist.report.features import with_features
        from guestlist.report.page import page

        target = as_path("path", path)
        write_text(target, page(self if features is None else with_features(self, features)))
        return target

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        from guestlist.report.notebook import fragment

        return fragment(self)


def write_results(folder: Path, results: Results, scores: Mapping[str, np.ndarray]) -> None:
    """Write what came out into an audit folder: the scores, two tables, and results.json last."""
    for name, values in scores.items():
        write_npy(folder / "scores" / f"{name}.npy", values)
    if results.records is not None:
        write_parquet(folder / "records.parquet", results.records)
    write_parquet(folder / "attacks.parquet", results.attacks)
    write_json(folder / "results.json", results.document())


def read_results(folder: str | Path) -> Results:
    """Read the results in an audit folder."""
    folder = as_path("folder", folder)
    path = folder / "results.json"
    if not path_exists(path):
        raise FolderError(f"{folder} has no results.json: it is not an audit folder, or the audit was not finished.")
    try:
        content = read_json(path)
        if content.get("format") != FORMAT:
            raise FolderError(
                f"{path} has format {content.get('format')}, this version of guestlist reads format {FORMAT}. Run the "
                "audit again in the same folder: it keeps what was collected, and writes the results anew."
            )
        results = Results.from_document(content)
    except PermissionError as error:
        raise path_error(path, error) from error
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise FolderError(f"{path} is damaged ({type(error).__name__}: {error}). Run the audit again.") from error
    path = folder / "records.parquet"
    try:
        return replace(results, records=read_parquet(path) if path.exists() else None, folder=folder)
    except Exception as error:  # pyarrow has many words for a damaged file
        raise FolderError(f"{path} is damaged ({error}). Run the audit again.") from error


def _row(outcome: AttackResult, levels: tuple[Level, ...]) -> dict[str, object]:
    row: dict[str, object] = {"attack": outcome.name}
    row |= _spread("auc", outcome.auc) | _spread("advantage", outcome.advantage)
    for rate in outcome.rates:
        row |= _spread(f"tpr@{rate.fpr:g}", rate.tpr) | _spread(f"ppv@{rate.fpr:g}", rate.ppv)
    row |= _spread("balanced_accuracy", outcome.balanced_accuracy or WITHHELD)
    row |= {"unscored": outcome.unscored, "paper": outcome.paper}
    for level in levels:
        row |= _spread(f"realised_fpr@{level.alpha:g}", level.fpr) | _spread(f"realised_tpr@{level.alpha:g}", level.tpr)
    return row


def _spread(name: str, estimate: Estimate) -> dict[str, float]:
    return {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
