"""Tables of the papers are made from the files that their sources publish."""

import pandas as pd
import pytest
from papers.datasets import (
    CENSUS_COLUMNS,
    COMPAS_IDENTIFIERS,
    HEART_COLUMNS,
    HOSPITALS,
    SOURCES,
    census,
    checksum,
    main,
    make,
)


def write_raw(name, table, folder):
    """Write a table as its source publishes it."""
    if name == "student_por.parquet":
        table.to_csv(folder / "student-por.csv", sep=";", index=False)
    elif name == "compas.parquet":
        table.assign(**dict.fromkeys(COMPAS_IDENTIFIERS, "x")).to_csv(
            folder / "compas-scores-two-years.csv", index=False
        )
    else:
        for file, hospital in HOSPITALS.items():
            part = table.loc[table["hospital"] == hospital, list(HEART_COLUMNS)]
            part.to_csv(folder / f"processed.{file}.data", header=False, index=False, na_rep="?")


@pytest.mark.parametrize("name", ["student_por.parquet", "compas.parquet", "heart_disease.parquet"])
def test_a_table_is_made_from_the_original_files(name, real_data, tmp_path):
    table = pd.read_parquet(real_data(name))
    assert checksum(table) == SOURCES[name].sha256
    write_raw(name, table, tmp_path)
    assert make(name, tmp_path, tmp_path / "data") == f"{name}: written to {tmp_path / 'data'}."
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "data" / name), table, check_dtype=False)


def test_both_files_of_the_census_are_stacked(tmp_path):
    record = [f"{column} x" for column in CENSUS_COLUMNS[1:-1]]
    for name, income in (("census-income.data", "- 50000."), ("census-income.test", "50000+.")):
        (tmp_path / name).write_text(", ".join(["21", *record, income]) + "\n")
    table = census(tmp_path)
    assert table["income"].tolist() == ["- 50000.", "50000+."]
    assert table["split"].tolist() == ["train", "test"]
    assert table["age"].tolist() == [21, 21]
    assert make("census_income_kdd.parquet", tmp_path, tmp_path).endswith("the table of the committed results.")


def test_missing_files_are_named_with_their_source(tmp_path, capsys):
    main([str(tmp_path), "--out", str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(SOURCES)
    assert lines[2] == (
        f"student_por.parquet: student-por.csv is not in {tmp_path}. Download it from UCI, doi:10.24432/C5TG7T."
    )
