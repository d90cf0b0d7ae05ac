"""The WaKA paper's tables on small pools: the same code, the same directions."""

import dataclasses
import itertools
import json

import numpy as np
import pytest
from papers.waka import (
    attack,
    correlation,
    games,
    measures,
    minimisation,
    onion,
    page,
    published,
    rates,
    results,
    roc,
    shapes,
    synthetic,
    times,
    values,
    variants,
)
from papers.waka.__main__ import COMMANDS, SYNTHETIC, main, run
from papers.waka.data import PAPER, SOURCES, encoded, load, pool_of
from threadpoolctl import threadpool_limits

from guestlist import InputError
from guestlist.knn import (
    Knn,
    knn_likelihood_ratio,
    knn_loss_distributions,
    neighbour_lists,
    onion_effect,
    self_shapley,
    self_waka,
    t_waka,
    waka_influence,
)


def clusters(records=700, seed=0, dimensions=3):
    """Two overlapping classes: a K-NN model errs on about a fifth of them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=2 * records)
    x = rng.normal(size=(2 * records, dimensions)) + 0.9 * y[:, None]
    return pool_of("clusters", x, y, None, records, records, rng)


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    """Use one thread, as the commands do: threads of BLAS wait for each other where cores are shared."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def pool():
    return clusters()


@pytest.fixture(scope="module")
def order(pool):
    return games.order_of(neighbour_lists(pool.x, pool.y, Knn(5)), np.random.default_rng(0))


def test_answers_read_off_the_lists_are_those_of_fitted_models(pool, order):
    member = games.partitions(len(pool.x), 3, np.random.default_rng(1))
    asked = np.random.default_rng(2).choice(len(pool.x), 60, replace=False)
    expected = times.refitted_losses(pool, member, asked, 5)
    np.testing.assert_allclose(games.losses(order, member, 5, asked), expected)


def test_answers_after_a_removal_are_those_of_models_fitted_to_the_rest(pool, order):
    removed = np.random.default_rng(3).random(len(pool.x)) < 0.2
    rest = dataclasses.replace(pool, x=pool.x[~removed], y=pool.y[~removed])
    member = games.partitions(len(rest.x), 2, np.random.default_rng(4))
    expected = times.refitted_losses(rest, member, np.arange(len(rest.x)), 3)
    np.testing.assert_allclose(games.losses(games.without(order, removed), member, 3), expected)


def test_equal_records_share_their_places_at_random():
    lists = neighbour_lists(np.zeros((40, 1)), np.arange(40) % 2, Knn(1))
    member = np.ones((1, 40), dtype=bool)
    first = [games.losses(games.order_of(lists, np.random.default_rng(s)), member, 1)[0, 0] for s in range(400)]
    # One record of the forty is nearest to all of them, so half of the records are wrong, whichever it is.
    assert np.mean(first, axis=1) == pytest.approx(0.5)
    assert np.mean(first, axis=0) == pytest.approx(0.5, abs=0.1)


def test_lists_that_are_too_short_are_refused(order):
    with pytest.raises(ValueError, match="more to spare"):
        games.losses(order, np.arange(order.n)[None] < 2, 5)


def test_partitions_are_halves_and_their_complements():
    member = games.partitions(101, 4, np.random.default_rng(0))
    assert (member[::2] ^ member[1::2]).all()
    assert set(member.sum(axis=1)) == {50, 51}


def test_success_is_that_of_a_guess_where_nothing_is_known():
    scores, member = np.array([[1.0, -1.0, 0.0, 0.0]]), np.array([[True, True, True, False]])
    np.testing.assert_array_equal(games.success(scores, member), [[1, 0, 0.5, 0.5]])


def test_best_success_is_that_of_every_rule_tried():
    """Each set of losses is a rule "member if the loss is in the set": the best of them, by enumeration."""
    small, k = clusters(records=60), 3
    inside, outside = knn_loss_distributions(small.x, small.y, Knn(k))
    rules = np.array(list(itertools.product((False, True), repeat=k + 1)))
    rate = 0.5 * (inside @ rules.T) + 0.5 * (outside @ ~rules.T)
    np.testing.assert_allclose(values.best_success(small, k), rate.max(axis=1), atol=1e-12)


