"""Permutations of membership: what stays fixed, and statistics of many permutations against one at a time."""

from itertools import combinations

import numpy as np
import pytest

from guestlist._kernels import DensePermutations, aucs, max_t_p_values, permuted_tprs, rank_sum_z_scores
from guestlist._kernels.permutations import permutations
from guestlist.metrics import tpr_at_fpr


def permuted_masks(member, draws=200, **options):
    return np.concatenate([block.member for block in permutations(member, draws, np.random.default_rng(0), **options)])


def scores_with_everything(rng, records):
    scores = np.round(rng.normal(size=records), 1)
    scores[rng.random(records) < 0.05] = np.nan
    scores[rng.random(records) < 0.03] = np.inf
    return scores


def test_a_permutation_keeps_only_the_number_of_members():
    member = np.arange(30) < 10
    masks = permuted_masks(member, 3000)
    assert masks.shape == (3000, 30)
    assert set(masks.sum(axis=1)) == {10}
    assert masks.mean(axis=0) == pytest.approx(np.full(30, 1 / 3), abs=0.05)


@pytest.mark.parametrize("members", [2, 3])  # the smaller side is that of members, or that of the others
def test_every_permutation_is_equally_likely(members):
    masks = permuted_masks(np.arange(5) < members, 20_000)
    numbers = np.bincount(masks @ 2 ** np.arange(5))
    assert (numbers > 0).sum() == 10
    assert numbers[numbers > 0] == pytest.approx(np.full(10, 2000), abs=200)  # 4.7 standard deviations


def test_blocks_give_every_draw(monkeypatch):
    monkeypatch.setattr("guestlist._kernels.permutations.CELLS_AT_ONCE", 100)
    blocks = list(permutations(np.arange(30) < 10, 10, np.random.default_rng(0)))
    assert [len(block.member) for block in blocks] == [3, 3, 3, 1]


def test_within_strata_each_keeps_its_members():
    member, strata = np.arange(30) % 3 == 0, np.arange(30) // 10
    masks = permuted_masks(member, strata=strata)
    for layer in range(3):
        assert set(masks[:, strata == layer].sum(axis=1)) == {member[strata == layer].sum()}


def test_records_of_a_person_in_one_set_are_permuted_together():
    persons = np.repeat(np.arange(12), np.arange(1, 13))
    member = persons % 2 == 0
    member[-1] = True  # the last person has records in both sets
    masks = permuted_masks(member, clusters=persons)
    for person in range(11):
        records = masks[:, persons == person]
        assert (records == records[:, :1]).all()
    records = masks[:, persons == 11]
    assert (records[:, :-1] == records[:, :1]).all()
    assert (records[:, -1] != records[:, 0]).any()


def test_statistics_of_many_permutations_are_those_of_one_at_a_time():
    rng = np.random.default_rng(1)
    scores = scores_with_everything(rng, 150)
    masks = permuted_masks(rng.random(150) < 0.4, 50)
    (gaps,) = rank_sum_z_scores(scores[None], DensePermutations(masks))
    one_by_one = aucs(np.broadcast_to(scores, masks.shape), masks)
    scored = ~np.isnan(scores)
    for mask, gap, auc in zip(masks, gaps, one_by_one, strict=True):
        inside = mask[scored].sum()
        outside = scored.sum() - inside
        _, ties = np.unique(scores[scored], return_counts=True)
        total = scored.sum()
        variance = ((total + 1) - (ties**3 - ties).sum() / (total * (total - 1))) / (12 * inside * outside)
        assert gap == pytest.approx((auc - 0.5) / np.sqrt(variance))  # the textbook's formula with ties
    for fprs in ((0.02,), (0.02, 0.05), (0.05, 0.3, 0.97)):
        expected = [[tpr_at_fpr(scores, mask, fpr).value for mask in masks] for fpr in fprs]
        assert permuted_tprs(scores, DensePermutations(masks), fprs) == pytest.approx(np.array(expected))


def test_statistics_of_several_attacks_are_those_of_each():
    rng = np.random.default_rng(4)
    scores = np.stack([scores_with_everything(rng, 80) for _ in range(3)])
    masks = permuted_masks(rng.random(80) < 0.5, 20)
    for row, z_scores in zip(scores, rank_sum_z_scores(scores, DensePermutations(masks)), strict=True):
        known = ~np.isnan(row)
        assert z_scores == pytest.approx(rank_sum_z_scores(row[None, known], DensePermutations(masks).within(known))[0])


