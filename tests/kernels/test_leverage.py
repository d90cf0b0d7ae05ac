"""Leverage: the hat matrix, what leaving a record out does, and derivatives taken by hand."""

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge

from guestlist._kernels import leverage, softmax_leverage


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 5))
    return x, x @ rng.normal(size=5) + 3 + rng.normal(size=40)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("penalty", [0.0, 2.0])
def test_it_is_the_exact_shift_when_a_record_is_left_out(data, penalty, intercept):
    x, y = data
    make = {"fit_intercept": intercept}
    model = Ridge(alpha=penalty, **make) if penalty else LinearRegression(**make)
    error = y - model.fit(x, y).predict(x)
    leverages = leverage(x, penalty=penalty, intercept=intercept)
    for i in range(40):
        others = np.delete(np.arange(40), i)
        without = y[i] - model.fit(x[others], y[others]).predict(x[i : i + 1])[0]
        assert without == pytest.approx(error[i] / (1 - leverages[i]), rel=1e-9)


@pytest.mark.parametrize("penalty", [0.0, 2.0])
def test_it_is_the_diagonal_of_the_hat_matrix(data, penalty):
    x, _ = data
    design, ridge = np.column_stack([np.ones(40), x]), penalty * np.diag([0, 1, 1, 1, 1, 1])
    hat = design @ np.linalg.inv(design.T @ design + ridge) @ design.T
    np.testing.assert_allclose(leverage(x, penalty=penalty), np.diag(hat), rtol=1e-10)
    if not penalty:
        assert leverage(x).sum() == pytest.approx(6)


@pytest.mark.parametrize("penalty", [0.0, 2.0])
def test_a_nonmember_has_what_it_would_have(data, penalty):
    x, _ = data
    member = np.arange(40) < 25
    leverages = leverage(x, member=member, penalty=penalty)
    np.testing.assert_allclose(leverages[member], leverage(x[member], penalty=penalty))
    for i in np.flatnonzero(~member):
        joined = leverage(x, member=member | (np.arange(40) == i), penalty=penalty)[i]
        assert leverages[i] == pytest.approx(joined)


def test_more_features_than_records():
    x = np.random.default_rng(1).normal(size=(12, 30))
    member = np.arange(12) < 8
    np.testing.assert_allclose(leverage(x, member=member), 1.0)  # a new record is fitted without error
    x[8] = x[0]  # except one whose direction is known
    assert leverage(x, member=member)[8] == pytest.approx(0.5)
    joined = leverage(x, member=member | (np.arange(12) == 9), penalty=1.0)[9]
    assert leverage(x, member=member, penalty=1.0)[9] == pytest.approx(joined)


def test_an_outlier_has_most_and_the_order_is_nothing(data):
    x = np.vstack([data[0], np.full((1, 5), 8.0)])
    leverages, order = leverage(x), np.random.default_rng(2).permutation(41)
    assert leverages.argmax() == 40
    np.testing.assert_allclose(leverage(x[order]), leverages[order])


def test_weights_are_copies(data):
    x, _ = data
    weight = np.where(np.arange(40) < 10, 3.0, 1.0)
    copied = leverage(np.vstack([x, x[:10], x[:10]]), penalty=1.0)
    np.testing.assert_allclose(leverage(x, penalty=1.0, weight=weight)[:10], 3 * copied[:10])


def classification_data(classes):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(60, 3))
    return x, (x @ rng.normal(size=(3, classes)) + rng.gumbel(size=(60, classes))).argmax(axis=1)


def log_p(model, x):
    return log_softmax(x @ model.coef_.T + model.intercept_, axis=1)


@pytest.mark.slow
def test_with_classes_it_is_the_derivative_of_the_output_by_the_label():
    """The derivative of probabilities by the own label, from fits to labels that were moved a little."""
    x, y = classification_data(3)
    soft, step = np.eye(3)[y] * 0.9 + 0.1 / 3, 1e-3
    everyone, ones = np.ones(60, dtype=bool), np.ones(60)

    def fitted(soft):
        copies, labels = np.repeat(x, 3, axis=0), np.tile(np.arange(3), 60)
        return LogisticRegression(C=0.5, tol=1e-12, max_iter=5000).fit(copies, labels, sample_weight=soft.ravel())

    at = log_p(fitted(soft), x)
    leverages = softmax_leverage(x, at, member=everyone, penalty=2.0, weight=ones)
    for i in (0, 7, 31):
        total = 0.0
        for c in range(3):
            # Labels stay a distribution: what class c gains, all classes lose in equal parts, which moves nothing else.
            moved = step * (np.eye(3)[c] - 1 / 3)
            up, down = soft.copy(), soft.copy()
            up[i], down[i] = soft[i] + moved, soft[i] - moved
            total += (np.exp(log_p(fitted(up), x)) - np.exp(log_p(fitted(down), x)))[i, c] / (2 * step)
        assert leverages[i] == pytest.approx(total, rel=0.02)


def test_two_classes_are_the_weighted_form():
    x, y = classification_data(2)
    model = LogisticRegression(C=0.5, tol=1e-10).fit(x, y)
    p, everyone = model.predict_proba(x), np.ones(60, dtype=bool)
    ones = leverage(x, penalty=2.0, weight=p[:, 0] * p[:, 1])
    # A softmax of two classes has two sets of weights, each of half the size: half of the penalty.
    pair = softmax_leverage(x, np.log(p), member=everyone, penalty=4.0, weight=np.ones(60))
    np.testing.assert_allclose(pair, ones, rtol=1e-6)


def test_a_nonmember_of_a_softmax_has_what_it_would_have():
    x, y = classification_data(3)
    at = log_p(LogisticRegression().fit(x, y), x)
    member, ones = np.arange(60) < 50, np.ones(60)
    leverages = softmax_leverage(x, at, member=member, penalty=1.0, weight=ones)
    for i in (50, 59):
        joined = softmax_leverage(x, at, member=member | (np.arange(60) == i), penalty=1.0, weight=ones)
        assert leverages[i] == pytest.approx(joined[i])
    assert (leverages > 0).all()
    assert (leverages < 2).all()


def test_wrong_input_is_reported():
    with pytest.raises(ValueError, match=r"x shaped \(3,\)"):
        leverage(np.ones(3))
    with pytest.raises(ValueError, match="penalty=-1"):
        leverage(np.ones((3, 1)), penalty=-1)
