"""Perturbed records have the documented distribution, and the target is queried on exactly those."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import guestlist as gl
from guestlist import InputError
from guestlist._store import open_store
from guestlist._store.integrity import write_checked_npz
from guestlist._util import stream
from guestlist.errors import FolderError
from guestlist.evidence import parse_plan
from guestlist.evidence import perturbed as asking
from guestlist.evidence.perturbed import column_scales, perturbed

pytestmark = pytest.mark.usefixtures("in_the_order_given")


def changed(x, *, noise=0.25, flips=0.1, rows=None):
    rows = np.arange(len(x)) if rows is None else rows
    return perturbed(x, rows, column_scales(x), np.random.default_rng(7), noise=noise, flips=flips)


def run(model, blobs, folder, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gl.AuditWarning)
        return gl.audit(model, *blobs, folder=folder, **{"references": 0, "jobs": 1, **options})


def table(records: int) -> pd.DataFrame:
    """A column of every type, missing values in most."""
    rng = np.random.default_rng(0)
    gaps = rng.random(records) < 0.1
    return pd.DataFrame(
        {
            "continuous": np.where(gaps, np.nan, 3 + 2 * rng.normal(size=records)),
            "single": rng.normal(size=records).astype(np.float32),
            "whole": rng.integers(0, 90, records),
            "small": rng.integers(-120, 120, records).astype(np.int8),
            "nullable": pd.array(np.where(gaps, None, rng.integers(0, 90, records)), dtype="Int64"),
            "nullable_float": pd.array(np.where(gaps, None, rng.normal(size=records)), dtype="Float64"),
            "binary": rng.integers(0, 2, records),
            "truth": rng.random(records) < 0.3,
            "nullable_truth": pd.array(np.where(gaps, None, rng.random(records) < 0.3), dtype="boolean"),
            "text": np.where(gaps, None, rng.choice(["a", "b", "c"], records, p=[0.6, 0.3, 0.1])),
            "category": pd.Categorical(rng.choice(["x", "y"], records), categories=["unused", "y", "x"], ordered=True),
            "date": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 500, records), unit="D"),
            "empty": np.full(records, np.nan),
            "constant": np.full(records, 1.5),
        }
    )


def test_noise_on_numbers_has_the_stated_deviation():
    x = np.random.default_rng(1).normal(size=(20000, 3)) * [1, 10, 0.1] + [0, 5, 0]
    moved = changed(x, noise=0.5) - x
    np.testing.assert_allclose(moved.std(axis=0) / x.std(axis=0), 0.5, rtol=0.02)
    np.testing.assert_allclose(moved.mean(axis=0) / x.std(axis=0), 0, atol=0.015)
    assert abs(np.corrcoef(moved.T)[0, 1]) < 0.03  # every column has noise of its own


def test_whole_numbers_stay_whole_and_zeros_and_ones_are_flipped():
    rng = np.random.default_rng(1)
    x = np.column_stack([rng.integers(0, 100, 20000), rng.integers(0, 2, 20000)])
    noisy = changed(x, noise=0.5, flips=0.2)
    assert noisy.dtype == x.dtype
    np.testing.assert_allclose((noisy - x)[:, 0].std() / x[:, 0].std(), 0.5, rtol=0.02)
    assert set(np.unique(noisy[:, 1])) == {0, 1}
    assert abs((noisy != x)[:, 1].mean() - 0.2) < 0.01
    # The same in floats, and nothing but the flips where there is no noise.
    floats = changed(x.astype(float), noise=0, flips=0.2)
    np.testing.assert_array_equal(floats[:, 0], x[:, 0])
    assert abs((floats != x)[:, 1].mean() - 0.2) < 0.01


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, bool])
def test_images_take_one_deviation_for_all_pixels(dtype):
    rng = np.random.default_rng(1)
    x = rng.random((500, 6, 6)) * np.linspace(0.1, 1, 6)
    x = x > 0.5 if dtype is bool else (200 * x).astype(dtype)
    noisy = changed(x, noise=0.1, flips=0.2)
    assert (noisy.dtype, noisy.shape) == (x.dtype, x.shape)
    if dtype is bool:
        assert abs((noisy != x).mean() - 0.2) < 0.02
    if dtype is np.float32:
        each = (noisy - x).std(axis=(0, 1))  # columns of pixels that differ tenfold have the same noise
        np.testing.assert_allclose(each / x.std(), 0.1, rtol=0.1)


def test_small_types_do_not_wrap_around():
    x = np.array([[0, 255], [255, 0]] * 500, dtype=np.uint8)
    moved = changed(x, noise=0.1).astype(int) - x
    assert np.abs(moved).max() < 120
    large = np.array([[2**63 - 1], [-(2**63)]] * 100)
    assert (np.sign(changed(large, noise=0.1)) == np.sign(large)).all()


def test_a_table_keeps_types_columns_categories_and_gaps():
    x = table(3000)
    rows = np.arange(5, 2900, 3)
    noisy, original = changed(x, rows=rows), x.iloc[rows]
    assert noisy.dtypes.equals(x.dtypes)
    assert list(noisy.columns) == list(x.columns)
    assert noisy.index.equals(original.index)
    pd.testing.assert_frame_equal(noisy.isna(), original.isna())
    assert not noisy.drop(columns=["empty", "constant"]).equals(original.drop(columns=["empty", "constant"]))
    assert noisy["constant"].equals(original["constant"])
    for name in ("whole", "nullable"):
        assert (noisy[name] != original[name]).mean() > 0.5
    pd.testing.assert_frame_equal(x, table(3000))  # the records themselves are left alone


@pytest.mark.parametrize("name", ["text", "category", "truth", "nullable_truth", "date"])
def test_values_are_drawn_from_their_column(name):
    x = table(20000)[[name]]
    noisy = changed(x, flips=0.5)[name]
    present = x[name].notna()
    shares = x.loc[present, name].value_counts(normalize=True)
    # A value that is drawn again equals the old one with the frequency of that value.
    expected = 0.5 * (1 - (shares**2).sum())
    assert abs((noisy[present] != x.loc[present, name]).mean() - expected) < 0.015
    after = noisy[present].value_counts(normalize=True).reindex(shares.index, fill_value=0)
    assert (after - shares).abs().max() < 0.01
    assert changed(x, flips=0)[name].equals(x[name])


def test_arrays_of_objects_are_read_column_by_column():
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=2000).astype(object), rng.choice(["a", "b"], 2000).astype(object)])
    noisy = changed(x, flips=0.2)
    assert noisy.dtype == object
    assert abs((noisy[:, 0] - x[:, 0]).astype(float).std() / x[:, 0].astype(float).std() - 0.25) < 0.02
    assert set(noisy[:, 1]) == {"a", "b"}
    words = x[:, 1:].astype("<U1")
    assert changed(words).dtype == words.dtype


@pytest.mark.slow
def test_the_share_is_that_of_a_plain_loop(blobs, tmp_path, monkeypatch):
    (x, y), (x2, y2) = blobs
    model, population = DecisionTreeClassifier(random_state=0).fit(x, y), (x2[:60] + 0.1, y2[:60])
    monkeypatch.setattr(asking, "BATCH", 5 * 100)  # several batches
    run(model, blobs, tmp_path, population=population, evidence=[gl.evidence.Perturbed(4, noise=0.4)])
    view = gl.evidence.Perturbed.read(open_store(tmp_path))
    pool, labels = np.concatenate([x, x2, population[0]]), np.concatenate([y, y2])
    right = np.zeros(440)
    for copy in range(1, 5):
        rng = stream(0, "evidence", *b"perturbed", copy)
        for start in range(0, 440, 100):
            for_all = rng.normal(size=(min(100, 440 - start), 5))
            rng.random(for_all.shape)  # the flips of zeros and ones, of which there are none
            for i, noise in enumerate(for_all, start=start):
                right[i] += model.predict([pool[i] + 0.4 * pool.std(axis=0) * noise])[0] == labels[i]
    assert view.copies == 4
    np.testing.assert_allclose(view.share[:440], right / 4)
    assert np.isnan(view.share[440:]).all()  # the population is not queried
    assert 0.2 < np.mean(right / 4) < 0.95


@pytest.mark.slow
def test_resumed_and_grown_give_the_same_bytes(tree, blobs, tmp_path, monkeypatch):
    def contents(folder):
        return {p.name: p.read_bytes() for p in [*folder.glob("evidence/perturbed/*"), *folder.glob("scores/*")]}

    run(tree, blobs, tmp_path / "whole", evidence=[gl.evidence.Perturbed(6)])
    run(tree, blobs, tmp_path / "grown", evidence=[gl.evidence.Perturbed(2)])
    run(tree, blobs, tmp_path / "grown", evidence=[gl.evidence.Perturbed(6)])

    class KilledError(Exception):
        pass

    def killed(path, provenance, arrays):
        if path.name == "copy-0004.npz":
            raise KilledError
        return write_checked_npz(path, provenance, arrays)

    with monkeypatch.context() as patch:
        patch.setattr("guestlist._store.folder.write_checked_npz", killed)
        with pytest.raises(KilledError):
            run(tree, blobs, tmp_path / "resumed", evidence=[gl.evidence.Perturbed(6)])
    assert len(list((tmp_path / "resumed").glob("evidence/perturbed/copy-*"))) == 3
    run(tree, blobs, tmp_path / "resumed", evidence=[gl.evidence.Perturbed(6)])
    content = contents(tmp_path / "whole")
    assert len(content) > 7
    assert contents(tmp_path / "grown") == content
    assert contents(tmp_path / "resumed") == content
    # Another seed is another noise; other options in the same folder are refused.
    run(tree, blobs, tmp_path / "seed", evidence=[gl.evidence.Perturbed(6)], seed=1)
    assert contents(tmp_path / "seed")["copy-0001.npz"] != content["copy-0001.npz"]
    with pytest.raises(FolderError, match=r"noise=0\.25"):
        run(tree, blobs, tmp_path / "whole", evidence=[gl.evidence.Perturbed(6, noise=0.5)])


@pytest.mark.slow
def test_a_pipeline_on_a_table_with_text(tmp_path):
    x = table(400)[["continuous", "whole", "text", "category", "truth"]].assign(
        continuous=lambda t: t["continuous"].fillna(0)
    )
    y = np.where((x["continuous"] > 3) ^ (np.random.default_rng(1).random(400) < 0.2), "yes", "no")
    encode = make_column_transformer((OneHotEncoder(), ["text", "category"]), remainder="passthrough")
    model = make_pipeline(encode, RandomForestClassifier(10, random_state=0)).fit(x[:200], y[:200])
    results = run(model, ((x[:200], y[:200]), (x[200:], y[200:])), tmp_path, evidence=[gl.evidence.Perturbed(10)])
    row = results.attacks.set_index("attack").loc["label_only"]
    assert row["auc"] > 0.55
    assert row["unscored"] == 0
    assert "labels_only" not in results.untested


def test_a_model_that_cannot_read_perturbed_records_is_reported(blobs, tmp_path):
    x, y = np.round(blobs[0][0] * 3).astype(int), blobs[0][1]
    model = make_pipeline(OneHotEncoder(), RandomForestClassifier(3, random_state=0)).fit(x, y)
    with pytest.raises(InputError, match=r"cannot read perturbed records.*category type"):
        run(model, ((x[:200], y[:200]), (x[200:], y[200:])), tmp_path, evidence=[gl.evidence.Perturbed(2, noise=5)])


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"copies": 0}, "copies=0"),
        ({"noise": -1.0}, r"noise=-1\.0"),
        ({"noise": float("nan")}, "noise=nan"),
        ({"flips": 1.5}, r"flips=1\.5"),
        ({"noise": 0, "flips": 0}, "noise=0 and flips=0"),
    ],
)
def test_options_are_checked_at_once(options, named):
    with pytest.raises(ValueError, match=named):
        gl.evidence.Perturbed(**options)


@pytest.mark.slow
def test_the_command_line_reads_the_options(tree, blobs, tmp_path):
    plan = parse_plan("perturbed:copies=3,noise=0.5")
    assert plan == gl.evidence.Perturbed(3, noise=0.5)
    run(tree, blobs, tmp_path, evidence=[plan])
    assert json.loads((tmp_path / "evidence/perturbed/plan.json").read_text())["copies"] == 3
