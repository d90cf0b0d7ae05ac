"""Results of an audit: one optional field per finding, tables of records, and the gate's verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import combinations
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd

from guestlist import _report  # its names are loaded when a method renders results
from guestlist._baseline.baseline import Baseline
from guestlist._case import Case, Check, Cover, Origin
from guestlist._findings import (
    FORMAT,
    Adjusted,
    AgreementResult,
    AttackResult,
    CalibratedScore,
    Epsilon,
    Exposed,
    ExposedPerson,
    Exposure,
    ExposureSummary,
    GainOverBaseline,
    GapCorrelation,
    Gated,
    GroupResult,
    GroupRisk,
    GroupRisks,
    Headline,
    HypothesisTest,
    Level,
    PerRecordFpr,
    Provenance,
    References,
    RiskDistribution,
    Sampling,
    Subject,
    attack_named,
    headline,
    read_document,
    read_records,
    records,
)
from guestlist._store import from_json, to_json, write_json, write_npy, write_parquet, write_text
from guestlist._util import as_path
from guestlist.data import Data
from guestlist.defences import Training
from guestlist.metrics import MIN_CORRELATION_SIZE, WITHHELD, Estimate
from guestlist.risks import RECOMMENDED, RISKS, PredictiveValue

NOT_FINDINGS = ("gate", "format", "records", "folder")


@dataclass(frozen=True, repr=False)
class Results:
    """Results of an audit.

    ``summary()`` and ``to_html(path)`` render the report; ``attacks`` and ``records`` are DataFrames. A field is None if the
    finding was not computed or does not apply.

    Attributes:
        cover: Cover of the report.
        subject: The audited model and the numbers of members and non-members.
        references: Number of reference models, and of the records that they trained on.
        training: Training of the model and the attacker's knowledge of it.
        baseline: Model-free baseline: AUC of a classifier that reads the records but not the model.
        gain_over_baseline: AUC of the headline attack minus that of the baseline.
        adjusted: AUC after non-members are weighted to match members.
        headline: Attack that the verdict rests on, for someone who can query the model.
        file_holder: The same for someone who holds the model file.
        outcomes: One result per attack, with AUC, advantage and TPR at low FPRs.
        hypothesis_tests: Realised false positive rates of the attacks that compute p-values.
        epsilon: Claimed differential privacy, and the lower bound on epsilon.
        agreement: Agreement of the attacks on single records.
        groups: Leakage of each group under the headline attack.
        file_holder_groups: The same for someone who holds the model file.
        group_risks: Risks of groups, pairs of groups and classes.
        class_gap: Correlation of each risk with the generalisation gap, over classes.
        exposed: Most exposed members, with their p-values.
        exposure_summary: Numbers behind the list of the most exposed members.
        exposed_persons: Most exposed persons, if person identifiers are known.
        risks: How well each risk predicts which members are identified.
        risk_distribution: Quantiles of each risk, and rank correlations over members.
        calibrated: Calibration of the membership probabilities, at the prior and at others.
        exposure: Number of flagged members, and how stable the flags are.
        per_record_fpr: False positive rate of single records under models that were not trained on them.
        checks: Outcome of every check.
        sampling: Computations that used part of the records; None if all used all.
        untested: Forms of leakage that the audit did not test.
        provenance: Versions of packages, and fingerprints of the data and the recipe.
        origin: Call or command that made the audit; the report repeats its options in suggestions.
        gate: Verdict on a policy, if the gate stored it.
        format: Version of the file format.
        records: One row per evaluated record, with scores and risks.
        folder: Audit folder; None if it was temporary.

    Examples:
        >>> results = gl.testing.small_audit()
        >>> results.attacks[["attack", "unscored"]].to_dict("list")
        {'attack': ['loss', 'lira'], 'unscored': [0, 5]}
        >>> auc = results.attack("loss").auc
        >>> bool(auc.low < auc.value < auc.high)
        True
        >>> results.summary().splitlines()[0]
        'Can training records of DecisionTreeClassifier be identified?'
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
    folder: Path | None = field(default=None, compare=False, repr=False, kw_only=True)  # not in results.json

    def attack(self, name: str) -> AttackResult:
        """Return the result of one attack, by name."""
        return attack_named(name, self.outcomes or ())

    def levels(self, name: str) -> tuple[Level, ...]:
        """Return the realised rates of a test at its nominal levels; empty for other attacks."""
        return next((test.levels for test in self.hypothesis_tests or () if test.name == name), ())

    def check(self, code: str) -> Check | None:
        """Return one check, by its code."""
        return next((check for check in self.checks or () if check.code == code), None)

    @property
    def attacks(self) -> pd.DataFrame:
        """One row per attack: every estimate with the ends of its interval."""
        return pd.DataFrame([_row(outcome, self.levels(outcome.name)) for outcome in self.outcomes or ()])

    def document(self) -> dict:
        """Return the content of results.json, without the table of records."""
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

    def summary(self, *, verbose: bool = False) -> str:
        """Return the verdict and its main numbers as text for a terminal.

        Args:
            verbose: Include the metrics of every attack, all checks and all limits.
        """
        return _report.summary(self, verbose=verbose)

    def to_html(self, path: str | Path, *, features: Data | None = None) -> Path:
        """Write the report as one self-contained page and return its path.

        Args:
            path: file to write.
            features: the members of the audit with their ids, to show the features of the most exposed; the audit folder
                holds no features.
        """
        target = as_path("path", path)
        shown = self if features is None else _report.with_features(self, features)
        write_text(target, _report.report_page(shown))
        return target

    def to_latex(self) -> str:
        """Return the table of attacks with 95% confidence intervals in LaTeX (booktabs).

        Returns:
            A ``tabular`` environment; the headline attacks come first, in bold.
        """
        return _report.latex(self)

    @property
    def plot(self):
        """Plots with matplotlib: ``.roc(ax=…)``, ``.exposure()``, ``.groups()`` and ``.comparison()`` return the Axes."""
        return _report.Plots(self)

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return _report.fragment(self)


