"""The table of records, and the most exposed members.

A high score is weak evidence about a record: under an attack that queries only the target, easy records score high under any
model. A record is therefore compared with its own scores under models that were not trained on it, if there are any.

A member is on the list if one p-value, a column of the table, is at most ``MAX_P_VALUE``: that of its distance, or that among
non-members without reference models. Of members with equal values either all are listed or none. The list is ordered by the
same p-value, then by the gap. The members that are flagged with a controlled false discovery rate have the smallest p-values,
so they come first. Without any leak about 5% of the members still have such a p-value, and :class:`ExposureSummary` counts
them. No member is listed if these records may not be the training set at all (GL129).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from scipy.special import stdtr

from guestlist._case import Case, signal_of
from guestlist._findings import MAX_P_VALUE, TopRanked, exposure, headline, hypothesis_tests, top_k_ties, training_set
from guestlist._kernels import out_model_stats, take_columns
from guestlist.metrics import conformal_p_values
from guestlist.models import Labels
from guestlist.risks import RISKS, risk_columns, stability

MIN_LISTED = 20
MAX_LISTED = 100
MAX_SHARE = 0.05  # maximum share of the members on the list
# Signals of the target in the table, if its type of output has them.
OUTPUT_SIGNALS = ("p_y", "loss", "correct", "residual")
DECIDING = (
    "p_value",
    "p_among_models",
    "gap",
    "p_exposure",
    "p_distance",
)  # columns that decide which members are listed


@dataclass(frozen=True)
class Exposed:
    """A member that is an outlier under the headline attack.

    Attributes:
        id: Identifier of the record.
        label: Its label.
        groups: Group column to its value.
        score: Score of the headline attack.
        p_value: Share of non-members ranked at least as high.
        p_among_models: Share of ``models`` not trained on the record, counting the target, under which it scores at least as
            high; None without such models, as are the following.
        models: Number of these models.
        risks: Risks of the table of records.
        flagged: Whether it is flagged with a controlled false discovery rate; None if the audit flags no records.
        features: Features of the record, only for a page that shows them: an audit stores none.
        p_distance: P-value of its distance from the scores under these models, finer than a share of few.
        tied: Number of members with the same values.
        gap: Number of their standard deviations by which its score is above them; None if they all agree.
    """

    id: str
    label: str
    groups: Mapping[str, str]
    score: float
    p_value: float
    p_among_models: float | None = None
    models: int | None = None
    risks: Mapping[str, float] = field(default_factory=dict)
    flagged: bool | None = None
    features: Mapping[str, str] = field(default_factory=dict)
    p_distance: float | None = None
    tied: int = 1
    gap: float | None = None


@dataclass(frozen=True)
class ExposureSummary:
    """Numbers behind the list of the most exposed members.

    Attributes:
        alpha: Largest p-value of a listed record.
        members: Number of members with a score.
        small: Number of members with such a p-value.
        left_out: Number of these that are tied for the first rank beyond the end of the list.
        column: Column of the table of records that holds this p-value.
    """

    alpha: float
    members: int
    small: int
    left_out: int
    column: str = ""


def find(case: Case) -> tuple[Exposed, ...]:
    """Return the most exposed members under the headline attack; none if these records may not be the training set."""
    if case.of(training_set.doubted):
        return ()
    return exposed_members(case.of(record_table), case.of(headline.find).name)


def exposure_summary(case: Case) -> ExposureSummary:
    """Count the members that the list was taken from."""
    table = case.of(record_table)
    attack = case.of(headline.find).name
    candidates, ranked = _top_members(table, attack)
    scored = table[f"score_{attack}"].notna() & case.truth.member_evaluated
    return ExposureSummary(
        alpha=MAX_P_VALUE,
        members=int(scored.sum()),
        small=len(candidates),
        left_out=ranked.left_out,
        column=deciding_column(table),
    )


def record_table(case: Case) -> pd.DataFrame:
    """Return one row per evaluated record: identifiers, the target's outputs, all scores and p-values.

    ``confidence`` is the probability of the class that the target predicts. ``mu_estimate``, ``mu_error`` and ``mu_halves``
    describe the precision of mu (:class:`guestlist.risks.Stability`).

    ``p_value`` is that of the headline's score among non-members; ``p_<attack>`` is an attack's own. If the headline was tried
    on stand-in targets, ``p_among_models`` is the p-value of its score among those of this record under ``models`` that were
    not trained on it, and ``gap`` the number of their standard deviations by which it is above them; ``per_record_fpr`` and
    ``per_record_tpr`` are the shares of models without and with the record that flag it at an FPR of 5 %. ``flagged`` are the
    members flagged with a controlled false discovery rate, by ``p_exposure``; without that, ``p_distance`` is Student's tail of
    the gap.
    """
    evaluated = case.truth.evaluated
    member = case.truth.member_evaluated
    records = case.records[evaluated].drop(columns=["class"]).reset_index(drop=True)
    records.insert(records.columns.get_loc("label") + 1, "member", member)
    for name in OUTPUT_SIGNALS:
        signal = signal_of(case.view, name)
        if signal is not None:
            records[name] = signal[evaluated]
    if case.view.outputs is not None and case.setting.scale != Labels.name:
        records["confidence"] = np.exp(np.float64(case.view.outputs.max(axis=1)[evaluated]))
    for name, values in risk_columns(case).items():
        records[f"risk_{name}"] = values[evaluated]
    if RISKS["mu"].possible(case):
        precision = stability(case)
        records["mu_estimate"] = precision.estimate[evaluated]
        records["mu_error"] = precision.error[evaluated]
        records["mu_halves"] = precision.halves[evaluated]
    for name, values in case.scores.items():
        records[f"score_{name}"] = values[evaluated]
    for name, values in case.p_values.items():
        records[f"p_{name}"] = values[evaluated]
    score = records[f"score_{case.of(headline.find).name}"].to_numpy()
    p_value = conformal_p_values(score, score[~member & ~np.isnan(score)])
    records["p_value"] = np.where(np.isnan(score), np.nan, p_value)
    scores = case.of(headline.stand_in_scores)
    if scores is not None and case.stand_ins is not None:
        stats = out_model_stats(score.astype(scores.dtype), scores, take_columns(case.stand_ins.member, evaluated))
        records["p_among_models"] = stats.p_values
        records["models"] = stats.count
        records["gap"] = stats.gap
    counts = case.of(hypothesis_tests.counts_at_rates).get(hypothesis_tests.TABLE_FPR)
    if counts is not None:
        records["per_record_fpr"] = counts.per_record_fpr
        records["per_record_tpr"] = counts.per_record_tpr
    flags = case.of(exposure.flagged_records)
    if flags is not None:
        records["p_exposure"] = flags.p_value
        records["flagged"] = flags.flagged
    elif "gap" in records:
        records["p_distance"] = p_of_gap(records)
    return records


def deciding_column(records: pd.DataFrame) -> str:
    """Return the column whose p-value decides which members are listed."""
    if "p_among_models" not in records:
        return "p_value"
    if "p_exposure" in records:
        return "p_exposure"
    return "p_distance"


def p_of_gap(records: pd.DataFrame) -> np.ndarray:
    """Return Student's tail of the gap; if all models agree the gap is infinite, and the share of models is used."""
    models = records["models"].to_numpy(float)
    gap = records["gap"].to_numpy(float)
    with np.errstate(invalid="ignore", divide="ignore"):  # 0 / 0 is NaN: no OUT model; these records come last
        tail = stdtr(models - 1, -gap / np.sqrt(1 + 1 / models))
    return np.where(np.isinf(gap), records["p_among_models"].to_numpy(float), tail)


