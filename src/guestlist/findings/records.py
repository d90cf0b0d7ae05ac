"""Who is exposed: the table of records, and the members that rank highest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from guestlist.case import Case, signal_of
from guestlist.evaluate import conformal_p_values
from guestlist.findings import headline
from guestlist.risks import risks_of

MOST = 20
# What the target says about a record, as far as targets of its kind say it.
SAID = ("p_y", "loss", "correct", "residual")


@dataclass(frozen=True)
class Exposed:
    """A member that the headline attack ranks high. ``p_value``: share of non-members ranked at least as high."""

    id: str
    label: str
    groups: Mapping[str, str]
    score: float
    p_value: float


def find(case: Case) -> tuple[Exposed, ...]:
    """The members that the headline attack ranks highest."""
    return most_exposed(case.of(record_table), case.of(headline.find).name)


def record_table(case: Case) -> pd.DataFrame:
    """One row per asked record: who it is, what the target says, every score and p-value.

    ``p_value`` says how unusual the headline's score is among non-members; ``p_<attack>`` is an attack's own.
    """
    asked, member = case.truth.asked, case.truth.of_asked
    records = case.records[asked].drop(columns=["class"]).reset_index(drop=True)
    records.insert(records.columns.get_loc("label") + 1, "member", member)
    for name in SAID:
        said = signal_of(case.view, name)
        if said is not None:
            records[name] = said[asked]
    for name, values in case.of(risks_of).items():
        records[f"risk_{name}"] = values[asked]
    for name, values in case.scores.items():
        records[f"score_{name}"] = values[asked]
    for name, values in case.p_values.items():
        records[f"p_{name}"] = values[asked]
    score = records[f"score_{case.of(headline.find).name}"].to_numpy()
    calibration = score[~member & ~np.isnan(score)]
    records["p_value"] = np.where(np.isnan(score), np.nan, conformal_p_values(score, calibration))
    return records


def as_given(records: pd.DataFrame) -> pd.DataFrame:
    """The table in the order in which the records were given: inside, they stand in an order that says nothing."""
    if "row" not in records:
        return records
    return records.sort_values("row").drop(columns="row").reset_index(drop=True)


def most_exposed(records: pd.DataFrame, attack: str) -> tuple[Exposed, ...]:
    score = f"score_{attack}"
    members = records[records["member"] & records[score].notna()]
    # Ties are broken by id, so that the list does not hang on the order of the records.
    top = members.sort_values([score, "id"], ascending=[False, True], kind="stable").head(MOST)
    groups = group_columns(records)
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


def group_columns(records: pd.DataFrame) -> list[str]:
    return [column.removeprefix("group_") for column in records.columns if column.startswith("group_")]
