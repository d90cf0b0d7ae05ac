"""The hypothesis-test paper on a small configuration: the same code, small networks."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

import guestlist as gl
from guestlist._store import open_store

pytest.importorskip("torch")

from papers.hypothesis_tests import audits, comparison, figures, page, published, tables, thresholds
from papers.hypothesis_tests.configurations import CONFIGURATIONS, ClippedGradient, Configuration

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
        loss = open_store(folder / "small" / f"target-{t}").model(0)["loss"]
        np.testing.assert_array_equal(case.view.target("loss"), loss)
    first, second = (dict(zip(c.records["id"], c.view.reference("loss").T, strict=True)) for c in cases)
    assert first.keys() == second.keys()
    assert all((first[i] == second[i]).all() for i in first)
    assert set(cases[0].records["id"][cases[0].truth.member]) != set(cases[1].records["id"][cases[1].truth.member])


def test_a_second_run_trains_nothing(run, monkeypatch):
    cases, _, options = run
    monkeypatch.setattr("guestlist.models.torch_modules._Train.__call__", None)
    monkeypatch.setattr("guestlist.models.target.WrappedTrainer.__call__", None)
    again = audits.collect("small", SMALL, **options)
    np.testing.assert_array_equal(again[1].view.target("loss"), cases[1].view.target("loss"))


def test_overfitted_networks_are_detected_by_every_test(run):
    table = tables.strength("small", run[0])
    assert np.mean(table.train_accuracy) > np.mean(table.test_accuracy)
    assert all(np.mean(table.auc[test]) > 0.55 for test in "SPRD")
    assert set(table.realised_fpr["D"]) == {"0.01", "0.05", "0.1", "0.3"}


def test_thresholds_are_quantiles_of_what_each_test_compares_with(run):
    case = run[0][0]
    result = thresholds.thresholds(case, "SPRDL", 0.3, 3)
    record = int(np.flatnonzero(~np.isnan(result["L"]) & ~np.isnan(result["R"]) & ~np.isnan(result["D"]))[0])
    comparison = figures.compared(case, record)
    assert result["S"][record] == pytest.approx(np.quantile(comparison["S"], 0.3))
    assert result["P"][record] == pytest.approx(np.quantile(comparison["P"], 0.3))
    assert result["R"][record] == pytest.approx(np.quantile(comparison["R"][:3], 0.3)), (
        "the first models that lack the record"
    )
    assert result["D"][record] == pytest.approx(np.quantile(comparison["D"][:3], 0.3))
    left_out = case.view.evidence.need("left_out").values["loss"][:, record]
    assert result["L"][record] == pytest.approx(np.quantile(left_out, 0.3))


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
    result = comparison.kappa((a == b).mean(), a.mean(), b.mean())
    assert result == pytest.approx(cohen_kappa_score(a, b))
    assert np.isnan(comparison.kappa(1.0, 1.0, 1.0)), "a test that flags every record cannot agree beyond chance"


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
    result = comparison.agreement(case, level=0.3, models=3)
    assert set(result.names) == set(published.AGREEMENT_NAMES)
    chosen = comparison.left_out(case, 3)
    assert result.records == (case.truth.member[chosen].sum(), (~case.truth.member[chosen]).sum())
    assert 0 < chosen.sum() <= 12
    loss, limits = case.view.target("loss")[chosen], thresholds.thresholds(case, "S", 0.3, 3)["S"][chosen]
    member, index = case.truth.member[chosen], result.names.index("S")
    assert result.members[0][index] == pytest.approx((loss <= limits)[member].mean())
    assert result.nonmembers[0][index] == pytest.approx((loss > limits)[~member].mean())
    assert np.isnan(result.kappa_members[0]).all()


def test_closeness_is_that_of_the_three_sets_of_models(run):
    case = run[0][0]
    selected = {row.test: row for row in comparison.closeness(case, 3)}
    assert list(selected) == ["R", "D", "L"]
    assert selected["L"].correlation == pytest.approx((1, 1))
    assert selected["L"].rms == (0, 0)
    chosen = comparison.left_out(case, 3) & case.truth.member
    left_out = case.view.evidence.need("left_out").values["margin"][:, chosen]
    assert selected["L"].deviation[0] == pytest.approx(np.median(left_out.std(axis=0, ddof=1)))
    references = [
        case.view.reference("margin")[~case.view.reference_member[:, i], i][:3] for i in np.flatnonzero(chosen)
    ]
    gap = np.mean(references, axis=1) - left_out.mean(axis=0)
    assert selected["R"].rms[0] == pytest.approx(np.sqrt((gap**2).mean()))
    rows = comparison.nearer(case, 3)
    assert [row.records for row in rows] == [chosen.sum(), (comparison.left_out(case, 3) & ~case.truth.member).sum()]


def test_the_noise_of_a_difference_of_means_is_what_models_of_one_law_give():
    rng = np.random.default_rng(0)
    target_scores, left = rng.normal(size=(2, 32, 4000))
    assert comparison._noise(target_scores, left) == pytest.approx(
        comparison._rms(target_scores.mean(axis=0) - left.mean(axis=0)), rel=0.05
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
    easy, hard = figures.two_members(case, case.truth.member)
    assert case.truth.member[easy]
    assert case.truth.member[hard]
    assert case.view.labels[easy] == case.view.labels[hard]
    comparison = figures.compared(case, easy)
    outside = ~case.view.reference_member[:, easy]
    np.testing.assert_array_equal(comparison["R"], case.view.reference("loss")[outside, easy])
    assert len(comparison["P"]) == 300 - 160


def test_a_second_target_changes_the_losses_of_p_and_d_only(run):
    first, second = run[0][:2]
    losses, (of_first, of_second) = figures.second_target(first, second)
    assert [(row.member, row.test) for row in losses] == [
        (member, test) for member in ("easy", "hard") for test in "SPRD"
    ]
    ids = [set(case.records["id"][case.truth.member]) for case in (first, second)]
    assert of_first.members == of_second.members == len(ids[0] & ids[1])
    assert sum(of_first.smallest.values()) == pytest.approx(1)
    same = {test: of_first.median[test] == pytest.approx(of_second.median[test]) for test in "SPRD"}
    assert same == {"S": True, "P": False, "R": True, "D": False}
    alone = dataclasses.replace(
        second, records=second.records.assign(id=[f"x{row}" for row in range(len(second.records))])
    )
    with pytest.raises(gl.InputError, match="no member in common"):
        figures.second_target(first, alone)


@pytest.mark.parametrize(("share", "agrees"), [(0.6, "yes"), (0.1, "no")])
def test_figure_2_agrees_where_the_losses_of_d_are_most_concentrated(share, agrees):
    tests = {"S": 0.4, "P": 0.0, "R": 0.0, "D": share}
    rows = [{"target": name, "members": 200, "median": tests, "smallest": tests} for name in ("first", "second")]
    [row] = page.PARTS["figure2"]({"concentration": rows, "losses": []}).rows
    assert row.agrees == agrees


@pytest.mark.parametrize(("best", "narrowest", "count"), [("D", "D", 3), ("R", "D", 2), ("R", "S", 0)])
def test_figures_1_and_3_count_where_d_is_best_and_most_concentrated(best, narrowest, count):
    curves = [
        {"configuration": "location30", "test": test, "log10_fpr": [-1, 0], "tpr": [0.9 if test == best else 0.5, 1.0]}
        for test in "SPRD"
    ]
    losses = [
        {
            "member": member,
            "test": test,
            "low": -6.0,
            "high": 2.0,
            "shares": [0, 1, 0] if test == narrowest else [0.5, 0, 0.5],
            "target": -3.0,
            "threshold": -4.0,
        }
        for member in ("easy", "hard")
        for test in "SPRD"
    ]
    dots = {"first": "S", "second": "P", "low": -1.0, "high": 1.0, "of_first": [0.1], "of_second": [0.2]}
    [row] = page.PARTS["figures"]({"curves": curves, "losses": losses, "dots": [dots]}).rows
    assert row.agrees == "open"
    assert f"in {count} of 3 comparisons" in row.finding


@pytest.mark.parametrize(
    ("models", "r", "agrees"),
    [(8, (0.98, 0.98), "open"), (32, (0.98, 0.98), "yes"), (32, (0.9, 0.9), "no"), (32, (0.9, 0.98), "open")],
)
def test_r_and_d_of_table_4_are_compared_with_enough_models(models, r, agrees):
    auc = {"S": [0.96, 0.96], "P": [0.96, 0.96], "R": list(r), "D": [0.95, 0.95]}
    row = {"configuration": "cifar100 Ia", "train_accuracy": [0.97, 0.97], "test_accuracy": [0.15, 0.13], "auc": auc}
    sizes = {"cifar100 Ia": {"models": models, "members": 2500, "pool": 5500}}
    repeats = {"count": 2, "unit": f"targets, {models} references and distilled models each"}
    of_s_and_p, of_r_and_d = page.PARTS["table4"]({"strengths": [row], "repeats": repeats, "sizes": sizes}).rows
    assert "accuracy are 97% and 14% (published 97% and 15%)." in of_s_and_p.finding
    assert of_r_and_d.agrees == agrees
    assert ("Only about 4 models lack a record." in of_r_and_d.finding) == (models == 8)
    assert of_r_and_d.detail == f"2 targets (paper 10, 3 for D); {models} models of R and of D (paper 1,000)"


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


def test_a_reversed_order_is_counted_from_the_figures(monkeypatch):
    def row(name, r, d):
        aucs = {"R": [r, r + 0.02], "D": [d, d]}
        return {"configuration": name, "auc": aucs, "auc_empirical": aucs}

    rows = [row("mnist Ia", 0.53, 0.56), row("mnist Ib", 0.53, 0.52)]
    assert [page.is_reversed(row) for row in rows] == [True, False]
    assert "| mnist Ia | +0.008 | 1.8 | -0.020 ± 0.014 |" in page.order(rows)
    assert page.published_errors("mnist Ia") == pytest.approx(0.008 / (0.009**2 / 10 + 0.006**2 / 3) ** 0.5)
    monkeypatch.setattr(page, "read", lambda path: None)

    def agreement(rows):
        return [claim.agrees for claim in page._mnist([with_s_and_p(row) for row in rows], "")]

    def with_s_and_p(row):
        return row | {"auc": row["auc"] | {"S": [0.5], "P": [0.5]}}

    assert agreement(rows) == ["yes", "open"], "the paper's own difference is within two standard errors"
    assert agreement([rows[0], row("mnist Ib", 0.53, 0.56)]) == ["yes", "no"]
    assert agreement(rows[1:]) == ["yes", "yes"]


def test_the_gradient_of_a_batch_is_clipped():
    import torch

    module = torch.nn.Linear(4, 3)
    x, y = 100 * torch.randn(8, 4, generator=torch.manual_seed(0)), torch.arange(8) % 3
    start = SimpleNamespace(module=module, loss=lambda outputs, y: torch.nn.functional.cross_entropy(outputs, y))

    def gradient(norm):
        module.zero_grad()
        ClippedGradient(norm).begin(start)(module(x), y).backward()
        return torch.cat([parameter.grad.flatten() for parameter in module.parameters()])

    whole, clipped = gradient(1e9), gradient(2.0)
    assert whole.norm() > 2
    assert clipped.norm().item() == pytest.approx(2, rel=1e-5)
    torch.testing.assert_close(clipped / clipped.norm(), whole / whole.norm())


def test_orders_of_the_six_configurations_are_those_of_the_paper():
    assert page._orders(published.LOCATION30) == (6, 6)
    assert page._orders({"": {"S": 0.8, "P": 0.7, "R": 0.75, "D": 0.79}}) == (0, 0)


def test_an_experiment_is_a_cause_only_if_the_order_is_the_papers(monkeypatch):
    differences = {"momentum": 0.01, "large_pool": -0.01}

    def result(path):
        row = {
            "configuration": "mnist Ia, no momentum",
            "train_accuracy": [0.979],
            "auc": {"R": [0.55 + differences[path.stem], 0.56], "D": [0.54, 0.54]},
        }
        return {"strengths": [row]}

    monkeypatch.setattr(page, "read", result)
    cause, tried = page._experiments()
    assert cause.startswith("Without momentum (mnist Ia, training accuracy 97.9%")
    assert "R minus D is +0.020" in cause
    assert "R minus D is +0.010" in tried
    assert "momentum" not in tried


def test_the_papers_l_is_out_of_reach_for_one_that_keeps_its_level():
    result = page.calibration()
    assert "flags 0.59 of the non-members" in result
    assert "at most 0.672" in result
    assert "has 0.822" in result


def test_every_configuration_of_the_tables_is_in_a_csv_file():
    made = page.page()
    every = "".join(content for name, content in made.tables.items() if name.startswith("table"))
    others = (
        ("shallow", "momentum", "large pool")
        if "table3" in made.seconds
        else ("shallow", "momentum", "large pool", "cifar10 ")
    )
    assert all(name in every for name in CONFIGURATIONS if not any(part in name for part in others))


def test_published_figures_are_whole():
    names = published.AGREEMENT_NAMES
    pairs = {(a, b) for i, a in enumerate(names) for b in names[i + 1 :]}
    assert pairs == set(published.AGREEMENT_MEMBERS) == set(published.AGREEMENT_NONMEMBERS)
    assert set(published.STRENGTHS) == {name for name in CONFIGURATIONS if "shallow" not in name}


@pytest.mark.parametrize(
    ("nearer", "p_values", "agrees"),
    [((70, 80), (0.01, 0.01), "yes"), ((30, 80), (0.01, 0.01), "no"), ((55, 80), (0.3, 0.01), "open")],
)
def test_the_order_of_d_and_r_needs_significance_among_members_and_nonmembers(nearer, p_values, agrees):
    sides = [{"records": 100, "d_nearer": d, "p_value": p} for d, p in zip(nearer, p_values, strict=True)]
    assert page._distillation_is_nearer(sides) == agrees
