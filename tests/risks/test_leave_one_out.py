"""Leave-one-out: closed forms of ridge and K-NN, and errors for wrong input."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier

import guestlist as gl
from guestlist import InputError
from oracles_risks import modified_entropy

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
VALUES = X @ [1.0, -2.0, 0.5] + RNG.normal(size=40)
CLASSES = (VALUES > 0).astype(int) + (VALUES > 2)


@pytest.mark.parametrize(("model", "penalty"), [(LinearRegression(), 0.0), (Ridge(alpha=3.0), 3.0)])
def test_a_regression_by_its_leverage(model, penalty):
    effects = gl.risks.leave_one_out(model.fit(X, VALUES), (X, VALUES), rows=range(40))
    error = VALUES - model.predict(X)
    np.testing.assert_allclose(effects["error_with"], error)
    np.testing.assert_allclose(effects["error_without"], error / (1 - gl.risks.leverage(X, penalty=penalty)))
    np.testing.assert_allclose(effects["leave_one_out"], effects["error_without"].abs() - np.abs(error))
    assert (effects["leave_one_out"] >= 0).all()


def test_nearest_neighbours_by_counting():
    model = KNeighborsClassifier(5).fit(X, CLASSES)
    effects = gl.risks.leave_one_out(model, (X, CLASSES), rows=[3, 0, 31])
    for row, i in zip(effects.itertuples(), (3, 0, 31), strict=True):
        near = np.argsort(np.square(X - X[i]).sum(axis=1))
        assert row.p_with == (CLASSES[near[:5]] == CLASSES[i]).mean()
        assert row.p_without == (CLASSES[near[1:6]] == CLASSES[i]).mean()
        assert row.leave_one_out == pytest.approx(row.p_with - row.p_without)
        assert row.label == CLASSES[i]


def test_sensitivity_is_the_log_ratio_of_modified_entropies():
    model = LogisticRegression(C=0.5, tol=1e-10).fit(X, CLASSES)
    effects = gl.risks.leave_one_out(model, (X, CLASSES), rows=[5, 9])
    for row, i in zip(effects.itertuples(), (5, 9), strict=True):
        others = np.delete(np.arange(40), i)
        without = LogisticRegression(C=0.5, tol=1e-10).fit(X[others], CLASSES[others])
        entropies = [
            modified_entropy(fitted.predict_proba(X[i : i + 1]), CLASSES[i : i + 1])[0] for fitted in (without, model)
        ]
        assert row.sensitivity == pytest.approx(np.log(entropies[0] / entropies[1]), rel=1e-4)


@pytest.mark.slow
def test_a_memorised_outlier_changes_most_and_the_seed_decides():
    x, y = X.copy(), (X[:, 0] > 0).astype(int)
    x[7], y[7] = [4.0, 0, 0], 0
    model = RandomForestClassifier(10, random_state=0).fit(x, y)
    effects = gl.risks.leave_one_out(model, (x, y), rows=range(2, 9), seed=3, repeats=2)
    assert effects["leave_one_out"].argmax() == 5
    again = gl.risks.leave_one_out(
        model, (x, y), ids=["members:7", "members:2"], seed=3, repeats=2, progress=lambda work, total: iter(work)
    )
    np.testing.assert_array_equal(again.drop(columns="id"), effects.iloc[[5, 0]].drop(columns="id"))


def test_wrong_input_is_reported():
    model = LinearRegression().fit(X, VALUES)
    with pytest.raises(InputError, match="Pass rows="):
        gl.risks.leave_one_out(model, (X, VALUES))
    with pytest.raises(InputError, match=r"no row 40\. Members have the rows 0 to 39"):
        gl.risks.leave_one_out(model, (X, VALUES), rows=[40])
    with pytest.raises(InputError, match="No member has the id 'x'"):
        gl.risks.leave_one_out(model, (X, VALUES), ids=["x"])
    with pytest.raises(ValueError, match="repeats=0"):
        gl.risks.leave_one_out(model, (X, VALUES), rows=[1], repeats=0)
    outputs = gl.function_target(model.predict, scale="values")
    with pytest.raises(InputError, match="has no training recipe"):
        gl.risks.leave_one_out(outputs, (X, VALUES), rows=[1])
