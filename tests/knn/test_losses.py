"""Distributions of the loss and the attacks that use them, against enumeration and against shadow models."""

import numpy as np
import pytest

import oracles_neighbours as oracles
from guestlist.knn import Knn, knn_likelihood_ratio, knn_loss_distributions, self_waka, t_waka
from guestlist.knn.losses import fill_loss_distributions

SHAPES = [
    (1, 2, 5),
    (2, 2, 1),
    (3, 2, 2),
    (4, 3, 50),
    (6, 2, 100),
    (7, 3, 3),
    (8, 2, 4),
    (8, 2, 1),
    (9, 3, 3),
]


def grid_data(n, classes, grid):
    rng = np.random.default_rng([n, classes, grid])
    return rng.integers(0, grid, size=(n, 1)).astype(float), rng.integers(0, classes, n)


def enumerated(x, y, k, p):
    laws = [oracles.losses_by_enumeration(np.abs(x - x[i])[:, 0], y == y[i], k, i, p) for i in range(len(x))]
    return np.array(laws).swapaxes(0, 1)


@pytest.mark.parametrize("k", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("p", [0.5, 0.2, 1.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_distributions_equal_enumeration(shape, k, p):
    x, y = grid_data(*shape)
    np.testing.assert_allclose(
        knn_loss_distributions(x, y, Knn(k), p=p), enumerated(x, y, k, p), rtol=1e-11, atol=1e-16
    )


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("shape", SHAPES)
def test_scores_equal_enumeration(shape, k):
    x, y = grid_data(*shape)
    inside, outside = enumerated(x, y, k, 0.5)
    rows = np.arange(len(x))
    for index in range(k + 1):
        loss = np.full(len(x), index / k)
        with np.errstate(divide="ignore", invalid="ignore"):
            expected = np.log(inside[rows, index]) - np.log(outside[rows, index])
        np.testing.assert_allclose(knn_likelihood_ratio(x, y, loss, Knn(k)), expected, rtol=0, atol=1e-10)
        gaps = np.abs(np.cumsum(inside - outside, axis=1))[:, :-1]
        expected = (gaps[:, index:].sum(axis=1) - gaps[:, :index].sum(axis=1)) / k
        np.testing.assert_allclose(t_waka(x, y, loss, Knn(k)), expected, rtol=0, atol=1e-12)


def clouds(n, features=5, seed=0, apart=0.5):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return rng.normal(size=(n, features)) + apart * y[:, None], y


@pytest.mark.slow
@pytest.mark.parametrize("features", [5, 40])
@pytest.mark.parametrize("k", [1, 5, 12])
def test_area_between_the_distributions_is_self_waka(k, features):
    """Two ways to one number: the whole distributions here, the Banzhaf weights there."""
    x, y = clouds(1500, features)
    x = np.concatenate([np.round(x, 1), np.round(x[:50], 1)])
    y = np.concatenate([y, y[:25], (y[25:50] + 1) % 3])
    expected = self_waka(x, y, Knn(k))
    np.testing.assert_allclose(t_waka(x, y, np.zeros(len(x)), Knn(k)), expected, rtol=0, atol=1e-14)
    np.testing.assert_allclose(t_waka(x, y, np.ones(len(x)), Knn(k)), -expected, rtol=0, atol=1e-14)
    inside, outside = knn_loss_distributions(x, y, Knn(k))
    np.testing.assert_allclose(inside.sum(axis=1), 1, atol=1e-14)
    np.testing.assert_allclose(outside.sum(axis=1), 1, atol=1e-14)
    areas = [oracles.wasserstein(a, b) for a, b in zip(inside, outside, strict=True)]
    np.testing.assert_allclose(areas, expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("features", [3, 40])
@pytest.mark.parametrize("k", [1, 5])
def test_evaluating_some_records_gives_the_values_of_evaluating_all(features, k, monkeypatch):
    """Rows in any order, repeated, or as a mask; with ties, copies, and rare losses that are walked to the end."""
    x, y = clouds(700, features, apart=1.0)
    x, y = np.concatenate([np.round(x, 1), np.round(x[:40], 1)]), np.concatenate([y, (y[:40] + 1) % 3])
    rng = np.random.default_rng(3)
    loss = rng.integers(0, k + 1, len(x)) / k
    selected = np.append(rng.permutation(len(x))[:50], [7, 7])
    mask = np.isin(np.arange(len(x)), selected)
    pairs = [
        (
            knn_likelihood_ratio(x, y, loss, Knn(k)),
            lambda rows: knn_likelihood_ratio(x, y, loss[rows], Knn(k), evaluated=rows),
        ),
        (t_waka(x, y, loss, Knn(k)), lambda rows: t_waka(x, y, loss[rows], Knn(k), evaluated=rows)),
        (knn_loss_distributions(x, y, Knn(k))[0], lambda rows: knn_loss_distributions(x, y, Knn(k), evaluated=rows)[0]),
        (knn_loss_distributions(x, y, Knn(k))[1], lambda rows: knn_loss_distributions(x, y, Knn(k), evaluated=rows)[1]),
    ]
    monkeypatch.setattr("guestlist.knn.distances.BLOCK_BYTES", 1)
    for of_all, of_some in pairs:
        np.testing.assert_array_equal(of_some(selected), of_all[selected])
        np.testing.assert_array_equal(of_some(mask), of_all[mask])
        assert of_some([]).shape == (0, *of_all.shape[1:])


def test_only_evaluated_records_cost_time(monkeypatch):
    x, y = clouds(300)
    of_all = knn_likelihood_ratio(x, y, np.full(300, 0.2)), t_waka(x, y, np.full(300, 0.2))
    walked = []

    def counted(distances, *arguments):
        walked.append(len(distances))
        return fill_loss_distributions(distances, *arguments)

    monkeypatch.setattr("guestlist.knn.losses.fill_loss_distributions", counted)
    few, known = np.array([4, 8, 200]), np.isin(np.arange(300), [4, 8])
    for function, expected in zip((knn_likelihood_ratio, t_waka), of_all, strict=True):
        np.testing.assert_array_equal(function(x, y, [0.2, 0.2, np.nan], evaluated=few), [*expected[[4, 8]], np.nan])
        np.testing.assert_array_equal(function(x, y, np.where(known, 0.2, np.nan)), np.where(known, expected, np.nan))
        assert np.isnan(function(x, y, np.full(300, np.nan))).all()
    assert sum(walked) == 8  # two records in each of four calls: an unknown loss is not evaluated


def test_rare_losses_are_not_truncated(monkeypatch):
    """A record deep in its class: a loss of 1 needs every near record to be left out, and is not 0 / 0."""
    rng = np.random.default_rng(0)
    x, y = np.sort(rng.normal(size=600))[:, None], np.repeat([0, 1], 300)
    loss = rng.integers(1, 5, 600) / 5
    got = knn_likelihood_ratio(x, y, loss)
    assert np.isfinite(got).all()
    monkeypatch.setattr("guestlist.knn.losses.LEFT_OUT", 0.0)
    np.testing.assert_allclose(got, knn_likelihood_ratio(x, y, loss), rtol=1e-9, atol=1e-9)
    inside, outside = knn_loss_distributions(x, y)
    rows, column = np.arange(600), np.round(loss * 5).astype(int)
    assert min(inside[rows, column].min(), outside[rows, column].min()) < 1e-40


@pytest.mark.parametrize("p", [0.5, 0.9])
def test_neighbours_beyond_the_largest_radius_change_no_digit(monkeypatch, p):
    """Separated classes: some losses have probabilities near the smallest number."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 500)
    x = rng.normal(size=(1500, 3)) + 20 * y[:, None]
    loss = rng.integers(0, 6, 1500) / 5
    got = knn_likelihood_ratio(x, y, loss, p=p)
    visited = []
    monkeypatch.setattr("guestlist.knn.losses.banzhaf_radius", lambda n, *args, **options: visited.append(n) or n)
    np.testing.assert_array_equal(got, knn_likelihood_ratio(x, y, loss, p=p))
    assert visited
    assert visited[0] == 1500


def test_all_records_kept_need_few_neighbours():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 2))
    y = rng.integers(0, 2, 200)
    near = np.argsort(np.square(x[:, None] - x).sum(axis=2), axis=1)
    loss = (y[near[:, :5]] != y[:, None]).mean(axis=1)  # with every record, itself included
    score = knn_likelihood_ratio(x, y, loss, p=1)
    assert np.isin(score, [0, np.inf]).all()


def test_equal_records_with_other_labels_can_push_a_member_out():
    """Only they can leave a member without any match, however rarely."""
    x, y = (
        np.append(np.zeros(6), np.arange(1.0, 400))[:, None],
        np.append([0, 1, 1, 1, 1, 1], np.zeros(399, int)),
    )
    loss = np.ones(len(x))
    got = knn_likelihood_ratio(x, y, loss, Knn(2), p=1e-12)[0]
    # Two of the five are drawn, and both come before it in a third of the orders of the three.
    inside, outside = knn_loss_distributions(x, y, Knn(2), p=1e-12)
    assert inside[0, 2] == pytest.approx(10 * 1e-24 / 3, rel=1e-9)
    assert got == pytest.approx(np.log(inside[0, 2] / outside[0, 2]), rel=1e-12)


def test_impossible_losses_are_infinite_or_nan():
    x, y = np.arange(6.0)[:, None], np.array([0, 1, 1, 1, 1, 1])
    got = knn_likelihood_ratio(x, y, [0, 1, np.nan, 0, 0, 1], Knn(1))
    assert got[0] == np.inf  # no other record has its label
    assert got[1] == got[5] == -np.inf  # as a member it would be its own nearest neighbour
    assert np.isnan(got[2])
    assert (got[3:5] > 0).all()
    assert np.isnan(t_waka(x, y, [0, 1, np.nan, 0, 0, 1], Knn(1))).tolist() == [
        False,
        False,
        True,
        False,
        False,
        False,
    ]


@pytest.mark.slow
def test_a_loss_with_probability_zero_with_and_without_the_record_is_nan():
    x, y = np.arange(3000.0)[:, None], np.zeros(3000)
    assert np.isnan(knn_likelihood_ratio(x, y, np.full(3000, 0.4))).all()


def shadow_losses(x, y, k, models, rng):
    """Return (models, n) training sets, and the loss of each K-NN model on each record, without ties."""
    member = rng.random((models, len(x))) < 0.5
    order = np.argsort(((x[:, None] - x) ** 2).sum(axis=2), axis=1)
    wrong = y[order] != y[:, None]
    included = member[:, order]
    first = included & (np.cumsum(included, axis=2) <= k)
    return member, ((first & wrong).sum(axis=2) + np.maximum(k - included.sum(axis=2), 0)) / k


@pytest.mark.slow
def test_shadow_models_converge_to_the_exact_score():
    """LiRA with exact distributions: its error falls with the square root of the number of shadow models."""
    x, y = clouds(60, features=2)
    k, rng = 3, np.random.default_rng(1)
    _, (target,) = shadow_losses(x, y, k, 1, rng)
    exact = knn_likelihood_ratio(x, y, target, Knn(k))
    inside, outside = (
        law[np.arange(60), np.round(target * k).astype(int)] for law in knn_loss_distributions(x, y, Knn(k))
    )
    common = np.minimum(inside, outside) > 0.05  # elsewhere few shadow models meet the loss at all
    errors = []
    for models in (400, 6400):
        member, loss = shadow_losses(x, y, k, models, rng)
        hit, member = np.isclose(loss, target)[:, common], member[:, common]
        share_in, share_out = (hit & member).sum(0) / member.sum(0), (hit & ~member).sum(0) / (~member).sum(0)
        errors.append(np.abs(np.log(share_in / share_out) - exact[common]).mean())
    assert common.sum() > 25
    assert errors[1] < 0.05
    assert 2.5 < errors[0] / errors[1] < 6.5  # sqrt(16) = 4


@pytest.mark.slow
def test_the_exact_score_beats_the_loss_and_few_shadow_models():
    x, y = clouds(300, features=2)
    k, rng = 3, np.random.default_rng(2)
    member, target = shadow_losses(x, y, k, 30, rng)
    trained, loss = shadow_losses(x, y, k, 16, rng)

    def auc(scores):
        return np.mean([_auc(s, m) for s, m in zip(scores, member, strict=True)])

    exact = auc([knn_likelihood_ratio(x, y, t, Knn(k)) for t in target])
    spread = 0.1
    mean_in = np.where(trained, loss, 0).sum(0) / trained.sum(0)
    mean_out = np.where(~trained, loss, 0).sum(0) / (~trained).sum(0)
    sampled = auc([(np.square(t - mean_out) - np.square(t - mean_in)) / spread for t in target])
    assert exact > max(sampled, auc(-target)) + 0.01


def _auc(score, member):
    inside, outside = score[member][:, None], score[~member]
    return np.mean((inside > outside) + 0.5 * (inside == outside))


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (np.zeros(5), r"target_loss shaped \(6,\)"),
        (np.full(6, 1.2), r"target_loss must be in \[0, 1\].* found \[1.2, 1.2\]"),
        (np.full(6, 0.5), "multiples of 1/k = 1/3"),
    ],
)
def test_wrong_losses_are_refused(loss, words):
    x, y = np.arange(6.0)[:, None], np.arange(6) % 2
    with pytest.raises(ValueError, match=words):
        knn_likelihood_ratio(x, y, loss, Knn(3))


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([6], r"evaluated to be rows in \[0, 6\), found \[6, 6\]"),
        (np.ones(5, bool), r"mask evaluated shaped \(6,\), found \(5,\)"),
        ([[1]], r"row numbers or a mask, found int64 shaped \(1, 1\)"),
        ([1, 2], r"target_loss shaped \(2,\), one per queried record, found \(1,\)"),
    ],
)
def test_wrong_rows_are_refused(rows, words):
    x, y = np.arange(6.0)[:, None], np.arange(6) % 2
    with pytest.raises(ValueError, match=words):
        t_waka(x, y, [0], evaluated=rows)
