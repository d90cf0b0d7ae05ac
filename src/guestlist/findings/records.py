"""Who is exposed: the table of records, the members that rank highest, and groups compared."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from guestlist.evaluate import auc, conformal_p_values
from guestlist.findings.results import Exposed, GroupResult
from guestlist.risks.trees import leaf_risk_of
from guestlist.views.signals import Signals

MOST = 20
FEWEST_IN_GROUP = 10


def record_table(
    pool: pd.DataFrame,
    signals: Signals,
    asked: np.ndarray,
    scores: Mapping[str, np.ndarray],
    p_values: Mapping[str, np.ndarray],
    headline: str,
) -> pd.DataFrame:
    """One row per asked record: who it is, what the target says, every score and p-value.

    ``p_value`` says how unusual the headline's score is among non-members; ``p_<attack>`` is an attack's own.
    """
    records = pool[asked].drop(columns=["class"]).reset_index(drop=True)
    member = (records["side"] == "members").to_numpy()
    records.insert(3, "member", member)
    for name in ("p_y", "loss", "correct"):
        records[name] = signals.target(name)[asked]
    leaves = signals.evidence.get("leaves")
    if leaves is not None and leaves.leaf.shape[1]:
        records = records.assign(**leaf_risk_of(leaves.leaf[asked], member)._asdict())
    for name, values in scores.items():
        records[f"score_{name}"] = values[asked]
    for name, values in p_values.items():
        records[f"p_{name}"] = values[asked]
    score = records[f"score_{headline}"].to_numpy()
    calibration = score[~member & ~np.isnan(score)]
    records["p_value"] = np.where(np.isnan(score), np.nan, conformal_p_values(score, calibration))
    return records


def most_exposed(records: pd.DataFrame, headline: str) -> tuple[Exposed, ...]:
    score = f"score_{headline}"
    members = records[records["member"] & records[score].notna()]
    # Ties are broken by id, so that the list does not hang on the order of the records.
    top = members.sort_values([score, "id"], ascending=[False, True], kind="stable").head(MOST)
    groups = _group_columns(records)
    return tuple(
        Exposed(
            id=str(row["id"]),
            label=str(row["label"]),
            groups={name: str(row[f"group_{name}"]) for name in groups},
            score=float(row[score]),
            p_value=float(row["p_value"]),
        )
        for _, row in top.iterrows()
    )


def by_group(records: pd.DataFrame, headline: str) -> tuple[GroupResult, ...]:
    """The headline attack within each group that has enough members and non-members."""
    found = []
    for name in _group_columns(records):
        for value, part in records.groupby(f"group_{name}", sort=True):
            member = part["member"].to_numpy()
            inside, outside = int(member.sum()), int((~member).sum())
            if min(inside, outside) >= FEWEST_IN_GROUP:
                estimate = auc(part[f"score_{headline}"].to_numpy(), member)
                found.append(GroupResult(name, str(value), inside, outside, estimate))
    return tuple(found)


def _group_columns(records: pd.DataFrame) -> list[str]:
    return [column.removeprefix("group_") for column in records.columns if column.startswith("group_")]
