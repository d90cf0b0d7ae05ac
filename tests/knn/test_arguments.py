"""Wrong arguments are refused with their name and what was found; the package stays light."""

import subprocess
import sys

import numpy as np
import pytest

from guestlist import knn as neighbours
from guestlist.knn import (
    Knn,
    knn_banzhaf,
    knn_banzhaf_blocks,
    knn_likelihood_ratio,
    knn_loo,
    knn_loss_distributions,
    knn_shapley,
    knn_shapley_blocks,
    neighbour_lists,
    self_shapley,
    self_waka,
    t_waka,
    waka,
)

X, Y, X_TEST, Y_TEST = np.arange(12.0).reshape(6, 2), np.array([0, 1] * 3), np.ones((2, 2)), np.array([0, 1])
NAN = np.where(X == 3, np.nan, X)

REFUSED = [
    (lambda: knn_shapley(NAN, Y, X_TEST, Y_TEST), "x must be finite .* found 1 records with NaN"),
    (lambda: knn_shapley(X, Y, np.inf * X_TEST, Y_TEST), "x_test must be finite .* 2 records with infinite"),
    (lambda: knn_shapley(1e200 * X, Y, X_TEST, Y_TEST), "within ±1e.150"),
    (lambda: knn_shapley(1e20 * X, Y, X_TEST, Y_TEST, Knn(precision="fast")), "within ±1e.15"),
    (lambda: knn_shapley(X[:, 0], Y, X_TEST, Y_TEST), r"x to be a matrix .* shaped \(6,\)"),
    (lambda: knn_shapley(X[:0], Y[:0], X_TEST, Y_TEST), r"shaped \(0, 2\)"),
    (lambda: knn_shapley(X.astype(str), Y, X_TEST, Y_TEST), "matrix of numbers"),
    (lambda: knn_shapley(X, Y[:5], X_TEST, Y_TEST), r"y shaped \(6,\).* found \(5,\)"),
    (lambda: knn_shapley(X, Y, X_TEST, Y_TEST[:1]), r"y_test shaped \(2,\)"),
    (lambda: knn_shapley(X, np.where(Y == 0, np.nan, 1.0), X_TEST, Y_TEST), "y has 3 NaN"),
    (lambda: knn_shapley(X, Y.astype(object), X_TEST, Y_TEST), "y of one type"),
    (lambda: knn_shapley(X, Y.astype(str), X_TEST, Y_TEST), "y and y_test of one type, found <U21 and int64"),
    (lambda: knn_shapley(X, Y, X_TEST[:, :1], Y_TEST), "2 features like x, found 1"),
    (lambda: Knn(k=0), "k=0 to be an integer, 1 or more"),
    (lambda: Knn(k=2.5), "k=2.5 to be an integer"),
    (lambda: Knn(ties="first"), "ties='first' .* 'average', 'index'"),
    (lambda: Knn(precision="f16"), "precision='f16' .* 'exact', 'fast'"),
    (lambda: Knn(metric="l1"), "metric='l1' .* 'euclidean', 'cosine'"),
    (lambda: knn_shapley(0 * X, Y, X_TEST, Y_TEST, Knn(metric="cosine")), "6 records of x are all zeros"),
    (lambda: knn_loo(X, Y, X_TEST, Y_TEST, n_jobs=0), "n_jobs=0 to be an integer from 1"),
    (lambda: knn_banzhaf(X, Y, X_TEST, Y_TEST, p=0), "p=0 in"),
    (lambda: waka(X, Y, X_TEST, Y_TEST, p=1.5), "p=1.5 in"),
    (lambda: knn_banzhaf_blocks(X, Y, X_TEST, Y_TEST, p=1.5), "p=1.5 in"),
    (lambda: self_waka(X, Y, p=float("nan")), "p=nan in"),
    (lambda: knn_shapley_blocks(NAN, Y, X_TEST, Y_TEST), "1 records with NaN"),
    (lambda: knn_shapley(X, Y, X_TEST, Y_TEST, 3), r"knn=3 to be a Knn, such as Knn\(k=3\)"),
    (lambda: self_waka(X, Y, None), "knn=None to be a Knn"),
]


@pytest.mark.parametrize(("call", "words"), REFUSED)
def test_wrong_arguments_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


AVERAGING = [
    lambda knn: self_shapley(X, Y, knn),
    lambda knn: self_waka(X, Y, knn),
    lambda knn: knn_loss_distributions(X, Y, knn),
    lambda knn: knn_likelihood_ratio(X, Y, np.zeros(6), knn),
    lambda knn: t_waka(X, Y, np.zeros(6), knn),
    lambda knn: neighbour_lists(X, Y, knn),
]


@pytest.mark.parametrize("call", AVERAGING)
def test_what_averages_over_ties_refuses_another_rule(call):
    call(Knn(ties="average"))
    with pytest.raises(ValueError, match="ties='index' is only supported by values on test records"):
        call(Knn(ties="index"))


def test_a_misspelt_option_fails_at_the_call():
    with pytest.raises(TypeError, match="tie"):
        Knn(tie="average")
    with pytest.raises(TypeError, match="'k'"):
        knn_shapley(X, Y, X_TEST, Y_TEST, k=3)


def test_a_classifier_is_a_value():
    assert Knn(np.int64(3)) == Knn(k=3, metric="euclidean", precision="exact", ties="average")
    assert type(Knn(np.int64(3)).k) is int
    assert len({Knn(), Knn(5), Knn(4)}) == 2
    with pytest.raises(AttributeError):
        Knn().k = 3


def test_importing_the_package_loads_nothing_heavy():
    heavy = "{'numba', 'scipy', 'sklearn'}"
    code = f"import sys, guestlist.knn as n; dir(n); print({heavy} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "set()"


def test_every_public_name_resolves():
    for name in neighbours.__all__:
        assert callable(getattr(neighbours, name)), name
    with pytest.raises(AttributeError, match="knn_shap"):
        _ = neighbours.knn_shap
