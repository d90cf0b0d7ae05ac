"""The fast ridge regression against scikit-learn's, fold by fold and labelling by labelling."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from guestlist._baseline.regression import PENALTIES, cross_fitted, folds


def slow(x, fold, labels):
    """One fit per fold, labelling and penalty; the penalty with the least generalised error."""
    predicted = np.zeros(labels.shape)
    for k, y in enumerate(labels):
        for number in np.unique(fold):
            training = fold != number
            centred = x[training] - x[training].mean(axis=0)
            largest, errors, predictions = np.linalg.svd(centred)[1][0] ** 2, [], []
            for penalty in PENALTIES * largest:
                model = Ridge(penalty, solver="svd").fit(x[training], y[training])
                hat = centred @ np.linalg.solve(centred.T @ centred + penalty * np.eye(x.shape[1]), centred.T)
                off = ((y[training] - model.predict(x[training])) ** 2).sum()
                errors.append(off / (training.sum() - 1 - np.trace(hat)) ** 2)
                predictions.append(model.predict(x[~training]) - y[training].mean())
            predicted[k, ~training] = predictions[int(np.argmin(errors))]
    return predicted


@pytest.mark.slow
@pytest.mark.parametrize("columns", [4, 60])
def test_predictions_are_those_of_one_fit_after_the_other(columns):
    rng = np.random.default_rng(columns)
    x, fold = rng.normal(size=(50, columns)), rng.integers(4, size=50)
    labels = np.vstack([np.where(x[:, 0] + rng.normal(size=50) > 0, 1.0, -1.0), rng.choice([-1.0, 1.0], (3, 50))])
    assert np.allclose(cross_fitted(folds(x, fold), labels), slow(x, fold, labels), atol=1e-8)


def test_uninformative_columns_predict_nothing():
    assert (cross_fitted(folds(np.zeros((10, 3)), np.arange(10) % 2), np.ones((2, 10))) == 0).all()
