"""Very many records: parameters of a class are estimated from a sample, and hardly differ."""

from dataclasses import replace

import numpy as np
import pytest

from guestlist._kernels import best_threshold, subsample_by_label
from guestlist._views import signals as views
from guestlist.attacks import ATTACKS
from guestlist.metrics import auc
from guestlist.testing import gaussian_simulation, target_of


@pytest.fixture
def few(monkeypatch):
    """Three hundred values of a class are enough."""
    monkeypatch.setattr(views, "ENOUGH", 300)


def simulated(records=2000, models=9, **options):
    signals, member = target_of(gaussian_simulation(1.0, records=records, models=models, **options))
    labels = (np.random.default_rng(0).random(records) < 0.05).astype(np.int64)  # one class is rare
    return replace(signals, labels=labels), member


def test_few_records_are_all_used_for_estimation():
    signals, _ = simulated()
    assert signals.estimation_rows is None


def test_of_each_class_there_are_enough_or_all(few):
    signals, _ = simulated()
    rows = signals.estimation_rows
    for of_class in (0, 1):
        selected = np.flatnonzero(signals.labels == of_class)
        taught = rows[signals.labels[rows] == of_class]
        assert 300 <= 8 * len(taught) < 8 * len(selected)
    assert subsample_by_label(np.array([0, 0, 0, 1, -1]), np.ones(5, int), 3) is None
    sampled = subsample_by_label(np.array([0, 0, 0, 0, 0, 0, 1, -1]), np.ones(8, int), 3)
    assert len(sampled) == 4
    assert 6 in sampled  # all that there is of its class
    assert 7 not in sampled


def slowly(signals, rows):
    values, member = signals.reference("margin")[:, rows], signals.reference_member[:, rows]
    return best_threshold(values.ravel(), member.ravel())


def test_a_threshold_is_that_of_the_chosen_records(few):
    """Against the slow way on the same records, whichever is computed first."""
    signals, _ = simulated()
    rows, labels = signals.estimation_rows, signals.labels
    every = subsample_by_label(np.zeros(2000, int), np.full(2000, 8), 300)
    for asks_for_all_first in (False, True):
        view = replace(signals)
        if asks_for_all_first:
            view.best_threshold("margin", 1)
        thresholds = view.class_thresholds("margin", 1)
        for of_class in (0, 1):
            assert (thresholds[labels == of_class] == slowly(signals, rows[labels[rows] == of_class])).all()
        assert view.best_threshold("margin", 1).tolist() == [slowly(signals, every)]


def test_samples_of_one_size_are_not_taken_for_each_other(few):
    signals, _ = target_of(gaussian_simulation(1.0, records=201, models=9))
    signals = replace(signals, labels=np.r_[np.zeros(200, int), 1])
    member = signals.reference_member.copy()
    member[:, 200] = np.arange(8) < 4
    signals = replace(signals, reference_member=member)
    alone = replace(signals).best_threshold("margin", 1)
    assert signals.estimation_rows is not None
    signals.class_thresholds("margin", 1)
    assert signals.best_threshold("margin", 1).tolist() == alone.tolist()


def test_records_that_were_not_evaluated_are_not_fitted_on(few):
    """Canaries: membership of all other records is known, and of these few all are needed."""
    signals, _ = simulated(records=1000)
    silent = np.arange(1000) >= 30
    values = {name: np.where(silent, np.nan, matrix) for name, matrix in signals.values.items()}
    canaries = replace(signals, values=values)
    assert canaries.estimation_rows is None
    assert np.nanmax(canaries.class_ecdf("loss").count) <= (~signals.reference_member[:, :30]).sum()
    some = np.arange(1000) >= 500
    half = replace(signals, values={name: np.where(some, np.nan, matrix) for name, matrix in signals.values.items()})
    assert half.estimation_rows.max() < 500
    assert 8 * len(half.estimation_rows) >= 300


def test_shadow_models_are_evaluated_on_their_queried_records(few):
    """One model was queried on the first half of the records, and trained on a few of them."""
    signals, _ = target_of(gaussian_simulation(1.0, records=2000, models=2))
    member = np.zeros((1, 2000), dtype=bool)
    member[0, :1000:2] = True
    values = {
        name: np.vstack([row[0], np.where(np.arange(2000) < 1000, row[1], np.nan)])
        for name, row in signals.values.items()
    }
    shadow = replace(signals, values=values, reference_member=member, labels=np.zeros(2000, int))
    assert shadow.estimation_rows.max() < 1000
    assert 300 <= len(shadow.estimation_rows) < 1000
    assert shadow.class_ecdf("loss").count[0] > 100


def test_an_order_with_a_period_does_no_harm(few):
    """Every second record has another distribution, as where copies follow their originals."""
    signals, _ = simulated(records=4000)
    kind = np.arange(4000) % 2 == 0
    rows = signals.estimation_rows
    assert 0.35 < kind[rows].mean() < 0.65


def test_a_rank_is_that_among_the_selected_records(few):
    signals, _ = simulated(records=900)
    rows, ecdf = signals.estimation_rows, signals.class_ecdf("loss")
    losses, reference_losses = signals.target("loss"), signals.reference("loss")
    for i in range(0, 900, 50):
        taught = rows[signals.labels[rows] == signals.labels[i]]
        others = reference_losses[:, taught][~signals.reference_member[:, taught]]
        counts = (others < losses[i]).sum(), (others <= losses[i]).sum(), len(others)
        assert (ecdf.below[i], ecdf.up_to[i], ecdf.count[i]) == counts


def test_a_class_with_only_members_or_nonmembers_in_the_sample_uses_all_records(few):
    signals, _ = simulated()
    member = signals.reference_member.copy()
    member[:, signals.labels == 1] = True
    assert replace(signals, reference_member=member).estimation_rows is None


@pytest.mark.slow
@pytest.mark.parametrize("name", ["class_mentr", "class_confidence", "shadow"])
def test_an_attack_finds_what_it_finds_with_all_records(name, monkeypatch):
    """The best threshold of a class is a matter of chance also with all records: its gain is flat around the best."""
    signals, member = simulated(records=20_000, models=17)
    value = auc(ATTACKS[name].score(signals), member).value
    monkeypatch.setattr(views, "ENOUGH", 2**15)
    some = replace(signals)
    assert some.estimation_rows is not None
    assert auc(ATTACKS[name].score(some), member).value == pytest.approx(value, abs=0.015)
