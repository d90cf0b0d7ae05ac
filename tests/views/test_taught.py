"""Very many records: what is common to a class is learnt from some of them, and hardly differs."""

from dataclasses import replace

import numpy as np
import pytest

from guestlist.arrays.samples import enough_of_each
from guestlist.arrays.thresholds import best_threshold
from guestlist.attacks import ATTACKS
from guestlist.evaluate import auc
from guestlist.views import signals as views
from worlds import gaussian_world, target_of


@pytest.fixture
def few(monkeypatch):
    """Three hundred values of a class are enough."""
    monkeypatch.setattr(views, "ENOUGH", 300)


def seen(records=2000, models=9, **more):
    signals, member = target_of(gaussian_world(1.0, records=records, models=models, **more))
    labels = (np.random.default_rng(0).random(records) < 0.05).astype(np.int64)  # one class is rare
    return replace(signals, labels=labels), member


def test_few_records_teach_all_of_them():
    signals, _ = seen()
    assert signals.taught_by is None


def test_of_each_class_there_are_enough_or_all(few):
    signals, _ = seen()
    rows = signals.taught_by
    for of_class, all_of_it in ((0, False), (1, False)):
        own = np.flatnonzero(signals.labels == of_class)
        taught = rows[signals.labels[rows] == of_class]
        assert 300 <= 8 * len(taught) < 8 * len(own)
        assert all_of_it or len(taught) < len(own)
    assert enough_of_each(np.array([0, 0, 0, 1, -1]), 1, 3) is None
    assert enough_of_each(np.array([0, 0, 0, 0, 0, 0, 1, -1]), 1, 3).tolist() == [0, 2, 4, 6]


def test_a_threshold_is_that_of_the_chosen_records(few):
    """Against the slow way on the same records."""
    signals, _ = seen()
    rows, labels = signals.taught_by, signals.labels
    found = signals.class_thresholds("margin", 1)
    for of_class in (0, 1):
        taught = rows[labels[rows] == of_class]
        values, member = signals.reference("margin")[:, taught], signals.reference_member[:, taught]
        expected = best_threshold(values.ravel(), member.ravel())
        assert (found[labels == of_class] == expected).all()
    every = np.arange(0, 2000, 2000 * 8 // 300)
    values, member = signals.reference("margin")[:, every], signals.reference_member[:, every]
    assert signals.best_threshold("margin", 1).tolist() == [best_threshold(values.ravel(), member.ravel())]


def test_a_standing_is_that_among_the_chosen_records(few):
    signals, _ = seen(records=900)
    rows, found = signals.taught_by, signals.standing("loss")
    own, said = signals.target("loss"), signals.reference("loss")
    for i in range(0, 900, 50):
        taught = rows[signals.labels[rows] == signals.labels[i]]
        others = said[:, taught][~signals.reference_member[:, taught]]
        counts = (others < own[i]).sum(), (others <= own[i]).sum(), len(others)
        assert (found.below[i], found.up_to[i], found.count[i]) == counts


def test_a_class_of_which_the_chosen_are_of_one_kind_is_learnt_from_all(few):
    signals, _ = seen()
    member = signals.reference_member.copy()
    member[:, signals.labels == 1] = True
    assert replace(signals, reference_member=member).taught_by is None


@pytest.mark.slow
@pytest.mark.parametrize("name", ["class_mentr", "class_confidence", "shadow"])
def test_an_attack_finds_what_it_finds_with_all_records(name, monkeypatch):
    """The best threshold of a class is a matter of chance also with all records: its gain is flat around the best."""
    signals, member = seen(records=20_000, models=17)
    whole = auc(ATTACKS[name].score(signals), member).value
    monkeypatch.setattr(views, "ENOUGH", 2**15)
    some = replace(signals)
    assert some.taught_by is not None
    assert auc(ATTACKS[name].score(some), member).value == pytest.approx(whole, abs=0.015)
