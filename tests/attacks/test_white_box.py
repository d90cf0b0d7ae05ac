from dataclasses import replace

import numpy as np
import pytest

import guestlist as gl
from guestlist._views import Evidence, Signals, WhiteBoxView
from guestlist.attacks.model_specific import white_box
from guestlist.errors import NotCollectedError
from guestlist.metrics import auc
from guestlist.testing import gaussian_simulation, target_of


@pytest.mark.slow
def test_only_the_order_of_a_feature_counts():
    """Gradients range over many powers of ten: no scale is the right one."""
    signals, _ = target_of(gaussian_simulation(1.0, records=400, models=2))
    inner = signals.evidence.need("white_box")
    powers = replace(inner, features=np.exp(2 * inner.features))
    scores = white_box(replace(signals, evidence=Evidence({"white_box": powers})))
    judged = ~inner.known
    assert np.corrcoef(scores[judged], white_box(signals)[judged])[0, 1] > 0.95  # other records in each tree's sample


@pytest.mark.slow
def test_unknown_membership_has_no_effect():
    """Whatever is true of the records that are not known, the scores are the same: it is not in the view."""
    signals, member = target_of(gaussian_simulation(2.0, records=600, models=2))
    inner = signals.evidence.need("white_box")
    np.testing.assert_array_equal(inner.member, member & inner.known)
    scores = white_box(signals)
    np.testing.assert_array_equal(np.isnan(scores), inner.known)
    # Known membership does have an effect: wrong known labels reverse the scores.
    wrong = replace(signals, evidence=Evidence({"white_box": replace(inner, member=~inner.member & inner.known)}))
    evaluated = ~inner.known
    assert auc(scores[evaluated], member[evaluated]).low > 0.7
    assert auc(white_box(wrong)[evaluated], member[evaluated]).high < 0.3


def test_known_records_of_only_members_give_no_scores():
    everyone = np.array([True, True, False])
    inner = WhiteBoxView(np.arange(3.0)[:, None], ("x",), everyone, everyone)
    signals = Signals({}, np.zeros((0, 3), dtype=bool), np.zeros(3, int), Evidence({"white_box": inner}))
    assert np.isnan(white_box(signals)).all()


@pytest.mark.slow
def test_an_overfitted_network_leaks_and_the_report_names_the_access():
    pytest.importorskip("torch")
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    x, y = x / 16, np.where(np.arange(len(y)) % 3 == 0, (y + 1) % 10, y)  # random labels, which can only be memorised
    members, nonmembers = (x[:400], y[:400]), (x[400:800], y[400:800])
    module = gl.defences.Fit(epochs=30, learning_rate=0.003)(
        gl.defences.mlp(64, 10, hidden=(64,)), gl.Data(*members), np.random.default_rng(0)
    )
    results = gl.audit(
        gl.torch_target(module),
        members,
        nonmembers,
        references=0,
        evidence=[gl.evidence.WhiteBox()],
        attacks=["loss", "white_box"],
    )
    assert results.attack("white_box").auc.low > 0.6
    assert results.attack("white_box").unscored == 400
    assert "parameters" not in results.untested
    without = gl.audit(gl.torch_target(module), members, nonmembers, references=0, attacks=["loss"])
    assert "parameters" in without.untested
    with pytest.raises(NotCollectedError, match=r"gl\.evidence\.WhiteBox"):
        gl.audit(gl.torch_target(module), members, nonmembers, references=0, attacks=["white_box"])