def test_at_one_neighbour_the_success_rate_is_given_by_self_waka(pool, order):
    """Members always have loss 0; a non-member is found out by a loss of 1, whose chance is self-WaKA."""
    rate = games.success_rates(order, (1,), 12, seed=0)[1].mean(axis=0)
    assert np.abs(rate - (1 + self_waka(pool.x, pool.y, Knn(1))) / 2).mean() < 0.02


def test_success_follows_self_waka(pool):
    rows = correlation.correlations(pool, repeats=6)
    assert [row.k for row in rows] == [1, 5]
    for row in rows:
        assert row.spearman["self-waka"] > 0.3
        assert row.percentiles["self-waka"] > row.spearman["self-waka"], "means over records are less noisy"
        assert row.exact > 0.9
        assert row.spearman["self-waka"] > abs(row.spearman["test-shapley"])
        assert row.deciles[-1] > row.deciles[0] + 0.1


def test_success_falls_with_k_and_is_least_for_logistic_regression(pool):
    nearest, five, logistic = rates.rates(pool, repeats=2)
    assert nearest.asr > five.asr > logistic.asr > 0.49
    assert nearest.best >= nearest.asr - 3 * max(nearest.error, 0.003)
    assert five.best >= five.asr - 3 * max(five.error, 0.003)


@pytest.mark.slow
def test_removing_the_exposed_lowers_the_risk_of_the_rest_and_random_removal_does_not(pool):
    layers, influences = onion.layers(pool, repeats=2)
    by = {(row.k, row.removed_by): row for row in layers}
    assert set(published.ONION_AUC["adult", 1]) | {"random"} == {name for _, name in by}
    for k in (1, 5):
        assert by[k, "self-waka"].auc < by[k, "nothing"].auc - 0.01
        assert abs(by[k, "random"].auc - by[k, "nothing"].auc) < 0.03
        assert by[k, "nothing"].auc == by[k, "nothing"].unchanged_auc
    fell, stayed, rose = influences[0].regimes
    assert fell < stayed < rose
    assert influences[0].spearman > 0


def test_success_rates_shift_to_lower_values_after_removal(pool):
    before, after = onion.success_distributions(pool, repeats=2)
    assert (before.removed_by, after.removed_by) == ("nothing", "self-waka")
    assert before.mean > after.mean
    assert before.below[-1] == after.below[-1] == 1
    assert before.below[onion.GRID.index(0.9)] < after.below[onion.GRID.index(0.9)], "fewer records above 0.9"


def test_rounds_remove_a_share_of_the_remaining_records_with_the_highest_values():
    [pool] = synthetic.blobs(1)
    rounds = synthetic.removed_in(pool, "self-shapley")
    assert np.bincount(rounds).tolist() == [205, 80, 64, 51]
    values = self_shapley(pool.x, pool.y, Knn(synthetic.K))
    assert values[rounds == 1].min() >= values[rounds != 1].max()
    removed, kept = synthetic.distances(pool, rounds, 1)
    assert (removed, kept) == (np.median(np.abs(pool.x[rounds == 1, 0])), np.median(np.abs(pool.x[rounds != 1, 0])))


def test_self_shapley_removes_records_near_the_boundary_first(monkeypatch, tmp_path):
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    main(["figure7", "--repeats", "2"])
    written = results.read("figure7")
    assert written["command"] == "python -m papers.waka figure7 --repeats 2"
    first = {row["value"]: row["removed_distance"] for row in written["removals"] if row["round"] == 1}
    assert first["self-shapley"] < first["test-shapley"]
    [row] = page.PARTS["figure7"](written).rows
    assert (row.where, row.agrees) == ("Figure 7", "yes")


