"""Who is exposed: the table of records, and the members that stand out most.

A high score alone says little about a record: under an attack that looks at the target alone, easy records have high scores,
under any model. So a record is compared with itself under models that did not train on it, where there are such models.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy.special import stdtr

from guestlist.arrays.conformal import p_values_among_models
from guestlist.case import Case, signal_of
from guestlist.evaluate import conformal_p_values
from guestlist.findings import exposure, false_alarms, headline
from guestlist.risks import RISKS, risk_columns, steadiness

FEW, MOST = 20, 100
SHARE = 0.05  # of the members: a list of everybody names nobody
# What the target says about a record, as far as targets of its kind say it.
SAID = ("p_y", "loss", "correct", "residual")


@dataclass(frozen=True)
class Exposed:
    """A member that stands out under the headline attack.

    ``p_value``: share of non-members ranked at least as high. ``p_among_models``: share of ``models`` that did not train on
    the record, the target counted in, under which it scores at least as high; None where there are no such models.
    ``risks`` are those of the table of records; ``listed`` says whether it is on the list of which few are false, None where
    there is no such list. ``features`` is empty unless somebody asks for a page that shows them: no audit keeps any.
    """

    id: str
    label: str
    groups: Mapping[str, str]
    score: float
    p_value: float
    p_among_models: float | None = None
    models: int | None = None
    risks: Mapping[str, float] = field(default_factory=dict)
    listed: bool | None = None
    features: Mapping[str, str] = field(default_factory=dict)


def find(case: Case) -> tuple[Exposed, ...]:
    """The members that stand out most under the headline attack."""
    return most_exposed(case.of(record_table), case.of(headline.find).name)


def record_table(case: Case) -> pd.DataFrame:
    """One row per asked record: who it is, what the target says, every score and p-value.

    ``confidence`` is the probability of the class that the target answers with. ``mu_estimate``, ``mu_error`` and ``mu_halves``
    say how sure the references are of mu (:class:`guestlist.risks.Steadiness`).

    ``p_value`` says how unusual the headline's score is among non-members; ``p_<attack>`` is an attack's own. Where the
    headline was tried on mock targets, ``p_among_models`` says how unusual its score is for this record, ``models`` among how
    many that did not train on it, and ``gap`` by how many of their standard deviations it is above them; ``false_alarms`` and
    ``called_again`` are the shares of those without it, and of those with it, that call it at a rate of 5 % over all. ``listed``
    are the members on the list of which few are false, by ``p_exposure``.
    """
    asked, member = case.truth.asked, case.truth.of_asked
    records = case.records[asked].drop(columns=["class"]).reset_index(drop=True)
    records.insert(records.columns.get_loc("label") + 1, "member", member)
    for name in SAID:
        said = signal_of(case.view, name)
        if said is not None:
            records[name] = said[asked]
    if case.view.answers is not None:
        records["confidence"] = np.exp(np.float64(case.view.answers[asked].max(axis=1)))
    for name, values in risk_columns(case).items():
        records[f"risk_{name}"] = values[asked]
    if RISKS["mu"].possible(case):
        sure = steadiness(case)
        columns = {"mu_estimate": sure.estimate, "mu_error": sure.error, "mu_halves": sure.halves}
        records = records.assign(**{name: values[asked] for name, values in columns.items()})
    for name, values in case.scores.items():
        records[f"score_{name}"] = values[asked]
    for name, values in case.p_values.items():
        records[f"p_{name}"] = values[asked]
    score = records[f"score_{case.of(headline.find).name}"].to_numpy()
    calibration = score[~member & ~np.isnan(score)]
    records["p_value"] = np.where(np.isnan(score), np.nan, conformal_p_values(score, calibration))
    choice = case.of(headline.chosen)
    if choice is not None and case.mocks is not None:
        others = case.mocks.member[:, asked]
        records["p_among_models"], records["models"] = p_values_among_models(score, choice.scores, others)
        records["gap"] = _gap(score, choice.scores, others)
    calls = false_alarms.calls_in(case)
    if calls is not None:
        records["false_alarms"], records["called_again"] = calls.false_alarms, calls.called_again
    listing = case.of(exposure.listing)
    if listing is not None:
        records["p_exposure"], records["listed"] = listing.p_value, listing.listed
    return records


def as_given(records: pd.DataFrame) -> pd.DataFrame:
    """The table in the order in which the records were given: inside, they stand in an order that says nothing."""
    if "row" not in records:
        return records
    return records.sort_values("row").drop(columns="row").reset_index(drop=True)


def most_exposed(records: pd.DataFrame, attack: str) -> tuple[Exposed, ...]:
    score = f"score_{attack}"
    compared = "p_among_models" in records
    members = records[records["member"] & records[score].notna()]
    if compared:
        members = members.assign(**_standing(members))
    # Ties are broken by id, so that the list does not hang on the order of the records.
    by = {"as_high": True, "tail": True} if compared else {}
    by |= {score: False, "id": True}
    top = members.sort_values([*by], ascending=[*by.values()], kind="stable").head(longest(len(members)))
    groups, listed = group_columns(records), "listed" in records
    risks = [name for name in RISKS if f"risk_{name}" in records]
    return tuple(
        Exposed(
            id=str(row["id"]),
            label=str(row["label"]),
            groups={name: str(row[f"group_{name}"]) for name in groups},
            score=float(row[score]),
            p_value=float(row["p_value"]),
            p_among_models=float(row["p_among_models"]) if compared else None,
            models=int(row["models"]) if compared else None,
            risks={name: float(row[f"risk_{name}"]) for name in risks},
            listed=bool(row["listed"]) if listed else None,
        )
        for _, row in top.iterrows()
    )


def longest(members: int) -> int:
    """How many of so many members a list of the most exposed holds at most."""
    return max(FEW, min(MOST, int(SHARE * members)))


def _standing(members: pd.DataFrame) -> dict[str, np.ndarray]:
    """What the list is ordered by: the share of OUT models that score as high, then Student's tail of the gap.

    Not by the p-value: its smallest values go to the records that happen to have most OUT models.
    """
    models, gap = members["models"].to_numpy(float), members["gap"].to_numpy(float)
    with np.errstate(invalid="ignore", divide="ignore"):  # 0 / 0 is NaN: no OUT model, and last in the list
        as_high = (members["p_among_models"].to_numpy(float) * (1 + models) - 1) / models
        return {"as_high": np.round(as_high, 9), "tail": stdtr(models - 1, -gap / np.sqrt(1 + 1 / models))}


def _gap(own: np.ndarray, scores: np.ndarray, member: np.ndarray) -> np.ndarray:
    """(records,) how far a score is above those of OUT models; NaN where that has no number."""
    values = np.where(member, np.nan, scores)
    known = ~np.isnan(values)
    count = known.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):  # infinite scores; models that all agree
        mean = np.where(known, values, 0).sum(axis=0) / count
        variance = np.square(np.where(known, values - mean, 0)).sum(axis=0) / (count - 1)
        return np.where(own == mean, 0.0, (own - mean) / np.sqrt(variance))


def group_columns(records: pd.DataFrame) -> list[str]:
    return [column.removeprefix("group_") for column in records.columns if column.startswith("group_")]
