"""The signals of very many records: kept in single precision, two of them in memory at a time, and hardly other figures."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import guestlist as gl
from guestlist.store.files import read_npz


def audit(folder):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(80, 12)), rng.integers(0, 2, 80)
    model = LogisticRegression(C=100).fit(x[:40], y[:40])
    names = ["loss", "rmia", "lira_bayes", "class_mentr"]
    sides = (x[:40], y[:40]), (x[40:], y[40:])
    return gl.audit(model, *sides, references=8, attacks=names, folder=folder, jobs=1, blind=False, progress=False)


@pytest.mark.slow
def test_single_precision_changes_hardly_a_figure(monkeypatch, tmp_path):
    exact = audit(tmp_path / "exact")
    monkeypatch.setattr("guestlist.store.folder.MANY_RECORDS", 50)
    monkeypatch.setattr("guestlist.store.folder.MANY_CELLS", 50)
    found = audit(tmp_path / "many")
    for name, kind, of_two in (("exact", np.float64, np.float64), ("many", np.float32, np.bool_)):
        kept = read_npz(tmp_path / name / "signals" / "model-0003.npz")
        assert {kept[signal].dtype for signal in kept.keys() - {"correct"}} == {np.dtype(kind)}
        assert kept["correct"].dtype == of_two
    for one, other in zip(found.outcomes, exact.outcomes, strict=True):
        assert one.auc == pytest.approx(other.auc, abs=0.003)  # ranks of records that are all but equal
    np.testing.assert_allclose(found.records["score_lira_bayes"], exact.records["score_lira_bayes"], atol=1e-3)
    again = audit(tmp_path / "many")  # what is in the folder is taken
    assert again.outcomes == found.outcomes