def test_influence_from_lists_equals_self_waka_computed_again(pool):
    lists = dataclasses.replace(neighbour_lists(pool.x, pool.y, Knn(5), spare=values.SPARE), k=1)
    effect = onion_effect(pool.x, pool.y, lambda x, y: self_waka(x, y, Knn(1)), share=measures.SHARE)
    removed = measures.highest(self_waka(pool.x, pool.y, Knn(1)))
    np.testing.assert_array_equal(removed, effect.removed)
    np.testing.assert_allclose(waka_influence(lists, removed), effect.change, atol=1e-12)


def test_removal_by_shapley_costs_least_accuracy(pool):
    rows = {row.removed_by: row for row in minimisation.curves(pool, repeats=2) if row.k == 1}
    accuracy = {name: np.mean(row.accuracy[1:5]) for name, row in rows.items()}  # over removals up to one half
    assert accuracy["test-shapley"] > accuracy["random"]
    assert accuracy["test-shapley"] > accuracy["leave-one-out"]
    assert rows["leave-one-out"].zeros > 0.5, "most records are nearest to no other record"
    assert len({row.accuracy[0] for row in rows.values()}) == 1, "nothing is removed yet"


@pytest.mark.parametrize(("leave_one_out", "same"), [(0.70, True), (0.9, False)])
def test_balanced_classes_are_a_cause_only_where_both_statements_hold(leave_one_out, same, monkeypatch):
    accuracy = {"random": 0.7, "test-shapley": 0.8, "leave-one-out": leave_one_out}
    curves = [
        {"dataset": "adult balanced", "k": 5, "removed_by": name, "shares": [0.0, 0.1], "accuracy": [0.7, value]}
        for name, value in accuracy.items()
    ]
    monkeypatch.setattr(page, "read", lambda name: {"curves": curves})
    cause, tried = page._balanced_removal()
    assert bool(cause) == same
    assert bool(tried) == (not same)
    assert f"test-Shapley is best on {'Adult' if same else 'none'}" in cause + tried


def test_the_rarest_class_is_counted_among_those_that_stay():
    y, value = np.array([0] * 15 + [1] * 5), np.arange(20.0)
    shares = minimisation.rarest_shares(y, value, "lowest")
    assert shares[0] == 0.25
    assert shares[-1] == 1.0
    assert minimisation.rarest_shares(y, value, "highest")[-1] == 0.0


@pytest.mark.parametrize("k", [1, 4])
def test_scores_from_laws_are_those_of_the_attacks(k):
    small = clusters(records=80)
    loss = np.random.default_rng(5).integers(1, k + 1, size=len(small.x)) / k if k > 1 else np.zeros(len(small.x))
    laws = knn_loss_distributions(small.x, small.y, Knn(k))
    np.testing.assert_allclose(attack.target_waka(laws, loss), t_waka(small.x, small.y, loss, Knn(k)), atol=1e-12)
    ratio = knn_likelihood_ratio(small.x, small.y, loss, Knn(k))
    np.testing.assert_allclose(attack.likelihood_ratio(laws, loss), ratio, atol=1e-9)


@pytest.mark.slow
def test_exact_scores_are_no_worse_than_those_of_few_shadow_models(pool):
    rows = attack.outcomes(pool, repeats=40)
    by = {(row.k, row.attack): row for row in rows}
    for k in (3, 5):
        assert by[k, "exact likelihood ratio"].auc >= by[k, "LiRA"].auc
        assert by[k, "t-WaKA"].auc > 0.52
    assert abs(by[1, "self-WaKA"].auc - 0.5) < 0.05, "without the target, nothing is known about it"
    assert by[1, "LiRA"].auc > by[5, "LiRA"].auc
    assert by[1, "t-WaKA"].spearman_with_lira > by[5, "t-WaKA"].spearman_with_lira > 0


