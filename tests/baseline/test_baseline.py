"""The model-free baseline: exact where there is nothing to see, and seeing what there is."""

import json
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from benchmarks.error_rates import baseline as baseline_simulations

from guestlist._baseline import baseline
from guestlist._baseline.baseline import PERMUTATIONS, cross_fit_baseline, within_folds
from guestlist._baseline.regression import cross_fitted, folds
from oracles import auc


def evaluated(x, y, member, persons=None, seed=0, **options):
    fitted = cross_fit_baseline(x, y, member, persons, rng=np.random.default_rng(seed), **options)
    return fitted and fitted.baseline


# -- the test is exact --------------------------------------------------------------------------------------------------


def test_the_auc_is_that_of_pairs_within_folds():
    rng = np.random.default_rng(0)
    read, fold, member = rng.normal(size=(40, 3)), np.arange(40) % 3, rng.random((4, 40)) < 0.4
    made = folds(read, fold)
    scores = cross_fitted(made, np.where(member, 1.0, -1.0))
    for k, fold_aucs in enumerate(within_folds(made, member)):
        parts = [(scores[k, fold == f], member[k, fold == f]) for f in range(3)]
        pairs = [inside.sum() * (~inside).sum() for _, inside in parts]
        assert fold_aucs == pytest.approx(np.average([auc(*part) for part in parts], weights=pairs))


def test_the_p_value_is_the_share_of_all_exchanges_that_do_as_well():
    """Against every one of the 252 ways to choose five members of ten."""
    rng = np.random.default_rng(3)
    made = folds(rng.normal(size=(10, 2)), np.arange(10) % 2)
    every = np.array([np.isin(np.arange(10), chosen) for chosen in combinations(range(10), 5)])
    reached = np.nan_to_num(within_folds(made, every), nan=0.5)
    for rank in (10, 128, 200, 245):
        member = every[np.argsort(reached)[rank]]
        value = reached[np.argsort(reached)[rank]]
        exact = (reached >= value - 1e-12).mean()
        p_value, tried = baseline._test(value, made, np.arange(10), member, np.random.default_rng(rank))
        assert p_value == pytest.approx(
            exact, abs=4 * np.sqrt(exact * (1 - exact) / min(len(tried), 20 / exact)) + 0.01
        )


def test_the_inputs_of_the_classifier_do_not_depend_on_membership(monkeypatch):
    inputs = []

    def noted(read, fold, terms):
        inputs.append((read, fold, *terms))
        return folds(read, fold, terms)

    monkeypatch.setattr(baseline, "folds", noted)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 4)), rng.integers(3, size=60)
    evaluated(x, y, np.arange(60) < 30, seed=1)
    first = inputs[0]
    inputs.clear()
    evaluated(x, y, np.arange(60) % 2 == 0, seed=1)
    assert all(np.array_equal(expected, other) for expected, other in zip(first, inputs[0], strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "repeats"), [("30 + 30 persons, by person", 12), ("100 + 100, members three times", 12)]
)
def test_one_source_is_flagged_at_most_at_the_nominal_rate(name, repeats):
    result = baseline_simulations.one_source(name, repeats)
    assert result["flagged"] <= result["limit"]
    assert 0.5 < result["detectable_auc"] < 0.8


@pytest.mark.slow
def test_people_of_one_census_are_flagged_at_most_at_the_nominal_rate(real_data, monkeypatch):
    monkeypatch.setenv("GUESTLIST_DATA", str(real_data("adult.parquet").parent))
    result = baseline_simulations.one_source("adult 50 + 50", 25)
    assert result["flagged"] <= result["limit"]


@pytest.mark.slow
def test_visits_of_the_same_persons_are_distinguished_unless_persons_are_known():
    """Show that the test above can fail: the same simulations without persons."""
    significant = []
    for k in range(3):
        rng = np.random.default_rng([9, k])
        sample = baseline_simulations.persons(30, False, rng)
        significant.append(cross_fit_baseline(sample.x, sample.y, sample.member, rng=rng).baseline.significant)
    assert sum(significant) >= 2


# -- it sees what there is ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_differences_in_mean_label_and_group_are_detected():
    rng = np.random.default_rng(0)
    member, x = np.arange(200) < 100, rng.normal(size=(200, 5))
    y = rng.integers(2, size=200)
    assert not evaluated(x, y, member).significant
    assert evaluated(x + member[:, None] * np.eye(5)[2], y, member).significant
    assert evaluated(None, np.where(rng.random(200) < 0.4, 1, member * 2), member).significant
    assert evaluated(x, np.where(member, 2.0, 0) + y, member, values=True).significant
    groups = {"sex": np.where(rng.random(200) < 0.3, "f", np.where(member, "m", "f")).astype(object)}
    result = evaluated(x, y, member, groups=groups)
    assert result.significant
    assert result.inputs == ("features", "label", "groups")


