"""The hypothesis-test paper on a small configuration: the same code, small networks."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

import guestlist as gl
from guestlist.store import open_store

pytest.importorskip("torch")

from papers.hypothesis_tests import audits, figures, page, published, tables
from papers.hypothesis_tests.configurations import CONFIGURATIONS, Configuration

pytestmark = pytest.mark.slow  # processes are started, or networks trained


def clusters():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=400)
    return (rng.normal(size=(400, 6)) + 1.2 * np.eye(6)[y]).astype(np.float32), y


SMALL = Configuration(
    clusters, lambda: gl.mlp(6, 3, hidden=(32,)), gl.Fit(epochs=40, learning_rate=0.02), members=80, pool=300
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("audits")
    options = {"targets": 2, "models": 8, "left_out": gl.LeftOut(records=6, models=3), "folder": folder, "jobs": 1}
    return audits.collect("small", SMALL, **options), folder, options


def test_every_target_has_its_own_members_and_all_share_the_references(run):
    cases, folder, _ = run
    for t, case in enumerate(cases):
        assert case.truth.member.sum() == 80
        assert (case.truth.asked & ~case.truth.member).sum() == 80
        assert case.view.references == 8
        assert len(case.view.evidence.need("distilled").member) == 8
        said = open_store(folder / "small" / f"target-{t}").model(0)["loss"]
        np.testing.assert_array_equal(case.view.target("loss"), said)
    first, second = (dict(zip(c.records["id"], c.view.reference("loss").T, strict=True)) for c in cases)
    assert first.keys() == second.keys()
    assert all((first[i] == second[i]).all() for i in first)
    assert set(cases[0].records["id"][cases[0].truth.member]) != set(cases[1].records["id"][cases[1].truth.member])


def test_a_second_run_trains_nothing(run, monkeypatch):
    cases, _, options = run
    monkeypatch.setattr("guestlist.targets.torch_modules._Train.__call__", None)
    monkeypatch.setattr("guestlist.targets.torch_modules._Distil.__call__", None)
    again = audits.collect("small", SMALL, **options)
    np.testing.assert_array_equal(again[1].view.target("loss"), cases[1].view.target("loss"))


def test_overfitted_networks_are_told_by_every_test(run):
    found = tables.strength("small", run[0])
    assert np.mean(found.train_accuracy) > np.mean(found.test_accuracy)
    assert all(np.mean(found.auc[test]) > 0.55 for test in "SPRD")
    assert set(found.realised_fpr["D"]) == {"0.01", "0.05", "0.1", "0.3"}


def test_agreement_is_over_the_records_that_were_left_out(run):
    case = run[0][0]
    found = tables.agreement(case, level=0.3, empirical=False)
    assert found.names == published.AGREEMENT_NAMES
    assert found.records == (6, 6)
    chosen = ~np.isnan(gl.ATTACKS["leave_one_out"].p_value(case.view)) & case.truth.asked
    called = gl.ATTACKS["shadow"].p_value(case.view)[chosen] <= 0.3
    member = case.truth.member[chosen]
    assert found.members[0][2] == pytest.approx(called[member].mean())
    assert found.nonmembers[0][2] == pytest.approx((~called)[~member].mean())


def test_closeness_is_that_of_the_three_sets_of_models(run):
    case = run[0][0]
    found = {row.test: row for row in tables.closeness(case)}
    assert list(found) == ["R", "D", "L"]
    assert found["L"].rank_correlation == pytest.approx((1, 1))
    chosen = case.truth.asked & ~np.isnan(gl.ATTACKS["leave_one_out"].score(case.view)) & case.truth.member
    left_out = case.view.evidence.need("left_out").values["margin"][:, chosen]
    assert found["L"].spread[0] == pytest.approx(np.median(left_out.std(axis=0, ddof=1)))
    assert found["L"].gap[0] == pytest.approx(np.median(case.view.target("margin")[chosen] - left_out.mean(axis=0)))


def test_figures_are_drawn_from_what_each_test_compares_with(run):
    case = run[0][0]
    for figure in (figures.curves({"small <1>": case}), figures.losses(case)):
        ET.fromstring(figure)
    easy, hard = figures.two_members(case)
    assert case.truth.member[easy]
    assert case.truth.member[hard]
    assert case.view.labels[easy] == case.view.labels[hard]
    seen = figures.compared(case, easy)
    outside = ~case.view.reference_member[:, easy]
    np.testing.assert_array_equal(seen["R"], case.view.reference("loss")[outside, easy])
    assert len(seen["P"]) == 300 - 160


def test_the_page_is_made_from_the_results():
    text = page.text()
    assert page.PAGE.read_text("utf-8") == text, "run: python -m papers.hypothesis_tests page"
    assert all(name in text for name in CONFIGURATIONS)


def test_published_figures_are_whole():
    names = published.AGREEMENT_NAMES
    pairs = {(a, b) for i, a in enumerate(names) for b in names[i + 1 :]}
    assert pairs == set(published.AGREEMENT_MEMBERS) == set(published.AGREEMENT_NONMEMBERS)
    assert set(published.MNIST) == {name for name in CONFIGURATIONS if name.startswith("mnist")}
