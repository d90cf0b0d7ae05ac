"""The leverage of records in fitted models, against plain matrices."""

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import (
    Lasso,
    LinearRegression,
    LogisticRegression,
    Ridge,
    RidgeClassifier,
    RidgeCV,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import guestlist as gl
from guestlist._kernels import leverage, softmax_leverage
from guestlist.models import as_target
from guestlist.models import leverage as module

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 4)) * [1, 2, 3, 4]
VALUES = X @ [1.0, 0.5, 0.0, -1.0] + RNG.normal(size=50)
CLASSES = (VALUES > 0).astype(int) + (VALUES > 4)
MEMBER = np.arange(50) < 35


def leverage_of(model, y):
    model = model.fit(X[MEMBER], y[MEMBER])
    return as_target(model).needs("leverage")(gl.Data(X, y), MEMBER)


def diagonal(x, weight, ridge):
    """Compute the hat matrix of weighted least squares by hand, for members."""
    rows = np.sqrt(weight)[:, None] * x
    return np.diag(rows @ np.linalg.inv(rows.T @ rows + ridge) @ rows.T)


@pytest.mark.parametrize(
    ("model", "penalty"),
    [(LinearRegression(), 0.0), (Ridge(alpha=3.0), 3.0), (RidgeCV(alphas=[2.0]), 2.0)],
)
def test_regressions(model, penalty):
    np.testing.assert_allclose(leverage_of(model, VALUES), leverage(X, member=MEMBER, penalty=penalty))


def test_a_pipeline_is_followed_to_its_last_step():
    scaled = StandardScaler().fit(X[MEMBER]).transform(X)
    expected = leverage(scaled, member=MEMBER, penalty=3.0)
    np.testing.assert_allclose(leverage_of(make_pipeline(StandardScaler(), Ridge(alpha=3.0)), VALUES), expected)
    np.testing.assert_allclose(
        leverage_of(make_pipeline(StandardScaler(), RidgeClassifier(alpha=3.0)), CLASSES), expected
    )


@pytest.mark.parametrize("solver", ["lbfgs", "liblinear"])
@pytest.mark.parametrize("balanced", [None, "balanced"])
def test_two_classes(solver, balanced):
    model, y = LogisticRegression(C=0.2, solver=solver, class_weight=balanced), np.minimum(CLASSES, 1)
    values = leverage_of(model, y)[MEMBER]
    p = model.predict_proba(X[MEMBER])[:, 1]
    weight = p * (1 - p)
    if balanced:
        weight = weight * np.where(y[MEMBER], 35 / (2 * y[MEMBER].sum()), 35 / (2 * (1 - y[MEMBER]).sum()))
    ridge = 5.0 * np.diag([1, 1, 1, 1, 1 if solver == "liblinear" else 0])
    np.testing.assert_allclose(values, diagonal(np.column_stack([X, np.ones(50)])[MEMBER], weight, ridge), rtol=1e-8)


def test_many_classes(monkeypatch):
    model = LogisticRegression(C=0.2, max_iter=1000)
    values = leverage_of(model, CLASSES)
    log_p = model.predict_log_proba(X)
    expected = softmax_leverage(X, log_p, member=MEMBER, penalty=5.0, weight=np.ones(50))
    np.testing.assert_allclose(values, expected)
    monkeypatch.setattr(module, "MAX_HESSIAN_PARAMETERS", 14)
    apart, p = leverage_of(model, CLASSES)[MEMBER], np.exp(log_p)[MEMBER]
    ridge, design = 5.0 * np.diag([1, 1, 1, 1, 0]), np.column_stack([X, np.ones(50)])[MEMBER]
    np.testing.assert_allclose(
        apart, sum(diagonal(design, p[:, c] * (1 - p[:, c]), ridge) for c in range(3)), rtol=1e-8
    )
    assert np.corrcoef(apart, values[MEMBER])[0, 1] > 0.9