def write_results(folder: Path, results: Results, scores: Mapping[str, np.ndarray]) -> None:
    """Write the results into an audit folder: the scores, two tables, and results.json last."""
    for name, values in scores.items():
        write_npy(folder / "scores" / f"{name}.npy", values)
    if results.records is not None:
        write_parquet(folder / "records.parquet", results.records)
    write_parquet(folder / "attacks.parquet", results.attacks)
    write_json(folder / "results.json", results.document())


def read_results(folder: str | Path) -> Results:
    """Read the results in an audit folder.

    Args:
        folder: Folder that ``audit`` or the command line wrote.

    Returns:
        The results, as ``audit`` returned them.

    Raises:
        FolderError: If the folder has no results, they are damaged, or another version of guestlist wrote them.
        PathError: If the folder cannot be accessed.

    Examples:
        >>> results = gl.testing.small_audit(folder="audits/tree")
        >>> gl.read_results("audits/tree").headline == results.headline
        True
    """
    folder = as_path("folder", folder)
    return replace(read_document(folder, Results.from_document), records=read_records(folder), folder=folder)


def _row(outcome: AttackResult, levels: tuple[Level, ...]) -> dict[str, object]:
    row: dict[str, object] = {"attack": outcome.name}
    row |= interval_columns("auc", outcome.auc) | interval_columns("advantage", outcome.advantage)
    for rate in outcome.rates:
        row |= interval_columns(f"tpr@{rate.fpr:g}", rate.tpr) | interval_columns(f"ppv@{rate.fpr:g}", rate.ppv)
    row |= interval_columns("balanced_accuracy", outcome.balanced_accuracy or WITHHELD)
    row |= {"unscored": outcome.unscored, "paper": outcome.paper}
    for level in levels:
        row |= interval_columns(f"realised_fpr@{level.alpha:g}", level.fpr) | interval_columns(
            f"realised_tpr@{level.alpha:g}", level.tpr
        )
    return row