def test_laws_are_computed_for_the_asked_alone_and_found_again(pool):
    games_played = attack.games_of(pool, 2, seed=0)
    found = attack.loss_distributions(pool, games_played, 3)
    asked = games_played[1].evaluated
    assert len(found.rows) == len(set(games_played[0].evaluated) | set(asked)) < len(pool.x)
    for got, every in zip(found.take(asked), knn_loss_distributions(pool.x, pool.y, Knn(3)), strict=True):
        np.testing.assert_allclose(got, every[asked], atol=1e-15)


def test_times_count_the_pairs_that_were_scored(pool):
    rows = times.timings(pool, repeats=2)
    asked = len(np.unique(np.concatenate([each.evaluated for each in attack.games_of(pool, 2, 0)])))
    assert [row.scores for row in rows] == [1000, 1000, 1000, 5 * asked]
    assert all(row.cpu_seconds >= 0 for row in rows)


def test_detrimental_records_are_attacked_with_more_success_than_the_middle(pool):
    rows = shapes.shapes(pool, repeats=3)
    assert [(row.k, row.value) for row in rows] == [(k, name) for k in (1, 5) for name in shapes.VALUES]
    low, _ = shapes.ends_above_middle(rows[1].deciles)
    assert low > 0.05
    assert shapes.ends_above_middle([3, 0, 0, 0, 1, 2, 0, 0, 0, 2]) == (1.5, 0.5)


def test_removing_the_exposed_lowers_the_whole_curve_and_removing_anybody_does_not(pool):
    by_removal = {row.removed_by: np.array(row.tpr) for row in roc.curves(pool, repeats=1)}
    at = np.searchsorted(roc.RATES, 0.05)
    assert by_removal["self-waka"][at] < by_removal["nothing"][at] - 0.02
    assert abs(by_removal["random"][at] - by_removal["nothing"][at]) < 0.03
    assert (by_removal["nothing"][-1], roc.RATES[-1]) == (1, 1)
    assert (np.diff(by_removal["nothing"]) >= 0).all()


@pytest.mark.slow
def test_variants_are_those_of_the_table_and_fewer_records_spread_more(pool):
    rows = {(row.k, row.variance, row.records): row for row in variants.variants(pool, repeats=20)}
    table = {(row.k, row.attack): row for row in attack.outcomes(pool, repeats=20)}
    assert rows[5, "pooled", 100].tpr == pytest.approx(table[5, "LiRA"].tpr)
    assert rows[5, "pooled", 100].spearman == pytest.approx(table[5, "t-WaKA"].spearman_with_lira)
    assert rows[5, "pooled", 10].tpr_deviation > 1.5 * rows[5, "pooled", 100].tpr_deviation
    assert rows[5, "record", 100].spearman != rows[5, "pooled", 100].spearman


def test_a_balanced_pool_has_as_many_of_every_class():
    rng = np.random.default_rng(0)
    y = (rng.random(900) < 0.2).astype(int)
    is_train = np.arange(900) < 600
    found = pool_of("even", np.arange(900.0)[:, None], y, is_train, 100, 60, rng, balanced=True)
    assert (np.bincount(found.y).tolist(), len(found.x_valid), len(found.x_test)) == ([50, 50], 30, 30)
    assert is_train[found.x[:, 0].astype(int)].all()
    assert not is_train[found.x_test[:, 0].astype(int)].any()
    assert len(np.unique(found.x)) == 100


def test_rank_correlation_ignores_rounding_and_bins_are_equal():
    assert measures.spearman(np.array([1, 1 + 1e-15, 2]), np.array([1.0, 1.0, 3.0])) == 1
    assert np.isnan(measures.spearman(np.ones(3), np.arange(3.0)))
    assert [len(rows) for rows in measures.bins(np.arange(25.0), 5)] == [5] * 5
    assert measures.highest(np.arange(20.0)).nonzero()[0].tolist() == [18, 19]


def test_rates_within_a_lump_of_equal_scores_are_those_of_a_coin():
    member = np.arange(200) < 100
    scores = np.where(np.arange(200) % 100 < 50, 1.0, 0.0)  # the lump holds half of either side
    auc, tpr = measures.auc_and_tpr(scores, member)
    assert (auc, tpr) == (pytest.approx(0.5), pytest.approx(0.05))


