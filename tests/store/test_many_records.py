"""Signals of very many records: saved in single precision, read in parts, and with hardly different metrics."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import guestlist as gl
from guestlist._store import folder, open_store, read_npz


def audit(audit_folder):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(80, 12)), rng.integers(0, 2, 80)
    model = LogisticRegression(C=100).fit(x[:40], y[:40])
    names = ["loss", "rmia", "lira_bayes", "class_mentr"]
    sides = (x[:40], y[:40]), (x[40:], y[40:])
    return gl.audit(
        model, *sides, references=8, attacks=names, folder=audit_folder, jobs=1, baseline=False, progress=False
    )


@pytest.mark.slow
def test_single_precision_hardly_changes_a_metric(monkeypatch, tmp_path):
    exact = audit(tmp_path / "exact")
    monkeypatch.setattr("guestlist._store.folder.MANY_RECORDS", 50)
    monkeypatch.setattr("guestlist._store.folder.MANY_CELLS", 50)
    results = audit(tmp_path / "many")
    for name, kind, of_two in (("exact", np.float64, np.float64), ("many", np.float32, np.bool_)):
        arrays = read_npz(tmp_path / name / "signals" / "model-0003.npz")
        assert {arrays[signal].dtype for signal in arrays.keys() - {"correct"}} == {np.dtype(kind)}
        assert arrays["correct"].dtype == of_two
    for outcome, other in zip(results.outcomes, exact.outcomes, strict=True):
        assert outcome.auc == pytest.approx(other.auc, abs=0.003)  # ranks of records that are all but equal
    np.testing.assert_allclose(results.records["score_lira_bayes"], exact.records["score_lira_bayes"], atol=1e-3)
    again = audit(tmp_path / "many")  # what is in the folder is taken
    assert again.outcomes == results.outcomes


@pytest.mark.slow
def test_signals_of_some_records_are_read_without_the_others(monkeypatch, tmp_path):
    monkeypatch.setattr("guestlist._store.folder.MANY_RECORDS", 50)
    monkeypatch.setattr("guestlist._store.folder.MANY_CELLS", 50)
    audit(tmp_path)
    rotation, whole = (open_store(tmp_path).rotation() for _ in range(2))
    made, plain = [], folder._stack

    def noted(parts, names, models):
        stacked = plain(parts, names, models)
        made.extend((name, values.shape) for name, values in stacked.items())
        return stacked

    monkeypatch.setattr(folder, "_stack", noted)
    records = np.array([3, 4, 17, 60])
    for name in ("mentr", "correct", "margin"):
        for view in (rotation.take_records(records), rotation.take(np.arange(1, 9)).take_records(records)):
            expected = whole.target(name)[:, records].astype(np.float64)[-len(view.member) :]
            made.clear()
            assert np.array_equal(view.target(name), expected)
            assert set(made) <= {(name, (9, 80 if name in folder.ALWAYS_WHOLE else 4))}
    assert np.array_equal(rotation.facing(0).reference("mentr", records), whole.target("mentr")[1:, records])
    assert np.array_equal(rotation.target("mentr"), whole.target("mentr"))