@pytest.mark.parametrize("largest", [2**24, 2**24 + 1], ids=["in single precision", "beyond it"])
def test_sums_of_whole_numbers_are_exact(largest):
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 1000, size=(3, 50))
    weights[0, 0] += largest - 1 - weights[0].sum()
    permuted = DensePermutations(rng.random((20, 50)) < 0.5)
    permuted.member[0] = True
    expected = [[sum(int(weight) for weight in row[draw]) for draw in permuted.member] for row in weights]
    assert expected[0][0] == largest - 1
    assert permuted.sums(weights.astype(float)).tolist() == expected


def test_equally_good_permutations_count_as_equal():
    """0/1 scores have many ties: a sum that is off by rounding would rank them lower."""
    rng = np.random.default_rng(2)
    scores = (rng.random(101) < 0.3).astype(float)
    masks = permuted_masks(np.arange(101) < 50, 500)
    assert len(np.unique(rank_sum_z_scores(scores[None], DensePermutations(masks)))) == len(np.unique(masks @ scores))


def test_equal_scores_or_no_members_have_z_score_zero():
    masks = np.array([[True, True, False], [False, False, False]])
    scores = np.array([[1.0, 1.0, 1.0], [1.0, 2.0, 3.0], [np.nan, np.nan, np.nan]])
    assert (
        rank_sum_z_scores(scores, DensePermutations(masks)) == [[0, 0], [pytest.approx(-np.sqrt(1.5)), 0], [0, 0]]
    ).all()
    assert permuted_tprs(np.array([3.0, 2.0, 1.0]), DensePermutations(masks), (0.5,)).tolist() == [[1, 0]]


def test_p_values_are_those_of_all_permutations():
    """Against the list of all permutations of a small sample: Fisher's exact test."""
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(1, 9))
    member = scores[0] >= np.sort(scores[0])[-3]  # the three highest: only 1 of 84 permutations is as good
    every = np.array([np.isin(np.arange(9), chosen) for chosen in combinations(range(9), 3)])
    z_scores = rank_sum_z_scores(scores, DensePermutations(member[None]))[:, 0]
    exact = (rank_sum_z_scores(scores, DensePermutations(every)) >= z_scores).mean()
    assert exact == pytest.approx(1 / 84)
    assert max_t_p_values(z_scores, rank_sum_z_scores(scores, DensePermutations(permuted_masks(member, 20_000))))[
        0
    ] == pytest.approx(exact, abs=0.003)


def test_the_best_of_many_is_judged_by_the_best_of_many():
    statistics, drawn = np.array([2.0, 1.0]), np.array([[0.0, 3.0, 0.5], [1.5, 0.0, 0.5]])
    assert list(max_t_p_values(statistics, drawn)) == [2 / 4, 3 / 4]


@pytest.fixture
def many(monkeypatch):
    """Any number of records counts as very many."""
    monkeypatch.setattr("guestlist._kernels.permutations.MOST_CELLS", 0)


def shifts(member, draws=200, seed=0, **options):
    (permuted,) = permutations(member, draws, np.random.default_rng(seed), **options)
    return permuted


def dense_permutations(permuted):
    """The same permutations as masks, by rolling the labels of every layer."""
    rolled = [
        np.stack([np.roll(side, -by) for by in each])
        for side, each in zip(permuted.labels, permuted.shifts, strict=True)
    ]
    places = zip(permuted.layer, permuted.position, strict=True)
    return DensePermutations(np.stack([rolled[layer][:, position] for layer, position in places], axis=1))


