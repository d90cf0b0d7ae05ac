"""The hypothesis-test paper on a small configuration: the same code, small networks."""

import numpy as np
import pytest

import guestlist as gl
from guestlist._store import open_store

pytest.importorskip("torch")

from papers.hypothesis_tests import audits, comparison, figures, page, published, tables, thresholds
from papers.hypothesis_tests.configurations import CONFIGURATIONS, Configuration

pytestmark = pytest.mark.slow  # processes are started, or networks trained


def clusters():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=400)
    return (rng.normal(size=(400, 6)) + 1.2 * np.eye(6)[y]).astype(np.float32), y


SMALL = Configuration(
    clusters,
    lambda: gl.defences.mlp(6, 3, hidden=(32,)),
    gl.defences.Fit(epochs=40, learning_rate=0.02),
    members=80,
    pool=300,
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("audits")
    options = {
        "targets": 2,
        "models": 8,
        "left_out": gl.evidence.LeftOut(records=6, models=3),
        "folder": folder,
        "jobs": 1,
    }
    return audits.collect("small", SMALL, **options), folder, options


def test_every_target_has_its_own_members_and_all_share_the_references(run):
    cases, folder, _ = run
    for t, case in enumerate(cases):
        assert case.truth.member.sum() == 80
        assert (case.truth.evaluated & ~case.truth.member).sum() == 80
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
    monkeypatch.setattr("guestlist.models.torch_modules._Train.__call__", None)
    monkeypatch.setattr("guestlist.models.torch_modules._Distil.__call__", None)
    again = audits.collect("small", SMALL, **options)
    np.testing.assert_array_equal(again[1].view.target("loss"), cases[1].view.target("loss"))


def test_overfitted_networks_are_told_by_every_test(run):
    found = tables.strength("small", run[0])
    assert np.mean(found.train_accuracy) > np.mean(found.test_accuracy)
    assert all(np.mean(found.auc[test]) > 0.55 for test in "SPRD")
    assert set(found.realised_fpr["D"]) == {"0.01", "0.05", "0.1", "0.3"}


def test_thresholds_are_quantiles_of_what_each_test_compares_with(run):
    case = run[0][0]
    found = thresholds.thresholds(case, "SPRDL", 0.3, 3)
    record = int(np.flatnonzero(~np.isnan(found["L"]) & ~np.isnan(found["R"]) & ~np.isnan(found["D"]))[0])
    seen = figures.compared(case, record)
    assert found["S"][record] == pytest.approx(np.quantile(seen["S"], 0.3))
    assert found["P"][record] == pytest.approx(np.quantile(seen["P"], 0.3))
    assert found["R"][record] == pytest.approx(np.quantile(seen["R"][:3], 0.3)), "the first models that lack the record"
    assert found["D"][record] == pytest.approx(np.quantile(seen["D"][:3], 0.3))
    left_out = case.view.evidence.need("left_out").values["loss"][:, record]
    assert found["L"][record] == pytest.approx(np.quantile(left_out, 0.3))


def test_who_has_too_few_models_is_not_called(run):
    case = run[0][0]
    few = (~case.view.reference_member).sum(axis=0) < 7
    assert 0 < few.sum() < len(few)
    calls = thresholds.calls(case, "RL", 0.3, 7)
    np.testing.assert_array_equal(np.isnan(calls["R"]), few)
    assert np.isnan(calls["L"]).all(), "there are only three models without a record"


def test_kappa_is_cohens():
    from sklearn.metrics import cohen_kappa_score

    a, b = np.random.default_rng(0).random((2, 500)) < np.array([[0.3], [0.7]])
    b[:200] = a[:200]
    found = comparison.kappa((a == b).mean(), a.mean(), b.mean())
    assert found == pytest.approx(cohen_kappa_score(a, b))
    assert np.isnan(comparison.kappa(1.0, 1.0, 1.0)), "who calls everybody cannot agree by more than chance"


def test_no_agreement_is_above_its_reach():
    rng = np.random.default_rng(0)
    for rates in rng.random((50, 2)):
        a, b = rng.random((2, 40)) < rates[:, None]
        assert (a == b).mean() <= comparison.reach(a.mean(), b.mean()) + 1e-12
    a = np.arange(10) < 3
    b = np.arange(10) < 6
    assert (a == b).mean() == pytest.approx(comparison.reach(0.3, 0.6))


def test_agreement_is_over_the_records_that_were_left_out(run):
    case = run[0][0]
    found = comparison.agreement(case, level=0.3, models=3)
    assert set(found.names) == set(published.AGREEMENT_NAMES)
    chosen = comparison.left_out(case, 3)
    assert found.records == (case.truth.member[chosen].sum(), (~case.truth.member[chosen]).sum())
    assert 0 < chosen.sum() <= 12
    loss, limits = case.view.target("loss")[chosen], thresholds.thresholds(case, "S", 0.3, 3)["S"][chosen]
    member, place = case.truth.member[chosen], found.names.index("S")
    assert found.members[0][place] == pytest.approx((loss <= limits)[member].mean())
    assert found.nonmembers[0][place] == pytest.approx((loss > limits)[~member].mean())
    assert np.isnan(found.kappa_members[0]).all()


def test_closeness_is_that_of_the_three_sets_of_models(run):
    case = run[0][0]
    found = {row.test: row for row in comparison.closeness(case, 3)}
    assert list(found) == ["R", "D", "L"]
    assert found["L"].correlation == pytest.approx((1, 1))
    assert found["L"].rms == (0, 0)
    chosen = comparison.left_out(case, 3) & case.truth.member
    left_out = case.view.evidence.need("left_out").values["margin"][:, chosen]
    assert found["L"].spread[0] == pytest.approx(np.median(left_out.std(axis=0, ddof=1)))
    references = [
        case.view.reference("margin")[~case.view.reference_member[:, i], i][:3] for i in np.flatnonzero(chosen)
    ]
    gap = np.mean(references, axis=1) - left_out.mean(axis=0)
    assert found["R"].rms[0] == pytest.approx(np.sqrt((gap**2).mean()))
    rows = comparison.nearer(case, 3)
    assert [row.records for row in rows] == [chosen.sum(), (comparison.left_out(case, 3) & ~case.truth.member).sum()]


def test_the_noise_of_a_difference_of_means_is_what_models_of_one_law_give():
    rng = np.random.default_rng(0)
    own, left = rng.normal(size=(2, 32, 4000))
    assert comparison._noise(own, left) == pytest.approx(
        comparison._rms(own.mean(axis=0) - left.mean(axis=0)), rel=0.05
    )


def test_figures_show_what_each_test_compares_with(run):
    case = run[0][0]
    curves = figures.curves({"small": case})
    assert [curve.test for curve in curves] == list("SPRD")
    assert all(list(curve.tpr) == sorted(curve.tpr) and curve.tpr[-1] == 1 for curve in curves)
    rows = figures.losses(case)
    assert [(row.member, row.test) for row in rows] == [
        (member, test) for member in ("easy", "hard") for test in "SPRD"
    ]
    assert all(sum(row.shares) == pytest.approx(1) for row in rows)
    easy, hard = figures.two_members(case)
    assert case.truth.member[easy]
    assert case.truth.member[hard]
    assert case.view.labels[easy] == case.view.labels[hard]
    seen = figures.compared(case, easy)
    outside = ~case.view.reference_member[:, easy]
    np.testing.assert_array_equal(seen["R"], case.view.reference("loss")[outside, easy])
    assert len(seen["P"]) == 300 - 160


def test_a_dot_above_the_diagonal_has_the_larger_threshold_across(run, monkeypatch):
    monkeypatch.setattr(figures, "MODELS", 1)
    case = run[0][0]
    dots = figures.differences(case)[1]
    assert len(dots.of_first) == len(dots.of_second) == case.truth.member.sum()
    first, second = figures.pairs(case)
    assert (first.first, first.second, second.first, second.second) == ("S", "P", "R", "D")
    limits = thresholds.thresholds(case, "RD", figures.LEVEL, 1)
    member = case.truth.member
    assert second.larger == (limits["D"] > limits["R"])[member].mean()
    assert sum(second.called) == pytest.approx(1)
    monkeypatch.setattr(figures, "MODELS", 9)
    with pytest.raises(gl.InputError, match="fewer than 9 models"):
        figures.pairs(case)


def test_a_reversed_order_is_counted_from_the_figures():
    def row(name, r, d):
        aucs = {"R": [r, r + 0.02], "D": [d, d]}
        return {"configuration": name, "auc": aucs, "auc_empirical": aucs}

    rows = [row("mnist Ia", 0.53, 0.56), row("mnist Ib", 0.53, 0.52)]
    assert [page.is_reversed(one) for one in rows] == [True, False]
    assert "| mnist Ia | +0.008 | -0.020 ± 0.014 |" in page.order(rows)
    assert [
        one.agrees for one in page._mnist([one | {"auc": one["auc"] | {"S": [0.5], "P": [0.5]}} for one in rows])
    ] == ["yes", "no"]


def test_the_papers_l_is_out_of_reach_for_one_that_keeps_its_level():
    said = page.calibration()
    assert "flags 0.59 of the non-members" in said
    assert "at most 0.672" in said
    assert "has 0.822" in said


def test_every_configuration_of_the_tables_is_in_a_csv_file():
    made = page.page()
    every = "".join(made.tables[f"{name}.csv"] for name in ("table1", "table4"))
    assert all(name in every for name in CONFIGURATIONS if name != "location30 shallow")


def test_published_figures_are_whole():
    names = published.AGREEMENT_NAMES
    pairs = {(a, b) for i, a in enumerate(names) for b in names[i + 1 :]}
    assert pairs == set(published.AGREEMENT_MEMBERS) == set(published.AGREEMENT_NONMEMBERS)
    assert set(published.STRENGTHS) == set(CONFIGURATIONS) - {"location30 shallow"}


@pytest.mark.parametrize(
    ("nearer", "p_values", "agrees"),
    [((70, 80), (0.01, 0.01), "yes"), ((30, 80), (0.01, 0.01), "no"), ((55, 80), (0.3, 0.01), "open")],
)
def test_the_order_of_d_and_r_needs_significance_among_members_and_nonmembers(nearer, p_values, agrees):
    sides = [{"records": 100, "d_nearer": d, "p_value": p} for d, p in zip(nearer, p_values, strict=True)]
    assert page._distillation_is_nearer(sides) == agrees
