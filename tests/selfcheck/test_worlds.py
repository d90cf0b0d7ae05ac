import numpy as np
import pytest

from guestlist.arrays.ranks import aucs
from guestlist.targets.signals import SIGNALS, signals_of_logits
from guestlist.views.signals import Rotation
from worlds import DESIGNS, binary_signals, exactly_half, gaussian_world, noise_world


def test_every_signal_is_that_of_a_model_with_two_classes():
    margin = np.array([-40.0, -1.5, -0.1, 0.3, 2.0, 30.0])
    labels = np.array([0, 1, 0, 1, 0, 1])
    logits = np.zeros((6, 2))
    logits[np.arange(6), labels] = margin
    made, expected = binary_signals(margin), signals_of_logits(logits, labels)
    assert set(made) == set(SIGNALS)
    for name in SIGNALS:
        np.testing.assert_allclose(made[name], expected[name], rtol=1e-9, atol=1e-14, err_msg=name)


@pytest.mark.parametrize("design", DESIGNS)
def test_margins_are_larger_for_members_by_the_shift(design):
    world = gaussian_world(2.0, records=2000, models=10, design=DESIGNS[design])
    margin, member = world.values["margin"], world.member
    assert margin[member].mean() - margin[~member].mean() == pytest.approx(2.0, abs=0.05)
    assert member.mean() == pytest.approx(0.5, abs=0.02)


def test_pairs_are_never_references_of_each_other():
    world = noise_world(records=50, models=6, design=DESIGNS["pairs"])
    for k in range(6):
        signals = world.facing(k)
        assert signals.references == 4
        assert (signals.reference_member.sum(axis=0) == 2).all()


def _in_count_auc(design, worlds: int = 20) -> float:
    found = []
    for seed in range(worlds):
        world = noise_world(records=500, models=8, seed=seed, design=design)
        found.append(aucs(_in_count(world), world.member).mean())
    return float(np.mean(found))


def _in_count(world: Rotation) -> np.ndarray:
    return np.stack([world.facing(k).reference_member.sum(axis=0) for k in range(len(world.member))])


@pytest.mark.parametrize("design", DESIGNS)
def test_the_count_of_in_references_alone_says_nothing(design):
    assert _in_count_auc(DESIGNS[design]) == pytest.approx(0.5, abs=0.006)


def test_where_every_record_is_in_exactly_half_of_the_models_the_count_gives_the_answer_away():
    """The remaining count is one less for members: an attack that rises with the count is wrong every time."""
    assert _in_count_auc(exactly_half) == 0.0
