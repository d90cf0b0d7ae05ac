"""Second-order terms: against a fit that is written out, and what they add to a regression on columns."""

import numpy as np
import pytest

from guestlist._baseline import regression as module
from guestlist._baseline.regression import JOINTLY, PENALTY, cross_fitted, folds, second_order, selected_terms


def written_out(x, terms, unit, fold, labels):
    """One fit after the other: the regression alone, its residuals, the terms that explain them."""
    fitted = cross_fitted(folds(x, fold), labels)
    threshold = np.sqrt(2 * np.log(terms.shape[1]))
    for k, y in enumerate(labels):
        for number in np.unique(fold):
            training = fold != number
            residuals = y[training] - y[training].mean() - fitted_inside(x, fold, number, y)
            sums = np.array(
                [terms[training][unit[training] == person].sum(axis=0) for person in np.unique(unit[training])]
            )
            covariance = residuals @ terms[training]
            z = covariance / np.sqrt((sums**2).sum(axis=0) * (residuals**2).mean())
            selected = [t for t in np.argsort(-np.abs(z))[:JOINTLY] if abs(z[t]) > threshold]
            if selected:
                known = terms[training][:, selected]
                shrunk = covariance[selected] * (1 - threshold**2 / z[selected] ** 2)
                ridge = known.T @ known + PENALTY * training.sum() * np.eye(len(selected))
                fitted[k, ~training] += terms[~training][:, selected] @ np.linalg.solve(ridge, shrunk)
    return fitted


def fitted_inside(x, fold, number, y):
    """The regression's own fit of the records that it was fitted on, by predicting copies of them as a fold of their own."""
    training = fold != number
    twice = np.vstack([x[training], x[training]])
    copies = np.repeat([0, 1], training.sum())
    return cross_fitted(folds(twice, copies), np.tile(y[training], 2)[None])[0, : training.sum()]


@pytest.mark.slow
@pytest.mark.parametrize("persons", [False, True])
@pytest.mark.parametrize("columns", [3, 60])
def test_predictions_are_those_of_one_fit_after_the_other(persons, columns):
    rng = np.random.default_rng(columns)
    unit = np.repeat(np.arange(40), 2) if persons else np.arange(80)
    fold = unit % 4
    x = rng.normal(size=(80, columns))
    labels = np.where(np.vstack([x[:, 0] * x[:, 1], x[:, 1] + x[:, 0] ** 2 - 1, rng.normal(size=80)]) > 0, 1.0, -1.0)
    terms = second_order(x[:, :3], np.arange(3), unit, rng)
    fitted = cross_fitted(folds(x, fold, terms), labels)
    assert np.allclose(fitted, written_out(x, terms.values, unit, fold, labels), atol=1e-8)
    assert not np.allclose(fitted, cross_fitted(folds(x, fold), labels))


def test_the_term_that_differs_is_selected_and_seldom_another():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 5))
    terms = second_order(x, np.arange(5), np.arange(600), rng)
    parts = folds(x, np.arange(600) % 5, terms)
    product = x[:, 1] * x[:, 3]
    chosen = selected_terms(parts, np.sign(product + rng.normal(scale=2.0, size=600)))
    assert max(abs(np.corrcoef(term, product)[0, 1]) for term in terms.values[:, chosen].T) > 0.9
    selects = [len(selected_terms(parts, rng.choice([-1.0, 1.0], 600))) > 0 for _ in range(20)]
    assert np.mean(selects) < 0.7  # in any of five folds


def test_terms_are_finite_bounded_in_number_and_leave_out_levels_of_one_category():
    rng = np.random.default_rng(0)
    levels = np.eye(3)[rng.integers(3, size=90)] - 1 / 3
    terms = second_order(levels, np.zeros(3, int), np.arange(90), rng)
    assert terms.values.shape[1] < 3 + 6  # squares of two values and products within the category are none
    wide = second_order(rng.normal(size=(30, 200)), np.arange(200), np.arange(30), rng)
    assert wide.values.shape[1] <= module.PER_RECORD * 30 + 37
    assert np.isfinite(wide.values).all()
    empty = second_order(np.zeros((10, 4)), np.arange(4), np.arange(10), rng)
    assert empty.values.shape == (10, 0)
    assert (cross_fitted(folds(np.zeros((10, 3)), np.arange(10) % 2, empty), np.ones((2, 10))) == 0).all()


def test_products_are_drawn_evenly_from_every_pair_of_columns(monkeypatch):
    """With a category of many levels and two numbers, the product of the numbers is drawn first."""
    monkeypatch.setattr(module, "PER_RECORD", 1)
    rng = np.random.default_rng(0)
    values = np.hstack([np.eye(16)[rng.integers(16, size=60)] - 1 / 16, rng.normal(size=(60, 2))])
    source = np.r_[np.zeros(16, int), 1, 2]
    for seed in range(5):
        first, second = module._pairs(values, source, 10, np.random.default_rng(seed))
        assert (16, 17) in set(zip(first.tolist(), second.tolist(), strict=True))
