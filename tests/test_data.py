import numpy as np
import pandas as pd
import polars
import pytest

from guestlist import InputError
from guestlist._store import fingerprint, row_hashes
from guestlist.data import as_data, concatenate, encode

TABLE = pd.DataFrame({"age": [30, 40, 50], "sex": ["f", "m", "f"], "who": ["a", "b", "c"], "income": [0, 1, 0]})
COLUMNS = {"side": "members", "label": "income", "group": ("sex",), "id": "who"}


def check(data):
    assert list(data.x.columns) == ["age", "sex"]
    assert data.y.tolist() == [0, 1, 0]
    assert data.ids.tolist() == ["a", "b", "c"]
    assert data.groups["sex"].tolist() == ["f", "m", "f"]


def test_tables_of_every_kind_give_the_same_data(tmp_path):
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    TABLE.to_parquet(tmp_path / "t.parquet")
    for source in (TABLE, polars.from_pandas(TABLE), tmp_path / "t.csv", str(tmp_path / "t.parquet")):
        check(as_data(source, **COLUMNS))


def test_a_features_table_and_labels_keep_groups_and_ids():
    check(as_data((TABLE.drop(columns="income"), TABLE["income"]), side="members", group=("sex",), id="who"))


def test_ids_are_the_users_index_or_the_row():
    x, y = np.zeros((2, 3)), np.array([0, 1])
    assert as_data((x, y), side="members").ids.tolist() == ["members:0", "members:1"]
    named = pd.DataFrame(x, index=["p7", "p9"])
    assert as_data((named, y), side="members").ids.tolist() == ["p7", "p9"]


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ((np.zeros((2, 3)), np.zeros(3)), {}, "2 records but 3 labels"),
        ((np.zeros(3), np.zeros(3)), {}, "features must have the shape"),
        ((np.zeros((2, 3)), np.zeros((2, 2))), {}, "one label per record"),
        ((np.zeros((2, 3)),), {}, "tuple of 1"),
        (TABLE, {}, r"label= \(--label\)"),
        (TABLE, {"label": "wage"}, "no column 'wage'"),
        (TABLE, {"label": "income", "group": ("race",)}, "no column 'race'"),
        (
            TABLE,
            {"label": "income", "id": "income"},
            r"'income' is passed both as the label \(--label\) and as the id \(--id\)",
        ),
        (
            TABLE,
            {"label": "income", "person": "income"},
            r"'income' .* as the person \(--person\)\. Choose another column",
        ),
        (TABLE, {"label": "income", "group": ("sex", "income")}, r"'income' .* as a group \(--group\)"),
        ("nowhere.csv", {"label": "income"}, "no file nowhere.csv"),
        ("records.xlsx", {"label": "income"}, "expected a .csv, .tsv or .parquet"),
        (42, {}, "type int"),
    ],
)
def test_errors_report_the_value(source, options, message):
    with pytest.raises(InputError, match=message):
        as_data(source, side="members", **options)


def test_a_file_that_is_no_table_is_refused(tmp_path):
    (tmp_path / "broken.parquet").write_bytes(b"not parquet")
    with pytest.raises(InputError, match="as parquet"):
        as_data(tmp_path / "broken.parquet", side="members", label="y")


def test_equal_records_have_equal_hashes_and_labels_count():
    x = np.array([[1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [2.0, 1.0]])
    hashes = row_hashes(as_data((x, np.array([0, 0, 1, 0])), side="members"))
    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == 3


@pytest.mark.parametrize("change", ["x", "y", "order", "ids"])
def test_fingerprint_changes_with_everything_that_matters(change):
    data = as_data(TABLE, **COLUMNS)
    changed = {
        "x": lambda: as_data(TABLE.assign(age=[30, 40, 51]), **COLUMNS),
        "y": lambda: as_data(TABLE.assign(income=[0, 1, 1]), **COLUMNS),
        "order": lambda: as_data(TABLE.iloc[[1, 0, 2]], **COLUMNS),
        "ids": lambda: as_data(TABLE.assign(who=["a", "b", "d"]), **COLUMNS),
    }[change]()
    assert fingerprint(data) == fingerprint(as_data(TABLE.copy(), **COLUMNS))
    assert fingerprint(data) != fingerprint(changed)


def test_take_and_concatenate_are_inverse():
    data = as_data(TABLE, **COLUMNS)
    mask = np.array([True, False, True])
    both = concatenate([data.take(mask), data.take(~mask)])
    assert both.ids.tolist() == ["a", "c", "b"]
    assert both.x["age"].tolist() == [30, 50, 40]
    assert both.groups["sex"].tolist() == ["f", "f", "m"]


def test_encode_marks_unknown_labels():
    assert encode(np.array(["b", "z", "a"]), np.array(["a", "b"])).tolist() == [1, -1, 0]


def test_ids_of_a_csv_file_are_names_and_not_numbers(tmp_path):
    pd.DataFrame({"code": ["007", "010"], "who": ["01", "02"], "x": [1.5, 2.5], "y": [0, 1]}).to_csv(
        tmp_path / "a.csv", index=False
    )
    data = as_data(tmp_path / "a.csv", side="members", label="y", id="code", person="who")
    assert data.ids.tolist() == ["007", "010"]
    assert data.persons.tolist() == ["01", "02"]
    assert data.x["x"].tolist() == [1.5, 2.5]
    assert as_data(tmp_path / "a.csv", side="members", label="y", id="code").ids.tolist() == ["007", "010"]


def test_the_person_column_may_also_name_records_and_be_a_group():
    data = as_data(TABLE, side="members", label="income", id="who", person="who", group=("who", "sex"))
    assert data.ids.tolist() == data.persons.tolist() == data.groups["who"].tolist() == ["a", "b", "c"]
