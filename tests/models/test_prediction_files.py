"""Files of predictions: columns that only resemble predictions, and tables as R and pandas write them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import guestlist as gl
from guestlist import InputError, read_predictions
from guestlist._util import check_columns, read_table
from guestlist.data import as_data

OWN = {"label": "y_true", "member": "is_train", "probability": "prob_yes"}


def written(table, path, **options):
    table.to_csv(path, index=False, **options)
    return path


@pytest.fixture(scope="module")
def people():
    """60 records of two classes that are words."""
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {"y_true": rng.choice(["yes", "no"], 60), "is_train": np.arange(60) % 2, "prob_yes": rng.random(60).round(6)}
    )


def said_of(labels=("bad", "good"), prefix="p_", rows=12):
    """A table of two classes, in which every other record is a member."""
    rng = np.random.default_rng(2)
    sure = rng.random(rows).round(3)
    outputs = {f"{prefix}{labels[0]}": 1 - sure, f"{prefix}{labels[1]}": sure}
    return pd.DataFrame(
        {"label": rng.permutation(list(labels) * (rows // 2)), "member": np.arange(rows) % 2, **outputs}
    )


def test_a_text_that_matches_the_pattern_is_no_prediction(tmp_path):
    table = said_of(("<=50K", ">50K"), ".pred_").assign(**{".pred_class": ">50K"})
    for labelled in (True, False):
        predictions = read_predictions(written(table, tmp_path / "a.csv"), probability=".pred_{}", labelled=labelled)
        assert predictions.classes.tolist() == ["<=50K", ">50K"]
    named = table.assign(label="class")
    with pytest.raises(InputError, match=r"not numbers: \.pred_class"):
        read_predictions(written(named, tmp_path / "b.csv"), probability=".pred_{}")


@pytest.mark.parametrize("value", [0.0, 0.04])
def test_a_probability_that_no_label_is_named_after_is_refused(tmp_path, value):
    table = said_of().assign(p_value=value)
    with pytest.raises(InputError, match=r"match no label: p_value.*--probability \"p_\{\}\""):
        read_predictions(written(table, tmp_path / "a.csv"))
    spelt = said_of(("FALSE", "TRUE")).assign(label=[True, False] * 6, p_value=value)
    with pytest.raises(InputError, match="match no label: p_value"):
        read_predictions(written(spelt, tmp_path / "b.csv"))
    unseen = said_of(("0", "1")).assign(p_2=0.0)  # a class that no record has
    assert read_predictions(written(unseen, tmp_path / "c.csv")).outputs.shape == (12, 3)
    rare = said_of().assign(p_ugly=0.0)
    assert read_predictions(written(rare, tmp_path / "d.csv"), probability="p_{}").classes.tolist() == [
        "bad",
        "good",
        "ugly",
    ]


def test_one_column_of_two_is_reported_with_its_option(tmp_path):
    table = said_of(("0", "1")).drop(columns="p_0")
    with pytest.raises(InputError, match=r"one output column, 'p_1'.*--probability p_1\)"):
        read_predictions(written(table, tmp_path / "a.csv"))
    assert np.allclose(read_predictions(tmp_path / "a.csv", probability="p_1").outputs[:, 1], table["p_1"])


def test_the_logit_of_one_of_two_classes(tmp_path):
    table = said_of(("0", "1"), "z_").drop(columns="z_0")
    predictions = read_predictions(written(table, tmp_path / "a.csv"), probability="z_1", scale="logits")
    assert np.allclose(predictions.outputs, np.column_stack([np.zeros(12), table["z_1"]]))


def test_percentages_are_reported(tmp_path):
    table = said_of()
    both = table.assign(p_good=100 * table["p_good"], p_bad=100 * table["p_bad"])
    with pytest.raises(InputError, match=r"They look like percentages"):
        read_predictions(written(both, tmp_path / "a.csv"))
    with pytest.raises(InputError, match=r"'p_good' up to .* looks like percentages\. Divide"):
        read_predictions(tmp_path / "a.csv", probability="p_good")


def test_files_and_arrays_without_records(tmp_path):
    with pytest.raises(InputError, match=r"a\.csv has column names \(label, member, p_bad, p_good\) but no records"):
        read_predictions(written(said_of().iloc[:0], tmp_path / "a.csv"))
    with pytest.raises(InputError, match="There are no records"):
        gl.Predictions(np.empty((0, 2)), np.empty(0, int), np.empty(0, bool))


@pytest.mark.parametrize("positive", [">50K", "1", None])
@pytest.mark.parametrize("name", ["prob_yes", "score"])
def test_without_labels_the_positive_class_may_have_any_name(people, tmp_path, positive, name):
    path = written(people.drop(columns="y_true").rename(columns={"prob_yes": name}), tmp_path / "a.csv")
    predictions = read_predictions(path, member="is_train", probability=name, positive=positive, labelled=False)
    assert predictions.classes.tolist() == (["no", "yes"] if positive is None else [f"not {positive}", positive])
    assert np.allclose(predictions.outputs[:, 1], people["prob_yes"])


def test_tables_as_r_writes_them(people, tmp_path):
    """``write.table`` has blanks, quotes around texts, and names of rows without a name for their column."""
    head = " ".join(f'"{name}"' for name in people)
    rows = [f'"{row.y_true}" {row.is_train} {row.prob_yes}' for row in people.itertuples()]
    for path, lines in {
        "named.csv": [f'"{k + 1}" {row}' for k, row in enumerate(rows)],
        "bare.csv": rows,
        "aligned.csv": [row.replace(" ", "   ") for row in rows],
    }.items():
        (tmp_path / path).write_text("\n".join([head, *lines]) + "\n")
        assert np.allclose(read_predictions(tmp_path / path, **OWN).outputs[:, 1], people["prob_yes"])
    assert read_table(tmp_path / "named.csv").index.equals(pd.RangeIndex(60))
    (tmp_path / "who.csv").write_text('"age" "note"\n"Ada" 36 "a b"\n"Bob" 41 "c, d"\n')
    assert read_table(tmp_path / "who.csv").index.tolist() == ["Ada", "Bob"]
    assert read_table(tmp_path / "who.csv")["note"].tolist() == ["a b", "c, d"]


def test_colons_and_tabs_separate_too(people, tmp_path):
    for name, separator in (("a.csv", ":"), ("a.tsv", "\t"), ("A.TSV", "\t")):
        path = written(people, tmp_path / name, sep=separator)
        assert np.allclose(read_predictions(path, **OWN).outputs[:, 1], people["prob_yes"])
    for text in ("note\nseen at 12:30\nwell\n", "two words\nthree words here\nwell\n", '"a;b","c"\n1,2\n'):
        (tmp_path / "b.csv").write_text(text)
        assert len(read_table(tmp_path / "b.csv").columns) == text.split("\n", 1)[0].count(",") + 1


def test_an_index_of_pandas_is_no_column(people, tmp_path):
    people.assign(__index_level_0__=range(60)).to_parquet(tmp_path / "a.parquet")
    assert "__index_level_0__" not in read_table(tmp_path / "a.parquet")
    people.iloc[::2].to_parquet(tmp_path / "b.parquet")  # pandas keeps the index so, and polars reads it
    frame = pl.read_parquet(tmp_path / "b.parquet").with_columns(pl.lit(1).alias("__index_level_0__"))
    assert "__index_level_0__" not in as_data(frame, side="members", label="y_true").x
    with pytest.raises(InputError, match=r"Available names: y_true, is_train, prob_yes\."):
        check_columns(tmp_path / "b.parquet", ["income"], side="members")