def interval_columns(name: str, estimate: Estimate) -> dict[str, float]:
    """Return an estimate and the ends of its interval as columns of a table."""
    return {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}


DISAGREE = 0.3  # two rankings whose Spearman correlation is below this are reported as different
REPORT = "the report"  # name of the report's order in tables that compare it with risks


def report_table(case: Case, results: Results | None) -> tuple[pd.DataFrame, str]:
    """Return the table of records that determines the report's order, and the name of the headline attack.

    Args:
        case: the audit.
        results: of the same folder; None if there are none yet. An attack may need evidence that is not stored, so that the
            results cannot be computed again.
    """
    if results is not None and results.records is not None and results.headline is not None:
        return results.records, results.headline.name
    return records.as_given(case.of(records.record_table)), case.of(headline.find).name


def members_by_exposure(table: pd.DataFrame, attack: str) -> pd.DataFrame:
    """Return one row per member, in the order of the report, with its risks and the columns that determine the order.

    The members that are flagged with a controlled false discovery rate come first, those that the headline attack cannot
    score last.

    Args:
        table: table of records.
        attack: name of the headline attack.
    """
    risks = [name for name in (RECOMMENDED, *RISKS) if f"risk_{name}" in table]
    who = [name for name in ("id", "label", "person") if name in table] + [
        name for name in table if name.startswith("group_")
    ]
    deciding = [name for name in ("flagged", records.deciding_column(table), "gap") if name in table]
    columns = [*who, *deciding, *(f"risk_{name}" for name in dict.fromkeys(risks))]
    return table.iloc[records.exposure_order(table, attack)][columns].reset_index(drop=True)


def with_risks(table: pd.DataFrame, case: Case, risks: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """Return the table of records with its risks replaced.

    Args:
        risks: name to (records of the pool,).
    """
    evaluated = case.truth.evaluated
    if "row" in case.records:
        rows = case.records["row"].to_numpy()[evaluated]
    else:
        rows = np.arange(evaluated.sum())
    others = [name for name in table if not name.startswith("risk_")]
    replaced = {f"risk_{name}": values[evaluated][np.argsort(rows)] for name, values in risks.items()}
    return table[others].assign(**replaced)


def disagreements(members: pd.DataFrame, order: bool) -> list[tuple[str, str, float]]:
    """Return pairs of rankings with a Spearman correlation below ``DISAGREE``, and that correlation.

    Args:
        members: one row per member, with columns ``risk_<name>``.
        order: whether the rows are in the order of the report, which is then compared with each risk; otherwise risks are
            compared with each other.
    """
    table = members.loc[:, members.columns.str.startswith("risk_")].astype(float)
    table = table.rename(columns=lambda name: name.removeprefix("risk_"))
    pairs: Sequence[tuple[str, str]] = list(combinations(table, 2))
    if order:
        pairs = [(REPORT, name) for name in table]
        table[REPORT] = -np.arange(len(members), dtype=np.float64)
    correlations = table.corr(method="spearman", min_periods=MIN_CORRELATION_SIZE).to_dict()
    return [(a, b, correlations[a][b]) for a, b in pairs if correlations[a][b] < DISAGREE]


def contradictions(risks: GroupRisks) -> list[tuple[GroupRisk, list[str], list[str]]]:
    """Return the groups with significantly higher values of some risks than other records, and lower values of others."""
    both = []
    for part in risks.judged:
        higher = [risk.risk for risk in part.risks if risk.differs and risk.beyond_rest.value > 0]
        lower = [risk.risk for risk in part.risks if risk.differs and risk.beyond_rest.value < 0]
        if higher and lower:
            both.append((part, higher, lower))
    return both