def test_models_without_a_penalty_are_supported():
    model = LogisticRegression(C=np.inf, max_iter=5000)
    y = RNG.integers(2, size=50)
    values = leverage_of(model, y)[MEMBER]
    p = model.predict_proba(X[MEMBER])[:, 1]
    np.testing.assert_allclose(values, diagonal(np.column_stack([X, np.ones(50)])[MEMBER], p * (1 - p), 0.0), rtol=1e-8)
    assert values.sum() == pytest.approx(5)


# Older versions read l1_ratio only where the penalty is named.
ELASTIC = {"penalty": "elasticnet"} if LogisticRegression().penalty == "l2" else {}


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(l1_ratio=0.5, solver="saga", max_iter=10000, **ELASTIC),
        RidgeClassifier(class_weight="balanced"),
        RandomForestClassifier(2),
    ],
)
def test_other_classifiers_have_none(model):
    assert "leverage" not in as_target(model.fit(X, np.minimum(CLASSES, 1))).can


@pytest.mark.parametrize("model", [Lasso(), LinearRegression(positive=True)])
def test_other_regressions_have_none(model):
    assert "leverage" not in as_target(model.fit(X, VALUES)).can


def test_a_network_is_taken_by_its_last_layer():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 3))
    hidden = torch.tanh(network[0](torch.as_tensor(X, dtype=torch.float32))).detach().numpy()
    target, ones = gl.torch_target(network), np.ones(50)
    values = target.needs("leverage")(gl.Data(X, CLASSES), MEMBER)
    log_p = log_softmax(target.predict(X), axis=1)
    expected = softmax_leverage(hidden, log_p, member=MEMBER, penalty=0.0, weight=ones)
    np.testing.assert_allclose(values, expected, rtol=1e-4)
    layer = torch.nn.Linear(4, 3)
    linear = gl.torch_target(layer).needs("leverage")(gl.Data(X, CLASSES), MEMBER)
    log_p = log_softmax(gl.torch_target(layer).predict(X), axis=1)
    np.testing.assert_allclose(linear, softmax_leverage(X, log_p, member=MEMBER, penalty=0.0, weight=ones), rtol=1e-6)
    squares = gl.torch_target(torch.nn.Linear(4, 1), scale="values").needs("leverage")(gl.Data(X, VALUES), MEMBER)
    np.testing.assert_allclose(squares, leverage(X, member=MEMBER))


def test_leverages_that_take_long_are_opt_in():
    model, members, others = (
        LinearRegression().fit(X[MEMBER], VALUES[MEMBER]),
        (X[MEMBER], VALUES[MEMBER]),
        (X[:9], VALUES[:9]),
    )
    assert as_target(model).needs("leverage").takes(gl.Data(X, VALUES)) == 2 * 50 * 4**2
    with pytest.raises(gl.InputError, match=r"takes about 1e\+03 multiplications; the limit is most=1e\+02"):
        gl.audit(model, members, (others[0] + 1, others[1]), references=0, evidence=[gl.evidence.Leverage(most=100.0)])
    with pytest.raises(ValueError, match="most=0"):
        gl.evidence.Leverage(most=0)


def test_a_model_that_is_certain_of_every_record_has_no_leverage():
    """All weights p (1 - p) are 0."""
    assert leverage(X, member=MEMBER, weight=np.zeros(50), penalty=1.0) == pytest.approx(np.zeros(50))
    x = 1e6 * np.r_[np.ones((10, 1)), -np.ones((10, 1))]
    y = np.repeat([0, 1], 10)
    model = LogisticRegression().fit(x, y)
    values = as_target(model).needs("leverage")(gl.Data(x, y), np.arange(20) % 2 == 0)
    assert np.nan_to_num(values, nan=0.0) == pytest.approx(np.zeros(20), abs=1e-6)


def test_a_class_without_a_member_has_a_weight_too():
    for weight in ("balanced", {0: 1.0, 1: 2.0, 2: 3.0}):
        model = LogisticRegression(class_weight=weight).fit(X, CLASSES)
        inside = CLASSES != 2
        values = as_target(model).needs("leverage")(gl.Data(X, CLASSES), inside)
        assert np.isfinite(values[inside]).all()
        assert values[inside].sum() > 0
