"""Who is exposed: the table of records, and the members that stand out most.

A high score alone says little about a record: under an attack that looks at the target alone, easy records have high scores,
under any model. So a record is compared with itself under models that did not train on it, where there are such models.

A member is on the list if one p-value, a column of the table, is at most ``MAX_P_VALUE``: that of its distance, or that among
non-members without reference models. Of members with equal values either all are listed or none. The list is ordered by the same
p-value, then by the gap. The members that are flagged with a controlled false discovery rate have the smallest p-values, so
they come first. Without any leak about 5% of the members still have such a p-value, and :class:`ExposureSummary` counts them. No
member is listed if these records may not be the training set at all (GL129).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy.special import stdtr

from guestlist.arrays.columns import take_columns
from guestlist.arrays.outsiders import out_model_stats
from guestlist.case import Case, signal_of
from guestlist.evaluate import conformal_p_values
from guestlist.findings import exposure, false_alarms, headline, training_set
from guestlist.findings.places import MAX_P_VALUE, TopRanked, top_k_ties
from guestlist.risks import RISKS, risk_columns, stability
from guestlist.targets.scales import Labels

FEW, MOST = 20, 100
SHARE = 0.05  # of the members: a list of everybody names nobody
# What the target says about a record, as far as targets of its kind say it.
SAID = ("p_y", "loss", "correct", "residual")
DECIDING = ("p_value", "p_among_models", "gap", "p_exposure", "p_distance")  # columns that decide who is on the list


@dataclass(frozen=True)
class Exposed:
    """A member that stands out under the headline attack.

    ``p_value``: share of non-members ranked at least as high. ``p_among_models``: share of ``models`` that did not train on
    the record, the target counted in, under which it scores at least as high; ``p_distance``, finer than a share of few, that of
    its distance from what they say; ``gap`` by how many of their standard deviations its score is above them, None where they
    all agree; all None where there are no such models. ``tied`` members share its place.
    ``risks`` are those of the table of records; ``flagged`` says whether it is on the list of which few are false, None where
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
    flagged: bool | None = None
    features: Mapping[str, str] = field(default_factory=dict)
    p_distance: float | None = None
    tied: int = 1
    gap: float | None = None


@dataclass(frozen=True)
class ExposureSummary:
    """How many could have been on the list of the most exposed.

    Args:
        alpha: the largest p-value of anybody on it.
        members: with a score.
        small: those with such a p-value.
        left_out: of these, how many share the first place for which the list has no room.
        column: of the table of records that holds this p-value.
    """

    alpha: float
    members: int
    small: int
    left_out: int
    column: str = ""


def find(case: Case) -> tuple[Exposed, ...]:
    """The most exposed members under the headline attack; none if these records may not be the training set."""
    if case.of(training_set.doubted):
        return ()
    return most_exposed(case.of(record_table), case.of(headline.find).name)


def exposure_summary(case: Case) -> ExposureSummary:
    """From how many members these were taken."""
    table = case.of(record_table)
    attack = case.of(headline.find).name
    candidates, places = _placed(table, attack)
    scored = table[f"score_{attack}"].notna() & case.truth.member_evaluated
    return ExposureSummary(
        alpha=MAX_P_VALUE,
        members=int(scored.sum()),
        small=len(candidates),
        left_out=places.left_out,
        column=deciding_column(table),
    )


def record_table(case: Case) -> pd.DataFrame:
    """One row per asked record: who it is, what the target says, every score and p-value.

    ``confidence`` is the probability of the class that the target answers with. ``mu_estimate``, ``mu_error`` and ``mu_halves``
    say how sure the references are of mu (:class:`guestlist.risks.Stability`).

    ``p_value`` says how unusual the headline's score is among non-members; ``p_<attack>`` is an attack's own. Where the
    headline was tried on mock targets, ``p_among_models`` says how unusual its score is for this record, ``models`` among how
    many that did not train on it, and ``gap`` by how many of their standard deviations it is above them; ``per_record_fpr`` and
    ``per_record_tpr`` are the shares of those without it, and with it, that call it at a rate of 5 % over all. ``flagged``
    are the members on the list of which few are false, by ``p_exposure``; without that list, ``p_distance`` is Student's
    tail of the gap.
    """
    asked, member = case.truth.evaluated, case.truth.member_evaluated
    records = case.records[asked].drop(columns=["class"]).reset_index(drop=True)
    records.insert(records.columns.get_loc("label") + 1, "member", member)
    for name in SAID:
        said = signal_of(case.view, name)
        if said is not None:
            records[name] = said[asked]
    if case.view.answers is not None and case.setting.scale != Labels.name:
        records["confidence"] = np.exp(np.float64(case.view.answers.max(axis=1)[asked]))
    for name, values in risk_columns(case).items():
        records[f"risk_{name}"] = values[asked]
    if RISKS["mu"].possible(case):
        sure = stability(case)
        more = {"mu_estimate": sure.estimate, "mu_error": sure.error, "mu_halves": sure.halves}
        records = records.assign(**{name: values[asked] for name, values in more.items()})
    for name, values in case.scores.items():
        records[f"score_{name}"] = values[asked]
    for name, values in case.p_values.items():
        records[f"p_{name}"] = values[asked]
    score = records[f"score_{case.of(headline.find).name}"].to_numpy()
    calibration = score[~member & ~np.isnan(score)]
    records["p_value"] = np.where(np.isnan(score), np.nan, conformal_p_values(score, calibration))
    scores = case.of(headline.stand_in_scores)
    if scores is not None and case.mocks is not None:
        among = out_model_stats(score.astype(scores.dtype), scores, take_columns(case.mocks.member, asked))
        records["p_among_models"], records["models"], records["gap"] = among.p_values, among.count, among.gap
    calls = case.of(false_alarms.shown_calls)
    if calls is not None:
        records["per_record_fpr"], records["per_record_tpr"] = calls.per_record_fpr, calls.per_record_tpr
    listing = case.of(exposure.flagged_records)
    if listing is not None:
        records["p_exposure"], records["flagged"] = listing.p_value, listing.flagged
    elif "gap" in records:
        records["p_distance"] = p_of_gap(records)
    return records


