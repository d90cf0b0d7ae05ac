"""Attacks on K-NN targets: the contract of all attacks on K-NN models, and the public functions that they call."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import guestlist as gl
from guestlist import knn
from guestlist._views import Evidence, NeighboursView, Signals
from guestlist.attacks import ATTACKS
from guestlist.errors import NotCollectedError
from guestlist.evidence import missing_evidence
from guestlist.metrics import auc
from guestlist.models import as_target

NAMES = [name for name, attack in ATTACKS.items() if attack.evidence == "neighbours"]


def knn_signals(seed=0, records=400, k=3, noise=False):
    """Signals of one K-NN model for members and non-members; with ``noise``, membership is permuted."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=records)
    x = rng.normal(size=(records, 3)) + 0.4 * y[:, None]
    member = rng.random(records) < 0.5
    model = KNeighborsClassifier(k).fit(x[member], y[member])
    p_y = model.predict_proba(x)[np.arange(records), y]
    near = NeighboursView(x, k, "euclidean", 0.5, np.ones(records, bool))
    truth = rng.permutation(member) if noise else member
    return Signals({"p_y": p_y[None]}, np.zeros((0, records), bool), y, Evidence({"neighbours": near})), truth


@pytest.mark.parametrize("name", NAMES)
def test_scores_rise_with_membership_and_are_those_of_the_function(name):
    signals, member = knn_signals()
    scores = ATTACKS[name].score(signals)
    assert auc(scores, member).low > 0.55
    near = signals.evidence.need("neighbours")
    direct = getattr(knn, name)(near.x, signals.labels, 1 - signals.target("p_y"), knn.Knn(3))
    np.testing.assert_array_equal(scores, direct)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_no_advantage_where_membership_is_noise(name):
    aucs = [
        auc(ATTACKS[name].score(signals), truth).value
        for signals, truth in (knn_signals(s, noise=True) for s in range(40))
    ]
    assert abs(np.mean(aucs) - 0.5) < 4 * np.std(aucs) / np.sqrt(len(aucs)) + 1e-3


@pytest.mark.parametrize("name", NAMES)
def test_shuffled_records_give_shuffled_scores(name):
    signals, _ = knn_signals()
    order = np.random.default_rng(1).permutation(len(signals.labels))
    np.testing.assert_allclose(
        ATTACKS[name].score(signals.take(order)), ATTACKS[name].score(signals)[order], rtol=1e-12
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_target_that_is_no_knn_model_is_reported(name):
    signals, _ = knn_signals()
    with pytest.raises(NotCollectedError, match="KNeighborsClassifier"):
        ATTACKS[name].score(replace(signals, evidence=Evidence(missing=missing_evidence())))


@pytest.mark.slow
def test_an_audit_of_a_knn_pipeline_runs_them_in_the_space_of_its_distances(blobs):
    (x, y), nonmembers = blobs
    model = make_pipeline(StandardScaler(), KNeighborsClassifier(5)).fit(x * [1, 10, 1, 1, 1], y)
    results = gl.audit(
        model, (x * [1, 10, 1, 1, 1], y), (nonmembers[0] * [1, 10, 1, 1, 1], nonmembers[1]), references=0
    )
    assert results.attack("knn_likelihood_ratio").auc.low > 0.5
    assert results.attack("t_waka").unscored == 0
    space = as_target(model).can["neighbours"](x * [1, 10, 1, 1, 1])
    assert space.k == 5
    np.testing.assert_allclose(space.x.std(axis=0), 1)


@pytest.mark.slow
def test_they_can_be_the_headline_and_leave_the_population_out(blobs):
    model = KNeighborsClassifier(1).fit(*blobs[0])
    rng = np.random.default_rng(0)
    population = rng.normal(size=(50, 5)), rng.integers(3, size=50)
    results = gl.audit(model, *blobs, population, references=8, jobs=1, attacks=["lira", "knn_likelihood_ratio"])
    assert results.attack("knn_likelihood_ratio").unscored == 0
    assert results.headline.same_recipe is not None


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", [KNeighborsClassifier(3, weights="distance"), KNeighborsClassifier(3, p=1), LogisticRegression()]
)
def test_other_models_have_no_such_space(model, blobs):
    assert "neighbours" not in as_target(model.fit(*blobs[0])).can
    assert "t_waka" not in {f.name for f in gl.audit(model, *blobs, references=0).outcomes}
