"""Quantile regression as an attack: by hand, without a leak, and p-values that hold."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import guestlist as gl
from guestlist._store import open_store
from guestlist._views import Evidence, QuantilesView, Signals
from guestlist.attacks.metrics import quantile, quantile_p_value
from guestlist.testing import gaussian_simulation

pytestmark = pytest.mark.usefixtures("in_the_order_given")


def test_by_hand():
    view = QuantilesView(np.array([3.0, 1.0, 2.0, 4.0]), np.array([1.0, 1.0, np.nan, 5.0]), np.array([-2.0, -1.0, 0.0]))
    values = {"margin": np.zeros((1, 4))}
    signals = Signals(values, np.zeros((0, 4), bool), np.zeros(4, int), Evidence({"quantiles": view}))
    np.testing.assert_array_equal(quantile(signals), [2, 0, np.nan, -1])
    np.testing.assert_array_equal(quantile_p_value(signals), [1 / 4, 2 / 4, np.nan, 3 / 4])


def test_p_values_of_nonmembers_are_valid_in_simulations():
    simulation = gaussian_simulation(1.0, models=9, seed=3, log_deviation_sd=0.5)
    p_values = np.concatenate([quantile_p_value(simulation.facing(k))[~simulation.member[k]] for k in range(9)])
    for level in (0.01, 0.05, 0.25):
        assert abs((p_values <= level).mean() - level) < 0.15 * level + 0.001


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::guestlist.AuditWarning")
def test_p_values_of_nonmembers_hold_on_trained_models(tmp_path):
    """A share of alpha of the unknown non-members has a p-value of at most alpha; of members, more."""
    rng = np.random.default_rng(0)
    inside, outside, learnt = [], [], 0
    for seed in range(8):
        y = rng.integers(3, size=1000)
        x = rng.normal(size=(1000, 4)) + 1.2 * np.eye(4)[y]
        model = RandomForestClassifier(20, min_samples_leaf=2, random_state=seed).fit(x[:200], y[:200])
        folder, sides = tmp_path / str(seed), ((x[:200], y[:200]), (x[200:], y[200:]))
        gl.audit(
            model,
            *sides,
            references=0,
            attacks=["quantile"],
            evidence=[gl.evidence.Quantiles()],
            folder=folder,
            seed=seed,
            baseline=False,
        )
        store = open_store(folder)
        signals, view = store.rotation().facing(0), gl.evidence.Quantiles.read(store)
        p_values = quantile_p_value(replace(signals, evidence=Evidence({"quantiles": view})))
        learnt += not view.degenerate
        inside.append(p_values[:200])
        outside.append(p_values[200:][~np.isnan(p_values[200:])])
    assert learnt >= 4  # or else this would be about constants
    inside, outside = np.concatenate(inside), np.concatenate(outside)
    assert len(outside) == 8 * 400
    for level in (0.05, 0.1, 0.25, 0.5):
        error = np.sqrt(level * (1 - level) * (1 / 3200 + 1 / 1600))
        assert (outside <= level).mean() < level + 3 * error
        assert (outside <= level).mean() > 0.6 * level - 3 * error  # ties make it cautious, not blind
    assert (inside <= 0.1).mean() > 1.5 * (outside <= 0.1).mean()
