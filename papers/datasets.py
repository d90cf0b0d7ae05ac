"""``python -m papers.datasets RAW --out DATA``: make the tables of the papers from files as their sources publish them.

Download the original files into one folder, run the command, and set ``$GUESTLIST_DATA`` to the output folder. Every table is
compared with the checksum of the one that the committed results were made from. guestlist itself downloads ``adult``.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

HOSPITALS = {"cleveland": "Cleveland", "hungarian": "Hungary", "switzerland": "Switzerland", "va": "VA Long Beach"}
HEART_COLUMNS = (
    "age", "sex", "cp", "trestbps", "chol", "fbs", "restecg", "thalach", "exang", "oldpeak", "slope", "ca", "thal", "num",
)  # fmt: skip
# Names and other identifiers of people, which no paper uses.
COMPAS_IDENTIFIERS = ("name", "first", "last", "dob", "c_case_number", "r_case_number", "vr_case_number")
CENSUS_COLUMNS = (
    "age", "class of worker", "detailed industry recode", "detailed occupation recode", "education", "wage per hour",
    "enroll in edu inst last wk", "marital stat", "major industry code", "major occupation code", "race",
    "hispanic origin", "sex", "member of a labor union", "reason for unemployment",
    "full or part time employment stat", "capital gains", "capital losses", "dividends from stocks", "tax filer stat",
    "region of previous residence", "state of previous residence", "detailed household and family stat",
    "detailed household summary in household", "instance weight", "migration code-change in msa",
    "migration code-change in reg", "migration code-move within reg", "live in this house 1 year ago",
    "migration prev res in sunbelt", "num persons worked for employer", "family members under 18",
    "country of birth father", "country of birth mother", "country of birth self", "citizenship",
    "own business or self employed", "fill inc questionnaire for veteran's admin", "veterans benefits",
    "weeks worked in year", "year", "income",
)  # fmt: skip


@dataclass(frozen=True)
class Source:
    """One table.

    Args:
        origin: where the original files are published.
        files: names of the original files.
        build: folder of the original files to the table.
        sha256: checksum of the table as CSV text.
    """

    origin: str
    files: tuple[str, ...]
    build: Callable[[Path], pd.DataFrame]
    sha256: str


def compas(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / "compas-scores-two-years.csv").drop(columns=list(COMPAS_IDENTIFIERS))


def heart(folder: Path) -> pd.DataFrame:
    parts = []
    for name, hospital in HOSPITALS.items():
        part = pd.read_csv(folder / f"processed.{name}.data", names=HEART_COLUMNS, na_values="?")
        floats = part.drop(columns="num").astype(float)
        parts.append(floats.assign(num=part["num"].astype(int), hospital=hospital))
    return pd.concat(parts, ignore_index=True)


def students(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / "student-por.csv", sep=";")


def census(folder: Path) -> pd.DataFrame:
    parts = []
    for split, name in {"train": "census-income.data", "test": "census-income.test"}.items():
        part = pd.read_csv(folder / name, names=CENSUS_COLUMNS, skipinitialspace=True, na_filter=False)
        parts.append(part.assign(split=split))
    return pd.concat(parts, ignore_index=True)


SOURCES = {
    "compas.parquet": Source(
        "https://github.com/propublica/compas-analysis",
        ("compas-scores-two-years.csv",),
        compas,
        "3bbc3288b268942fe3166bb6bfc0b6dbde3f31ed839ea636fffa1a6457d2c9f4",
    ),
    "heart_disease.parquet": Source(
        "UCI, doi:10.24432/C52P4X",
        tuple(f"processed.{name}.data" for name in HOSPITALS),
        heart,
        "253edf4d7ff55f8229c172ae5ef2f64faad8075271a49219b6b595f750b96e14",
    ),
    "student_por.parquet": Source(
        "UCI, doi:10.24432/C5TG7T",
        ("student-por.csv",),
        students,
        "3fb408fe4b66d4cdb90ad4ec5e3fb6de94ba662d0471a3d46c03da483069f76b",
    ),
    "census_income_kdd.parquet": Source(
        "UCI, doi:10.24432/C5N30T",
        ("census-income.data", "census-income.test"),
        census,
        "dc6f4b9e2ce6c95b806fa1c7fa6e48f93bc1178b74a97f45f2761cd883edb585",
    ),
}


def checksum(table: pd.DataFrame) -> str:
    """Return the checksum of a table, whatever the version of the library that wrote its file."""
    return hashlib.sha256(table.to_csv(index=False, lineterminator="\n").encode()).hexdigest()


def make(name: str, raw: Path, out: Path) -> str:
    """Write one table, and return a line that says so or why not."""
    source = SOURCES[name]
    missing = [file for file in source.files if not (raw / file).exists()]
    if missing:
        return f"{name}: {missing[0]} is not in {raw}. Download it from {source.origin}."
    table = source.build(raw)
    if checksum(table) != source.sha256:
        return f"{name}: not written, because its content differs from the table of the committed results."
    out.mkdir(parents=True, exist_ok=True)
    table.to_parquet(out / name)
    return f"{name}: written to {out}."


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m papers.datasets", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("raw", type=Path, help="folder with the original files")
    parser.add_argument("--out", type=Path, default=Path("data"), help="folder of the tables (default: %(default)s)")
    options = parser.parse_args(arguments)
    for name in SOURCES:
        print(make(name, options.raw, options.out))


if __name__ == "__main__":
    main()