def deciding_column(records: pd.DataFrame) -> str:
    """The column whose p-value decides who may be on the list."""
    if "p_among_models" not in records:
        return "p_value"
    return "p_exposure" if "p_exposure" in records else "p_distance"


def p_of_gap(records: pd.DataFrame) -> np.ndarray:
    """Student's tail of the gap; the share of models where these all agree, since the gap is then infinite."""
    models, gap = records["models"].to_numpy(float), records["gap"].to_numpy(float)
    with np.errstate(invalid="ignore", divide="ignore"):  # 0 / 0 is NaN: no OUT model, and last in the list
        tail = stdtr(models - 1, -gap / np.sqrt(1 + 1 / models))
    return np.where(np.isinf(gap), records["p_among_models"].to_numpy(float), tail)


def as_given(records: pd.DataFrame) -> pd.DataFrame:
    """The table in the order in which the records were given: inside, they stand in an order that says nothing."""
    if "row" not in records:
        return records
    order = np.argsort(records["row"].to_numpy())
    return records.drop(columns="row").take(order).reset_index(drop=True)


def most_exposed(records: pd.DataFrame, attack: str) -> tuple[Exposed, ...]:
    score = f"score_{attack}"
    compared, deciding = "p_among_models" in records, deciding_column(records)
    members, places = _placed(records, attack)
    top = records.iloc[members.iloc[places.rows].index].assign(tied=places.tied)
    groups, has_flags = group_columns(records), "flagged" in records
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
            flagged=bool(row["flagged"]) if has_flags else None,
            p_distance=float(row[deciding]) if compared else None,
            tied=int(row["tied"]),
            gap=float(row["gap"]) if compared and np.isfinite(row["gap"]) else None,
        )
        for _, row in top.iterrows()
    )


def _placed(records: pd.DataFrame, attack: str) -> tuple[pd.DataFrame, TopRanked]:
    """What decides about the members with a small p-value, by their place in the table, and who of them comes first."""
    score = f"score_{attack}"
    places = np.flatnonzero(records["member"] & records[score].notna())
    deciding = records[[name for name in ("id", score, *DECIDING) if name in records]]  # of very many columns, few
    members = deciding.iloc[places].set_axis(places)
    room = longest(len(members))
    members = members[members[deciding_column(records)].to_numpy(float) <= MAX_P_VALUE]
    return members, top_k_ties(_order(members, score), members["id"].to_numpy(), room, max(room, MOST))


def exposure_order(records: pd.DataFrame, attack: str) -> np.ndarray:
    """Positions of all members in the order of the list of the most exposed; those without a score come last."""
    members = np.flatnonzero(records["member"])
    table, score = records.iloc[members], f"score_{attack}"
    keys = [table[score].isna().to_numpy(), *_order(table, score)]
    return members[top_k_ties(keys, table["id"].to_numpy(), len(members), len(members)).rows]


def _order(members: pd.DataFrame, score: str) -> list[np.ndarray]:
    """What members are ordered by, the smallest first: the p-value that decides, then the gap, then the score."""
    # Not by the share of models: its smallest values go to the records that happen to have most OUT models, and of few models
    # many records have the smallest. Nor by the gap first, whose tail is Student's for normal scores alone.
    before = []
    if "p_among_models" in members:
        before = [members[deciding_column(members)].to_numpy(float), -members["gap"].to_numpy(float)]
    return [*before, -members[score].to_numpy(float)]


def longest(members: int) -> int:
    """How many of so many members a list of the most exposed holds at most."""
    return max(FEW, min(MOST, int(SHARE * members)))


def group_columns(records: pd.DataFrame) -> list[str]:
    return [column.removeprefix("group_") for column in records.columns if column.startswith("group_")]