def test_tables_are_encoded_and_standardised():
    import pandas as pd

    x = encoded(pd.DataFrame({"colour": ["red", "blue", "red"], "size": [1, 2, 3], "same": [7, 7, 7]}))
    np.testing.assert_allclose(x, [[0, 1, -1, 0], [1, 0, 0, 0], [0, 1, 1, 0]])


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
def test_pools_are_apart(name, real_data, monkeypatch):
    monkeypatch.setenv("GUESTLIST_DATA", str(real_data(SOURCES[name].file).parent))
    found = load(name, records=300)
    assert (len(found.x), len(found.x_valid), len(found.x_test)) == (300, 150, 150)
    assert np.isfinite(found.x).all()
    assert set(np.unique(found.y_test)) <= set(range(found.sizes["classes"]))


def test_missing_data_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("GUESTLIST_DATA", str(tmp_path))
    with pytest.raises(InputError, match=r"adult\.parquet is not in \$GUESTLIST_DATA"):
        load("adult")


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_commands_write_what_the_page_reads(name, real_data, monkeypatch, tmp_path):
    monkeypatch.setenv("GUESTLIST_DATA", str(real_data("adult.parquet").parent))
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    main([name, "--repeats", "2", "--records", "400", "--datasets", "adult"])
    written = json.loads((tmp_path / f"{name}.json").read_text())
    assert written["command"] == f"python -m papers.waka {name} --repeats 2 --records 400 --datasets adult"
    assert written["sizes"]["adult"]["records"] == 400
    assert {"versions", "repeats", "seconds", *COMMANDS[name].tables} <= set(written)
    assert all(written[table] for table in COMMANDS[name].tables)
    made = page.page()
    assert f"{written['command']}," in made.tables["runs.csv"]
    assert len(made.tables) > 1


@pytest.mark.slow
def test_rows_of_several_pools_stand_in_one_table(pool):
    found = run("figure6", [pool, dataclasses.replace(pool, name="again")], repeats=1)
    assert {row.dataset for row in found["curves"]} == {"clusters", "again"}


def test_every_figure_of_the_paper_has_its_partner():
    measured = {row["dataset"] for row in results.read("table1")["correlations"]}
    assert measured <= set(published.SPEARMAN) == set(PAPER)


def test_every_command_has_its_part_of_the_page():
    assert set(page.PARTS) == {*COMMANDS, SYNTHETIC}
    assert {path.stem for path in results.FOLDER.glob("*.json")} <= set(page.PARTS)


@pytest.mark.parametrize(("asr", "agrees"), [(0.62, "yes"), (0.8, "no")])
def test_the_verdict_follows_the_results(asr, agrees):
    row = {"dataset": "adult", "model": "K=1", "asr": asr, "error": 0.0, "deciles": [0.5] * 10}
    [found] = page.PARTS["table2"]({"rates": [row]}).rows
    assert not found.largest, "the sizes are not known"
    assert (found.where, found.agrees) == ("Table II", agrees)


def test_a_row_is_the_largest_with_all_records_of_every_dataset():
    sizes = {name: {"records": SOURCES[name].training} for name in PAPER}
    assert page._has_all_records({"sizes": sizes})
    smaller = sizes | {"imdb": {"records": 4000}}
    assert not page._has_all_records({"sizes": smaller})
    assert page._has_all_records({"sizes": smaller}, ["adult"])


@pytest.mark.parametrize(("split_half", "count"), [(0.7, 1), (0.9, 0)])
def test_halves_of_the_games_are_compared_at_the_largest_k(split_half, count):
    rows = [
        {"k": 1, "split_half": 0.1, "spearman": {"self-waka": 0.8}},
        {"k": 5, "split_half": split_half, "spearman": {"self-waka": 0.8}},
    ]
    assert page._halves(rows).startswith("At K = 5, ")
    assert page._halves(rows).endswith(f"on {count} of 1 datasets.")
