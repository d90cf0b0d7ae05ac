"""Leakage as a scorer of scikit-learn."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import guestlist as gl

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4))
Y = (X[:, 0] + RNG.normal(size=120) > 0).astype(int)


def test_the_score_is_minus_the_auc_of_the_loss_on_both_parts():
    folds = KFold(4)
    scores = cross_validate(LogisticRegression(), X, Y, cv=folds, scoring=gl.metrics.leakage_scorer(X, Y))["test_score"]
    for (train, test), score in zip(folds.split(X), scores, strict=True):
        model = LogisticRegression().fit(X[train], Y[train])
        fit = model.predict_proba(X)[np.arange(120), Y]
        is_member = np.isin(np.arange(120), train)
        assert score == pytest.approx(-roc_auc_score(is_member, fit))
        assert len(test) == 30


def test_a_search_reports_privacy_next_to_accuracy():
    table = pd.DataFrame(X, columns=list("abcd"))
    scoring = {"accuracy": "accuracy", "leakage": gl.metrics.leakage_scorer(table, Y)}
    search = GridSearchCV(
        DecisionTreeClassifier(random_state=0), {"max_depth": [1, None]}, scoring=scoring, refit="leakage"
    ).fit(table, Y)
    shallow, deep = search.cv_results_["mean_test_leakage"]
    assert shallow > -0.65
    assert deep < -0.6
    assert search.best_params_ == {"max_depth": 1}  # higher is better, as for every scorer


@pytest.mark.parametrize("model", [RidgeClassifier(), Ridge(), GridSearchCV(RidgeClassifier(), {"alpha": [1.0]}, cv=2)])
def test_margins_and_values_are_scored(model):
    scores = cross_validate(model, X, Y, cv=3, scoring=gl.metrics.leakage_scorer(X, Y))["test_score"]
    assert ((scores <= 0) & (scores >= -1)).all()


def test_copies_in_both_parts_are_excluded():
    x, y = np.vstack([X, X[:30]]), np.concatenate([Y, Y[:30]])
    model = DecisionTreeClassifier(random_state=0).fit(x[30:], y[30:])  # trained on a copy of the first 30 records
    scorer = gl.metrics.leakage_scorer(x, y)
    with pytest.raises(gl.InputError, match="only copies"):
        scorer(model, x[:30], y[:30])
    with pytest.raises(gl.InputError, match="not among those"):
        scorer(model, X + 1, Y)


def test_weights_are_routed_to_fit():
    weight = np.exp(3 * X[:, 1])
    scorer = gl.metrics.leakage_scorer(X, Y)
    plain = cross_validate(LogisticRegression(), X, Y, cv=3, scoring={"leakage": scorer})["test_leakage"]
    with sklearn.config_context(enable_metadata_routing=True):
        model = LogisticRegression().set_fit_request(sample_weight=True)
        weighted = cross_validate(
            model, X, Y, cv=3, scoring={"leakage": scorer}, params={"sample_weight": weight}, error_score="raise"
        )["test_leakage"]
    assert not np.allclose(plain, weighted)


@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_steps_that_output_frames_are_scored(output):
    table = pd.DataFrame(X, columns=list("abcd"))
    scorer = gl.metrics.leakage_scorer(table, Y)
    plain = make_pipeline(StandardScaler(), LogisticRegression())
    framed = make_pipeline(StandardScaler().set_output(transform=output), LogisticRegression())
    expected, scores = (
        cross_validate(model, table, Y, cv=3, scoring=scorer, error_score="raise")["test_score"]
        for model in (plain, framed)
    )
    np.testing.assert_allclose(scores, expected)