@pytest.mark.slow
def test_labels_that_fit_worse_in_one_set_are_detected():
    """Neither features nor labels differ, only how they go together: what a model's losses show."""
    rng = np.random.default_rng(0)
    y, member = rng.integers(2, size=400), np.arange(400) < 200
    x = y[:, None] + 0.7 * rng.normal(size=(400, 3))
    assert evaluated(x, np.where(~member & (rng.random(400) < 0.4), 1 - y, y), member).significant


@pytest.mark.slow
@pytest.mark.parametrize("columns", [4, 10])
def test_columns_correlated_in_one_set_are_detected(columns):
    """Means and variances are equal. Few simulations here; the power over many is in benchmarks/error_rates."""
    for k in range(3):
        rng = np.random.default_rng([5, columns, k])
        sample = baseline_simulations.correlated(400, columns, rng)
        assert cross_fit_baseline(sample.x, sample.y, sample.member, rng=rng).baseline.significant


@pytest.mark.slow
def test_categories_associated_in_one_set_are_detected():
    rng = np.random.default_rng(0)
    member = np.arange(600) < 300
    towns, jobs = rng.choice(list("abc"), 600), rng.choice(list("abc"), 600)
    jobs = np.where(member & (rng.random(600) < 0.5), towns, jobs)
    table = pd.DataFrame({"town": towns, "job": jobs, "age": rng.normal(size=600)})
    assert evaluated(table, np.zeros(600, int), member).significant


@pytest.mark.slow
@pytest.mark.parametrize(("records", "columns"), [(40, 6), (40, 300), (400, 1000)])
def test_few_records_and_many_columns_are_read(records, columns):
    rng = np.random.default_rng(0)
    x, y, member = rng.normal(size=(records, columns)), rng.integers(2, size=records), np.arange(records) % 2 == 0
    result = evaluated(x, y, member)
    assert result == evaluated(x, y, member)
    assert result.columns == columns
    assert evaluated(x + 2 * member[:, None], y, member).significant


def test_images_with_a_different_distribution_are_detected():
    rng = np.random.default_rng(0)
    images = (rng.random((100, 20, 20)) < np.linspace(0.1, 0.9, 20)).astype(np.uint8)
    member = np.arange(100) < 50
    assert not evaluated(images, np.zeros(100, int), member).significant
    images[:50] = np.roll(images[:50], 2, axis=2)
    result = evaluated(images, np.zeros(100, int), member)
    assert (result.significant, result.columns) == (True, 400)


@pytest.mark.slow
def test_the_smallest_detectable_difference_has_80_percent_power():
    result = baseline_simulations.power_at_limit(each=40, repeats=30, shifts=(0.0, 1.1, 1.4))
    assert 0.65 < result["power"] < 0.95
    aucs = [row["auc"] for row in result["shifts"]]
    assert aucs[0] == pytest.approx(0.5, abs=0.06)
    assert aucs[-1] > 0.6


# -- limits -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_large_sets_are_capped_and_the_result_is_reproducible():
    rng = np.random.default_rng(0)
    x, y, member = rng.normal(size=(2700, 2)), np.zeros(2700, int), np.arange(2700) < 2600
    result = evaluated(x, y, member)
    assert (result.members, result.nonmembers, result.units) == (2000, 100, 2100)
    assert result == evaluated(x, y, member)
    assert result.permutations <= PERMUTATIONS


def test_too_few_records_give_no_result():
    assert evaluated(np.zeros((2, 1)), np.zeros(2, int), np.array([True, False])) is None
    few = evaluated(np.arange(12.0)[:, None], np.zeros(12, int), np.arange(12) < 6)
    assert few.detectable_auc > 0.8


def test_a_label_alone_is_inputs_where_there_are_no_features():
    result = evaluated(None, np.arange(80) % 4, np.arange(80) < 40)
    assert (result.inputs, result.columns, result.significant) == (("label",), 0, False)
    table = pd.DataFrame({"sex": ["f", "m"] * 40})
    assert evaluated(table, np.arange(80) % 4, np.arange(80) < 40, groups={"sex": table["sex"].to_numpy()}).columns == 1


# -- what the benchmark measured ----------------------------------------------------------------------------------------


def test_the_committed_results_of_second_order_differences_meet_their_limits():
    committed = json.loads(baseline_simulations.RESULTS.read_text("utf-8"))["simulations"]
    for columns in (4, 10):
        name = f"correlated, {columns} columns"
        assert committed[f"{name}: flagged"]["second_order_flagged"] >= 0.95
        assert committed[f"{name}: model trained on neither set"]["verdict_yes"] <= 0.05
        assert abs(committed[f"{name}: weighted"]["second_order_bias"]) <= 0.015
        assert abs(committed[f"{name}: weighted"]["bias_without_leak"]) <= 0.015
        assert committed[f"normal, 400 + 400, {columns} columns"]["flagged"] <= 0.075