def as_given(records: pd.DataFrame) -> pd.DataFrame:
    """Return the table in the order in which the records were passed; internally they are shuffled."""
    if "row" not in records:
        return records
    return records.sort_values("row", ignore_index=True).drop(columns="row")


def exposed_members(records: pd.DataFrame, attack: str) -> tuple[Exposed, ...]:
    """Return the most exposed members of a table of records under one attack."""
    deciding = deciding_column(records)
    members, ranked = _top_members(records, attack)
    top = records.iloc[members.iloc[ranked.rows].index].assign(tied=ranked.tied)
    groups = group_columns(records)
    risks = [name for name in RISKS if f"risk_{name}" in records]
    exposed = []
    for _, row in top.iterrows():
        record = Exposed(
            id=str(row["id"]),
            label=str(row["label"]),
            groups={name: str(row[f"group_{name}"]) for name in groups},
            score=float(row[f"score_{attack}"]),
            p_value=float(row["p_value"]),
            risks={name: float(row[f"risk_{name}"]) for name in risks},
            flagged=bool(row["flagged"]) if "flagged" in records else None,
            tied=int(row["tied"]),
        )
        if "p_among_models" in records:
            record = replace(
                record,
                p_among_models=float(row["p_among_models"]),
                models=int(row["models"]),
                p_distance=float(row[deciding]),
                gap=float(row["gap"]) if np.isfinite(row["gap"]) else None,
            )
        exposed.append(record)
    return tuple(exposed)


def _top_members(records: pd.DataFrame, attack: str) -> tuple[pd.DataFrame, TopRanked]:
    """Return the members with a small p-value, indexed by position in the table, and the first of them."""
    score = f"score_{attack}"
    positions = np.flatnonzero(records["member"] & records[score].notna())
    deciding = records[[name for name in ("id", score, *DECIDING) if name in records]]  # copies only the needed columns
    members = deciding.iloc[positions].set_axis(positions)
    k = longest(len(members))
    members = members[members[deciding_column(records)].to_numpy(float) <= MAX_P_VALUE]
    return members, top_k_ties(_order(members, score), members["id"].to_numpy(), k, max(k, MAX_LISTED))


def exposure_order(records: pd.DataFrame, attack: str) -> np.ndarray:
    """Return positions of all members in the order of the list of the most exposed; those without a score come last."""
    members = np.flatnonzero(records["member"])
    table = records.iloc[members]
    score = f"score_{attack}"
    keys = [table[score].isna().to_numpy(), *_order(table, score)]
    return members[top_k_ties(keys, table["id"].to_numpy(), len(members), len(members)).rows]


def _order(members: pd.DataFrame, score: str) -> list[np.ndarray]:
    """Return sort keys of members, smallest first: the deciding p-value, then the gap, then the score."""
    # The share of models is not a key: records with the most OUT models have the smallest values by chance, and with
    # few models many records tie. The gap is not the first key, because its tail is Student's only for normal scores.
    keys = [-members[score].to_numpy(float)]
    if "p_among_models" in members:
        keys = [members[deciding_column(members)].to_numpy(float), -members["gap"].to_numpy(float), *keys]
    return keys


def longest(members: int) -> int:
    """Return the largest length of a list of the most exposed of ``members`` members."""
    return max(MIN_LISTED, min(MAX_LISTED, int(MAX_SHARE * members)))


def group_columns(records: pd.DataFrame) -> list[str]:
    """Return the names of the groups in a table of records."""
    return [column.removeprefix("group_") for column in records.columns if column.startswith("group_")]