@pytest.mark.parametrize("design", ["plain", "persons", "strata"])
def test_shifts_are_permutations(many, design):
    rng = np.random.default_rng(5)
    member, records = rng.random(90) < 0.4, np.arange(90)
    options = {"plain": {}, "persons": {"clusters": records // 3}, "strata": {"strata": records % 4}}[design]
    permuted = shifts(member, 60, **options)
    masks = dense_permutations(permuted).member
    if design == "strata":
        for layer in range(4):
            assert set(masks[:, records % 4 == layer].sum(axis=1)) == {member[records % 4 == layer].sum()}
    if design == "persons":
        units = 2 * (records // 3) + member
        assert all((masks[:, units == unit] == masks[:, units == unit][:, :1]).all() for unit in np.unique(units))
    else:
        assert set(masks.sum(axis=1)) == {member.sum()}
    assert len(np.unique(masks, axis=0)) > 20


@pytest.mark.parametrize("design", ["plain", "persons", "strata"])
def test_statistics_of_shifts_are_those_of_the_same_dense_permutations(many, design):
    rng = np.random.default_rng(6)
    member, records = rng.random(120) < 0.5, np.arange(120)
    options = {"plain": {}, "persons": {"clusters": records // 4}, "strata": {"strata": records % 3}}[design]
    permuted = shifts(member, 40, **options)
    scores = np.stack([scores_with_everything(rng, 120) for _ in range(3)])
    masks, some = dense_permutations(permuted), records % 3 == 1
    assert (rank_sum_z_scores(scores, permuted) == rank_sum_z_scores(scores, masks)).all()
    assert (
        rank_sum_z_scores(scores[:, some], permuted.within(some))
        == rank_sum_z_scores(scores[:, some], masks.within(some))
    ).all()
    if design != "strata":
        fprs = (0.3, 0.02)  # in any order
        assert (permuted_tprs(scores[0], permuted, fprs) == permuted_tprs(scores[0], masks, fprs)).all()


@pytest.mark.slow
def test_p_values_from_shifts_are_valid(many):
    """If nothing leaks, the best of two correlated attacks has a p-value of at most 10 % in 10 % of simulations."""
    rng, small = np.random.default_rng(7), 0
    for seed in range(600):
        scores = rng.normal(size=(2, 40))
        scores[1] += scores[0]
        member = rng.permutation(40) < 15
        drawn = rank_sum_z_scores(scores, shifts(member, 99, seed))
        z_scores = rank_sum_z_scores(scores, DensePermutations(member[None]))[:, 0]
        small += max_t_p_values(z_scores, drawn).min() <= 0.1
    assert 0.06 <= small / 600 <= 0.14  # three standard errors


def test_shifts_and_permutations_have_the_same_null_distribution(many):
    """On a few thousand records the two have one distribution: mean 0 and standard deviation 1, as random ranks have."""
    rng = np.random.default_rng(8)
    scores, member = rng.normal(size=(1, 5000)), rng.random(5000) < 0.5
    (gaps,) = rank_sum_z_scores(scores, shifts(member, 1999))
    assert abs(gaps.mean()) < 0.1
    assert gaps.std() == pytest.approx(1, abs=0.06)
    assert np.quantile(gaps, 0.99) == pytest.approx(2.33, abs=0.25)


@pytest.mark.parametrize("design", ["plain", "persons"])
def test_a_scan_that_starts_half_way_gives_the_same_tprs(many, monkeypatch, design):
    rng = np.random.default_rng(8)
    member, records = rng.random(3000) < 0.4, np.arange(3000)
    permuted = shifts(member, 50, **({"clusters": records // 3} if design == "persons" else {}))
    fprs = (0.02, 0.1, 0.3, 0.9)
    lumps = np.round(rng.normal(size=3000), 1)
    for scores in (rng.normal(size=3000), lumps, (lumps > 1) * 1.0, np.where(lumps > 2, np.nan, lumps)):
        tprs = permuted_tprs(scores, permuted, fprs)
        with monkeypatch.context() as patch:
            patch.setattr("guestlist._kernels.permutations.LONG", 0)
            for far in (6.0, 0.5):  # so near that some draws are past the end, and walk from the start
                patch.setattr("guestlist._kernels.permutations.FAR", far)
                assert (permuted_tprs(scores, permuted, fprs) == tprs).all()


def test_several_permutation_blocks_equal_each_block():
    rng = np.random.default_rng(5)
    scores, member = rng.integers(0, 9, (3, 40)).astype(float), rng.random(40) < 0.5
    scores[1, :4] = np.nan
    parts = DensePermutations(member[None]), *permutations(member, 30, rng)
    alone = [rank_sum_z_scores(scores, part) for part in parts]
    assert (rank_sum_z_scores(scores, *parts) == np.hstack(alone)).all()
    assert len(np.unique(np.hstack(alone))) > 30
