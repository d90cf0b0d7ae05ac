"""What an audit found: everything the report shows, and the tables to work on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from guestlist.errors import FolderError
from guestlist.evaluate import Estimate
from guestlist.store.jsonable import from_json, to_json

FORMAT = 2


@dataclass(frozen=True)
class RegressionFit:
    """How well a regression predicts: R² (share of the variance of these records that it explains) and RMSE."""

    r2: float
    rmse: float


@dataclass(frozen=True)
class Subject:
    """Who was audited.

    ``classes`` is 0 for regression, which has no accuracies but ``fit_members`` and ``fit_nonmembers`` instead.
    """

    name: str
    classes: int
    members: int
    nonmembers: int
    population: int
    accuracy_members: float | None = None
    accuracy_nonmembers: float | None = None
    fit_members: RegressionFit | None = None
    fit_nonmembers: RegressionFit | None = None


@dataclass(frozen=True)
class References:
    """Who it was compared with: how many, trained on how many records."""

    count: int
    records: float
    rate: float
    seed: int


@dataclass(frozen=True)
class Recipe:
    """The headline attack on other models of the same recipe: is this model unlucky, or is it the recipe?

    ``auc`` is the mean over models, with the interval for a fresh model on fresh records; ``share_larger`` the share
    of them with a larger AUC than the target's.
    """

    auc: Estimate
    aucs: tuple[float, ...]
    share_larger: float


@dataclass(frozen=True)
class Rate:
    """TPR at a false-positive rate, and whether this many non-members can resolve that rate.

    ``ppv`` is the share of true members among those called, at the results' ``prior``; ``detectable`` the smallest TPR
    that an audit of this size finds four times in five.
    """

    fpr: float
    tpr: Estimate
    ppv: Estimate
    resolution: str
    detectable: float


@dataclass(frozen=True)
class Level:
    """A test that was asked for a false-positive rate of at most ``alpha``: the rates that it realised."""

    alpha: float
    fpr: Estimate
    tpr: Estimate


@dataclass(frozen=True)
class Curve:
    """ROC points, and a pointwise band at some false-positive rates."""

    fpr: tuple[float, ...]
    tpr: tuple[float, ...]
    band_fpr: tuple[float, ...]
    band_low: tuple[float, ...]
    band_high: tuple[float, ...]


@dataclass(frozen=True)
class Histogram:
    """Scores of members and of non-members over common bins, as shares of each side."""

    edges: tuple[float, ...]
    members: tuple[float, ...]
    nonmembers: tuple[float, ...]


@dataclass(frozen=True)
class AttackResult:
    """What one attack achieved.

    ``balanced_accuracy`` is at the attack's own threshold, if it has one. ``levels`` are of attacks with p-values,
    and leave out the levels that are smaller than any p-value the attack could have given.
    """

    name: str
    summary: str
    paper: str
    auc: Estimate
    advantage: Estimate
    rates: tuple[Rate, ...]
    levels: tuple[Level, ...]
    balanced_accuracy: Estimate | None
    unscored: int
    curve: Curve
    histogram: Histogram


@dataclass(frozen=True)
class AgreementResult:
    """On which share of members, and of non-members, two attacks say the same; the first of ``names`` is the truth.

    ``by_p_value``: whether the calls are the attack's own, of records with a p-value of at most ``alpha``; where it has
    none that small, they are those at the threshold that a share ``alpha`` of the non-members exceeds.
    """

    alpha: float
    names: tuple[str, ...]
    by_p_value: tuple[bool, ...]
    members: tuple[tuple[float, ...], ...]
    nonmembers: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class GroupResult:
    """How well the headline attack does within one group of records."""

    group: str
    value: str
    members: int
    nonmembers: int
    auc: Estimate


@dataclass(frozen=True)
class Exposed:
    """A member that the headline attack ranks high. ``p_value``: share of non-members ranked at least as high."""

    id: str
    label: str
    groups: Mapping[str, str]
    score: float
    p_value: float


@dataclass(frozen=True)
class Provenance:
    """What the numbers depend on."""

    versions: Mapping[str, str]
    fingerprints: Mapping[str, str]


@dataclass(frozen=True)
class Results:
    """An audit's findings.

    ``attacks`` and ``records`` are DataFrames to work on; everything else is what the report is made of.
    """

    subject: Subject
    references: References | None
    headline: str
    chosen: str
    recipe: Recipe | None
    prior: float
    findings: tuple[AttackResult, ...]
    agreement: AgreementResult | None
    detectable_auc: float
    groups: tuple[GroupResult, ...]
    exposed: tuple[Exposed, ...]
    notices: tuple[str, ...]
    untested: tuple[str, ...]
    provenance: Provenance
    format: int = FORMAT
    records: pd.DataFrame | None = field(default=None, compare=False, repr=False)

    def attack(self, name: str) -> AttackResult:
        """The result of one attack, by name."""
        for finding in self.findings:
            if finding.name == name:
                return finding
        raise FolderError(f"Attack {name!r} was not run; these were: {', '.join(f.name for f in self.findings)}.")

    @property
    def attacks(self) -> pd.DataFrame:
        """One row per attack: every estimate with the ends of its interval."""
        return pd.DataFrame([_row(finding) for finding in self.findings])

    def summary(self) -> str:
        """The answer in words and the table of attacks, for a terminal."""
        from guestlist.report.terminal import summary

        return summary(self)

    def to_html(self, path: str | Path) -> Path:
        """Write the report, one self-contained page, and return where it is."""
        from guestlist.report.page import page
        from guestlist.store.files import write_text

        write_text(Path(path), page(self))
        return Path(path)

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        from guestlist.report.notebook import fragment

        return fragment(self)

    def document(self) -> dict:
        """The content of results.json: all but the table of records."""
        return {name: value for name, value in to_json(_without_records(self)).items() if name != "records"}


def read_results(folder: str | Path) -> Results:
    """The results in an audit folder."""
    folder = Path(folder)
    path = folder / "results.json"
    if not path.exists():
        raise FolderError(f"{folder} has no results.json: it is no audit folder, or the audit was not finished.")
    try:
        content = json.loads(path.read_text("utf-8"))
        if content.get("format") != FORMAT:
            raise FolderError(
                f"{path} has format {content.get('format')}, this version of guestlist reads format {FORMAT}. Run the "
                "audit again in the same folder: it keeps what was collected, and writes the results anew."
            )
        results = from_document(content)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise FolderError(f"{path} is damaged ({type(error).__name__}: {error}). Run the audit again.") from error
    path = folder / "records.parquet"
    try:
        return replace(results, records=pd.read_parquet(path) if path.exists() else None)
    except (OSError, ValueError) as error:
        raise FolderError(f"{path} is damaged ({error}). Run the audit again.") from error


def from_document(content: Mapping) -> Results:
    """Results from the content of results.json, without the table of records."""
    return from_json(Results, {**content, "records": None})


def _without_records(results: Results) -> Results:
    return replace(results, records=None)


def _row(finding: AttackResult) -> dict[str, object]:
    row: dict[str, object] = {"attack": finding.name}
    row |= _spread("auc", finding.auc) | _spread("advantage", finding.advantage)
    for rate in finding.rates:
        row |= _spread(f"tpr@{rate.fpr:g}", rate.tpr) | _spread(f"ppv@{rate.fpr:g}", rate.ppv)
    accuracy = finding.balanced_accuracy or Estimate(np.nan, np.nan, np.nan)
    row |= _spread("balanced_accuracy", accuracy)
    row |= {"unscored": finding.unscored, "paper": finding.paper}
    for level in finding.levels:
        row |= _spread(f"realised_fpr@{level.alpha:g}", level.fpr) | _spread(f"realised_tpr@{level.alpha:g}", level.tpr)
    return row


def _spread(name: str, estimate: Estimate) -> dict[str, float]:
    return {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
