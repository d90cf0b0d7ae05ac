import numpy as np
import pytest

import guestlist as gl
from guestlist import InputError
from guestlist._findings.attacks import evaluate_attack
from guestlist._findings.headline import choose, stand_in_targets
from guestlist._kernels import class_thresholds, leave_block_out_thresholds
from guestlist._views import Signals
from guestlist.attacks import ATTACKS
from guestlist.attacks.metrics import average_threshold
from guestlist.metrics import best_threshold
from guestlist.testing import gaussian_simulation, target_of


@pytest.mark.parametrize("digits", [0, 1, 6])
@pytest.mark.parametrize("shift", [0.0, 1.0])
@pytest.mark.parametrize("chunk", [1, 7, 64, 10_000])
def test_leaving_each_block_out_equals_choosing_without_it(digits, shift, chunk):
    rng = np.random.default_rng(0)
    for points in (3, 50, 1000):
        block, member = rng.integers(0, 6, points), rng.random(points) < 0.4
        scores = np.round(rng.normal(size=points) + shift * member, digits)
        thresholds = leave_block_out_thresholds(scores, member, block, 6, chunk=chunk)
        for b in range(6):
            others = block != b
            both = member[others].any() and not member[others].all()
            expected = best_threshold(scores[others], member[others]) if both else np.nan
            np.testing.assert_array_equal(thresholds[b], expected)


def test_infinite_scores_are_tied_with_each_other():
    scores = np.array([np.inf, np.inf, 1.0, -np.inf, -np.inf, 0.0])
    member = np.array([True, False, True, False, True, False])
    thresholds = leave_block_out_thresholds(scores, member, np.arange(6), 6, chunk=1)
    for b in range(6):
        others = np.arange(6) != b
        np.testing.assert_array_equal(thresholds[b], best_threshold(scores[others], member[others]))


def test_no_points_give_no_threshold():
    assert np.isnan(leave_block_out_thresholds(np.array([]), np.array([], bool), np.array([], int), 3)).all()


def _own_figures(name, signals, member):
    attack = ATTACKS[name]
    return evaluate_attack(name, attack, attack.score(signals), member, signals)


@pytest.mark.parametrize("shift", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("seed", range(4))
def test_no_threshold_on_the_loss_beats_the_optimal_one(shift, seed):
    signals, member = target_of(gaussian_simulation(shift, records=200, models=5, seed=seed))
    best = _own_figures("optimal_threshold", signals, member)
    for name in ("average_threshold", "loss"):
        metrics = _own_figures(name, signals, member)
        assert metrics.auc == best.auc
        assert metrics.balanced_accuracy.value <= best.balanced_accuracy.value


def test_the_average_is_that_of_references_on_their_own_members():
    values = {"loss": np.array([[9.0, 9.0, 9.0], [1.0, 2.0, 30.0], [np.nan, 3.0, 40.0]])}
    member = np.array([[True, True, False], [True, True, False]])
    assert average_threshold(Signals(values, member, np.zeros(3, int))) == -2.0
    assert np.isnan(average_threshold(Signals({"loss": values["loss"][:1]}, member[:0], np.zeros(3, int))))


@pytest.mark.slow
def test_the_optimal_threshold_is_labelled_and_never_the_headline(tree, blobs):
    assert "upper bound" in ATTACKS["optimal_threshold"].summary
    with pytest.raises(InputError, match="knows the true membership"):
        gl.audit(tree, *blobs, references=0, attacks=["optimal_threshold"])
    for references in (0, 8):
        names = ["optimal_threshold", "correctness"]
        results = gl.audit(tree, *blobs, references=references, jobs=1, attacks=names)
        assert results.headline.name == "correctness"
        assert results.attack("optimal_threshold").balanced_accuracy.value > 0.5
    simulation = gaussian_simulation(2.0, records=200, models=9)
    choice = choose(stand_in_targets(simulation), {name: ATTACKS[name] for name in ("optimal_threshold", "loss")})
    assert list(choice.means) == ["loss"]


@pytest.mark.parametrize("digits", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["smooth", "lumps", "infinite"])
@pytest.mark.parametrize("seeds", [range(8), pytest.param(range(8, 30), marks=pytest.mark.long)], ids=repr)
def test_the_best_thresholds_of_a_few_classes_are_those_of_each(kind, digits, seeds):
    for seed in seeds:
        rng = np.random.default_rng(seed)
        member = rng.random((4, 60)) < 0.5
        values = rng.normal(size=(4, 60)) * 10.0 ** rng.integers(-3, 4) + 0.7 * member
        values = {"smooth": values, "lumps": np.round(values), "infinite": np.where(values > 1, np.inf, values)}[kind]
        values = values.astype(digits)
        values[rng.random(values.shape) < 0.1] = np.nan
        values[0, :3], member[0, :3] = (0.0, -0.0, np.inf), (True, False, True)
        group = rng.integers(0, 3, 60)
        for sign in (1, -1):
            thresholds = class_thresholds(values, member, group, sign)
            for part in (group == number for number in range(3)):
                expected = best_threshold(sign * values[:, part].ravel(), member[:, part].ravel())
                assert set(thresholds[part]) == {expected}


def test_a_class_of_members_only_or_without_points_has_no_threshold():
    everyone = np.ones((2, 5), dtype=bool)
    everyone[:, 2] = False
    thresholds = class_thresholds(np.ones((2, 5)), everyone, np.array([0, 0, 1, 1, 3]), 1)
    np.testing.assert_array_equal(thresholds, [np.nan, np.nan, 1.0, 1.0, np.nan])
    unknown = class_thresholds(np.full((2, 2), np.nan), everyone[:, :2], np.array([0, 1]), 1)
    np.testing.assert_array_equal(unknown, [np.nan, np.nan])


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_thresholds_of_classes_are_those_of_each(kind):
    rng = np.random.default_rng(9)
    labels = rng.integers(-1, 40, 300)
    for digits in (1, 8):
        values = np.round(rng.normal(size=(5, 300)), digits).astype(kind)
        values[rng.random(values.shape) < 0.1] = np.nan
        values[:2, 5] = np.inf, -np.inf
        member = rng.random(values.shape) < 0.5
        member[:, labels == 7] = True  # one kind alone
        for sign in (1, -1):
            thresholds = class_thresholds(values, member, labels, sign)
            assert np.isnan(thresholds[(labels == 7) | (labels < 0)]).all()
            for label in set(range(40)) - {7}:
                of_label = labels == label
                expected = best_threshold(sign * values[:, of_label].ravel(), member[:, of_label].ravel())
                assert set(thresholds[of_label]) == {expected}
