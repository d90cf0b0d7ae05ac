"""Anything that can be audited becomes columns of finite numbers."""

import numpy as np
import pandas as pd
import pytest

from guestlist._baseline.columns import COMPONENTS, FEATURES, LEVELS, Columns, cells, columns_of, design, folds_of

RNG = np.random.default_rng(0)
DAYS = pd.date_range("2020-01-01", periods=60, freq="D")
TABLES = {
    "numbers": pd.DataFrame({"a": RNG.normal(size=60), "b": np.arange(60)}),
    "missing": pd.DataFrame({"a": np.where(np.arange(60) % 3, 1.5 * np.arange(60), np.nan), "b": None}),
    "infinite": pd.DataFrame({"a": np.where(np.arange(60) % 3, 1e308, -np.inf)}),
    "categories": pd.DataFrame({"a": pd.Categorical(RNG.choice(list("xyz"), 60)), "b": RNG.choice(["u", None], 60)}),
    "nullable": pd.DataFrame({"a": pd.array([1, None, 3] * 20, dtype="Int64"), "b": pd.array([True, None] * 30)}),
    "dates": pd.DataFrame({"a": DAYS.where(np.arange(60) % 4 > 0), "b": DAYS.tz_localize("UTC"), "c": DAYS - DAYS[0]}),
    "constant": pd.DataFrame({"a": np.ones(60), "b": "x"}),
    "names": pd.DataFrame({"a": [f"person {k}" for k in range(60)]}),
    "objects": np.array([["x", 1.0], ["y", 2.0]] * 30, dtype=object),
    "images": RNG.integers(255, size=(60, 40, 40), dtype=np.uint8),
    "truth": RNG.random((60, 3)) < 0.5,
    "text": RNG.choice(["a", "b"], (60, 2)),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("values", [False, True])
def test_whatever_is_given_becomes_finite_numbers(name, values):
    rng = np.random.default_rng(1)
    x, fold = columns_of(TABLES[name], rng), folds_of(np.arange(60), 5, rng)
    label = rng.normal(size=60) if values else rng.choice(["yes", "no"], 60)
    read = design(x, label, {"sex": rng.choice(["f", "m"], 60).astype(object)}, fold, values=values, rng=rng).linear
    assert len(read) == 60
    assert np.isfinite(read).all()
    assert np.allclose(read.mean(axis=0), 0, atol=1e-9)
    expected = {"constant": 0, "names": 0, "infinite": 1, "images": FEATURES, "dates": 3, "truth": 3}
    assert x.sources == expected.get(name, x.sources)


def test_missing_numbers_are_distinguished_from_average_ones():
    missing = np.arange(60) % 3 == 0
    columns = columns_of(pd.DataFrame({"a": np.where(missing, np.nan, np.arange(60.0))}), np.random.default_rng(0))
    assert (columns.values.shape[1], columns.sources) == (2, 1)
    assert abs(np.corrcoef(columns.values[:, 1], missing)[0, 1]) > 0.99


def test_many_columns_and_many_values_are_capped():
    rng = np.random.default_rng(0)
    many = columns_of(pd.DataFrame({"a": rng.integers(40, size=2000).astype(str)}), rng)
    assert (many.values.shape[1], many.sources) == (LEVELS, 1)
    wide = columns_of(rng.normal(size=(500, 600)), rng)
    fold = folds_of(np.arange(500), 5, rng)
    read = design(wide, np.zeros(500, int), {}, fold, values=False, rng=rng).linear
    assert read.shape[1] < COMPONENTS + 48 * 8 + 2


def test_cells_see_what_a_linear_model_does_not():
    """A label that agrees with the sign of a column in one set and not in the other: no single column differs."""
    rng = np.random.default_rng(0)
    columns = Columns(rng.choice([-1.0, 1.0], (400, 1)), np.zeros(1, int))
    labels = Columns(rng.choice([-1.0, 1.0], (400, 1)), np.zeros(1, int))
    agree = columns.values[:, 0] == labels.values[:, 0]
    features = cells(columns, labels, rng)
    assert np.abs([np.corrcoef(c, agree)[0, 1] for c in features.T if c.any()]).max() > 0.5
