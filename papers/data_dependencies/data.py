"""Tables of the paper with its features: imputed missing values, one-hot categories, no duplicate rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

import guestlist as gl
from guestlist.datasets import DATA_VARIABLE, local
from papers.data_dependencies.census import SHARED, in_words_of_adult, of_1994

LABEL = "label"
FILES = {
    **dict.fromkeys(("adult", "adult gender", "adult education"), "adult.parquet"),
    "compas": "compas.parquet",
    "heart": "heart_disease.parquet",
    "students": "student_por.parquet",
    "census": "census_income_kdd.parquet",
}
# Numeric codes of categories.
HEART_CATEGORIES = ("cp", "restecg", "slope", "thal")
LOW_EDUCATION = ("Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad")
COMPAS_FEATURES = (
    "sex", "age", "race", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count", "c_charge_degree",
    "decile_score", "v_decile_score",
)  # fmt: skip


@dataclass(frozen=True)
class Table:
    """Records with the paper's features.

    Args:
        features: number of numeric columns, without ``label`` and ``source``.
        frame: those columns, ``label``, and ``source`` if a game needs it.
    """

    name: str
    features: int
    frame: pd.DataFrame


def available(name: str) -> bool:
    """Return whether the file of a table is available."""
    return local(FILES[name]) is not None


def _read(name: str) -> pd.DataFrame:
    path = local(FILES[name])
    if path is None:
        raise gl.InputError(f"{FILES[name]} is not where ${DATA_VARIABLE} points.")
    return pd.read_parquet(path)


def adult() -> Table:
    """Load adult with 104 features."""
    return _made("adult", _adult(), "income")


def adult_gender() -> Table:
    """Load adult with 103 features, without the gender, which is the source."""
    return _made("adult gender", _adult().rename(columns={"sex": "source"}), "income")


def adult_education() -> Table:
    """Load adult with 87 features, without both columns of education; the source is low education, below some college."""
    table = _adult()
    table["source"] = table["education"].isin(LOW_EDUCATION).map({True: "low", False: "high"})
    return _made("adult education", table.drop(columns=["education", "education-num"]), "income")


def compas() -> Table:
    """6,172 people after ProPublica's filter. The paper does not name its 15 features; these ten columns give the same number."""
    table = _read("compas")
    days = table["days_b_screening_arrest"]
    selected = (
        (days.abs() <= 30)
        & (table["is_recid"] != -1)
        & (table["c_charge_degree"] != "O")
        & (table["score_text"] != "N/A")
    )
    table = table.loc[selected & table["score_text"].notna(), [*COMPAS_FEATURES, "two_year_recid"]]
    return _made("compas", table, "two_year_recid", once=False)


def heart() -> Table:
    """Load 22 features; the source is one of four hospitals, the label a disease."""
    table = _read("heart").rename(columns={"hospital": "source"})
    for name in HEART_CATEGORIES:
        table[name] = table[name].map(lambda code: None if pd.isna(code) else f"{code:g}").astype(object)
    for name in ("sex", "fbs", "exang", "ca"):  # two values, or counts: missing values become the most frequent one
        table[name] = table[name].fillna(table[name].mode().iloc[0])
    table["num"] = (table["num"] > 0).astype(int)
    return _made("heart", table, "num", once=False)


def students() -> Table:
    """Load 42 features; the source is one of two schools, the label whether the course was passed."""
    table = _read("students").rename(columns={"school": "source"})
    table["passed"] = (table["G3"] >= 10).astype(int)
    return _made("students", table.drop(columns=["G1", "G2", "G3"]), "passed", once=False)


def census_and_adult() -> Table:
    """100 features of ten attributes; the source is the dataset that published the record.

    Columns are those of the census of both years, including a country of birth that does not occur in 1994. Each distinct
    record occurs once, as a record of adult if both have it. This leaves 20,000 of each, as in the paper.
    """
    census = _read("census")
    adult = _read("adult")[[*SHARED.values(), "income"]].assign(source="adult")
    made = _made("census", pd.concat([adult, in_words_of_adult(census).assign(source="census")]), "income", once=False)
    frame = made.frame[[True] * len(adult) + of_1994(census).tolist()]
    distinct = frame.drop_duplicates([name for name in frame.columns if name != "source"])
    return Table(made.name, made.features, distinct.reset_index(drop=True))


TABLES: dict[str, Callable[[], Table]] = {
    "adult": adult,
    "adult gender": adult_gender,
    "adult education": adult_education,
    "compas": compas,
    "heart": heart,
    "students": students,
    "census": census_and_adult,
}


def _adult() -> pd.DataFrame:
    table = _read("adult").drop(columns="split")
    return table.replace("?", None)


def _made(name: str, table: pd.DataFrame, label: str, *, once: bool = True) -> Table:
    """Return numbers, label and source; duplicate rows are dropped where the paper's sizes imply it."""
    unchanged = [column for column in ("source",) if column in table.columns]
    numbers = gl.datasets.as_numbers(table.drop(columns=[label, *unchanged]))
    features = numbers.shape[1]
    frame = numbers.assign(**{LABEL: table[label].astype(str), **{column: table[column] for column in unchanged}})
    return Table(name, features, (frame.drop_duplicates() if once else frame).reset_index(drop=True))
