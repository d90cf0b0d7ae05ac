"""Members in the order of the report's list of exposed records, and risks that rank them differently."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from guestlist.case import Case
from guestlist.evaluate.correlation import MIN_CORRELATION_SIZE, is_constant, spearman
from guestlist.findings import headline, records
from guestlist.findings.group_risks import GroupRisk, GroupRisks
from guestlist.findings.results import Results
from guestlist.risks import RECOMMENDED, RISKS

DISAGREE = 0.3  # two rankings whose Spearman correlation is below this are reported as different
REPORT = "the report"  # the name of its order, next to those of risks


def record_table(case: Case, results: Results | None) -> tuple[pd.DataFrame, str]:
    """The table of records that the report's order is read from, and the name of the headline attack.

    Args:
        results: of the same folder; None where there are none yet. An attack may take evidence that is not kept, so that the
            results cannot be computed again.
    """
    if results is not None and results.records is not None and results.headline is not None:
        return results.records, results.headline.name
    return records.as_given(case.of(records.record_table)), case.of(headline.find).name


def members_by_exposure(table: pd.DataFrame, attack: str) -> pd.DataFrame:
    """One row per member, with what decides its place and its risks, in the order of the report.

    The members that are flagged with a controlled false discovery rate come first, those that the headline attack cannot
    score last.

    Args:
        table: of records.
        attack: the headline.
    """
    risks = [name for name in (RECOMMENDED, *RISKS) if f"risk_{name}" in table]
    who = [name for name in ("id", "label", "person") if name in table] + [
        name for name in table if name.startswith("group_")
    ]
    deciding = [name for name in ("flagged", records.deciding_column(table), "gap") if name in table]
    columns = [*who, *deciding, *(f"risk_{name}" for name in dict.fromkeys(risks))]
    return table.iloc[records.exposure_order(table, attack)][columns].reset_index(drop=True)


def with_risks(table: pd.DataFrame, case: Case, risks: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """The table of records with these risks instead of those in it.

    Args:
        risks: name to (records of the pool,).
    """
    asked = case.truth.evaluated
    rows = case.records["row"].to_numpy()[asked] if "row" in case.records else np.arange(asked.sum())
    others = [name for name in table if not name.startswith("risk_")]
    replaced = {f"risk_{name}": values[asked][np.argsort(rows)] for name, values in risks.items()}
    return table[others].assign(**replaced)


def disagreements(members: pd.DataFrame, order: bool) -> list[tuple[str, str, float]]:
    """Pairs of rankings of members whose Spearman correlation is below ``DISAGREE``, with that correlation.

    Args:
        members: a row for each, with columns ``risk_<name>``.
        order: whether they are in the order of the report, with which each risk is compared; otherwise risks are compared with
            each other.
    """
    values = {name.removeprefix("risk_"): members[name].to_numpy(float) for name in members if name.startswith("risk_")}
    pairs: Sequence[tuple[str, str]] = list(combinations(values, 2))
    if order:
        pairs = [(REPORT, name) for name in values]
        values[REPORT] = -np.arange(len(members), dtype=np.float64)
    pairs_below = []
    for first, second in pairs:
        known = ~np.isnan(values[first]) & ~np.isnan(values[second])
        first_values = values[first][known]
        second_values = values[second][known]
        if known.sum() < MIN_CORRELATION_SIZE or is_constant(first_values) or is_constant(second_values):
            continue
        together = spearman(first_values, second_values).value
        if together < DISAGREE:
            pairs_below.append((first, second, together))
    return pairs_below


def contradictions(risks: GroupRisks) -> list[tuple[GroupRisk, list[str], list[str]]]:
    """Groups that bear more of some risks than the rest, and less of others; both are statistically significant."""
    both = []
    for part in risks.judged:
        higher = [risk.risk for risk in part.risks if risk.differs and risk.beyond_rest.value > 0]
        lower = [risk.risk for risk in part.risks if risk.differs and risk.beyond_rest.value < 0]
        if higher and lower:
            both.append((part, higher, lower))
    return both
