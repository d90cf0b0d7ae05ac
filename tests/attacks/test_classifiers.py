import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.neural_network import MLPClassifier

import guestlist as gl
from guestlist._views import Evidence, FullOutputsView, Signals
from guestlist.attacks import ATTACKS, balanced, hashes, learn, sorted_features
from guestlist.attacks.classifiers import LARGEST_LOG_ODDS, class_log_odds, labelled_features
from guestlist.metrics import auc

NAMES = ["nn_shokri", "nn_nasr"]


def test_log_odds_are_those_of_the_definition():
    p = np.random.default_rng(0).dirichlet(np.ones(5), size=50)
    np.testing.assert_allclose(class_log_odds(np.log(p)), np.log(p / (1 - p)), rtol=1e-9)


def test_log_odds_keep_their_digits_where_a_model_is_sure():
    log_odds = class_log_odds(np.array([[-1e-12, -27.6], [0.0, -900.0]]))
    np.testing.assert_allclose(log_odds, [[27.6, -27.6], [LARGEST_LOG_ODDS, -LARGEST_LOG_ODDS]], rtol=1e-6)


def test_features_put_the_true_class_first():
    log_p, labels = np.log(np.array([[0.5, 0.2, 0.3], [0.1, 0.7, 0.2]])), np.array([1, 2])
    odds = class_log_odds(log_p)
    np.testing.assert_array_equal(sorted_features(log_p, labels), [odds[0, [1, 0, 2]], odds[1, [2, 1, 0]]])
    features = labelled_features(log_p, labels)
    np.testing.assert_array_equal(features[:, 0], [odds[0, 1], odds[1, 2]])
    np.testing.assert_array_equal(features[:, 1:4], odds)
    np.testing.assert_array_equal(features[:, 4:], [[0, 1, 0], [0, 0, 1]])


def test_hashes_follow_the_rows_and_see_every_part_of_them():
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(500, 3)), rng.integers(3, size=500)
    digests, order = hashes(rows, labels), rng.permutation(500)
    np.testing.assert_array_equal(hashes(rows[order], labels[order]), digests[order])
    assert len(set(digests)) == 500
    for column in range(3):
        changed = rows.copy()
        changed[:, column] = np.nextafter(rows[:, column].astype(np.float32), np.inf)
        assert (hashes(changed, labels) != digests).all()
    assert (hashes(rows, labels + 1) != digests).all()


def test_a_part_of_the_rows_is_a_fair_draw():
    """The hash must not prefer large values, or the classifier would be fitted on a biased sample."""
    rows = np.random.default_rng(1).normal(size=(20_000, 2))
    member = np.arange(20_000) % 4 == 0
    taken = balanced(member, hashes(rows, np.zeros(20_000, int)), 4000)
    assert len(taken) == 4000
    assert member[taken].sum() == 2000
    np.testing.assert_allclose(rows[taken].mean(axis=0), 0, atol=4 / np.sqrt(4000))
    np.testing.assert_allclose(rows[taken].std(axis=0), 1, atol=0.05)
    assert len(balanced(np.array([True, False, False]), np.arange(3), 10)) == 2


@pytest.mark.slow
def test_a_network_fits_log_odds_that_do_not_saturate():
    """Two normals, one standard deviation apart: the log-odds at x are x - 1/2."""
    rng = np.random.default_rng(0)
    member = np.arange(20_000) % 2 == 0
    x = rng.normal(size=20_000) + member
    points = np.linspace(-1.5, 2.5, 9)
    np.testing.assert_allclose(learn(x[:, None], member)(points[:, None]), points - 0.5, atol=0.2)
    far = learn(100 * member[:, None] + x[:, None], member)(np.array([[1e3], [1e4], [1e5]]))
    assert (np.diff(far) > 0).all()


def _three_classes(rare: int) -> tuple[Signals, np.ndarray]:
    """Simulate models that are more confident on members; the last class has ``rare`` records."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [300, 300, rare])
    member = rng.random((9, len(labels))) < 0.5
    logits = rng.normal(size=(9, len(labels), 3)) + 3 * member[..., None] * np.eye(3)[labels]
    log_p = logits - np.logaddexp.reduce(logits, axis=2, keepdims=True)
    outputs = log_p.astype(np.float32)
    evidence = Evidence({"full_outputs": FullOutputsView(outputs[1:], member[1:])})
    loss = -log_p[:, np.arange(len(labels)), labels]
    return Signals({"loss": loss}, member[1:], labels, evidence, outputs=outputs[0]), member[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_class_with_few_records_is_scored_too(name):
    signals, member = _three_classes(rare=6)
    scores = ATTACKS[name].score(signals)
    assert np.isfinite(scores).all()
    assert auc(scores, member).low > 0.8
    assert scores[-6:][member[-6:]].min() > scores[-6:][~member[-6:]].max()


@pytest.mark.parametrize("name", NAMES)
def test_references_of_only_one_class_are_not_used(name):
    signals, _ = _three_classes(rare=6)
    outputs = signals.evidence.need("full_outputs")
    everyone = FullOutputsView(outputs.log_p, np.ones_like(outputs.member))
    taught = replace(signals, reference_member=everyone.member, evidence=Evidence({"full_outputs": everyone}))
    assert np.isnan(ATTACKS[name].score(taught)).all()


@pytest.mark.slow
def test_an_overfitted_network_leaks(blobs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MLPClassifier((64,), max_iter=200, learning_rate_init=0.01, random_state=0).fit(*blobs[0])
    results = gl.audit(model, *blobs, references=8, jobs=1, baseline=False, evidence=[gl.evidence.FullOutputs()])
    for name in NAMES:  # by default, since their evidence is there
        assert results.attack(name).auc.low > 0.55
        assert results.attack(name).balanced_accuracy.low > 0.5
        assert results.attack(name).unscored == 0
    assert results.headline.name not in NAMES  # nothing but signals is collected about stand-in targets
