"""Calibration: counted by hand, intervals that hold the truth, and the published answers."""

import numpy as np
import pytest

from guestlist.risks import at_thresholds, calibration, risk_score
from oracles_risks import modified_entropy


def test_counted_by_hand():
    risks = np.array([0.11, 0.19, 0.15, 0.95, 1.0, 1.0, np.nan])
    member = np.array([False, True, False, True, True, False, True])
    found = calibration(risks, member)
    low, high = found.bins
    assert (low.records, high.records) == (3, 3)
    assert (low.risk, high.risk) == pytest.approx((0.15, 2.95 / 3))
    assert (low.share.value, high.share.value) == pytest.approx((1 / 3, 2 / 3))
    off = ((1 / 3 - 0.15) ** 2 + (2 / 3 - 2.95 / 3) ** 2) / 2
    assert found.rmse.value == pytest.approx(off**0.5)
    assert low.share.low < 1 / 3 < low.share.high


def test_shares_are_weighted_to_the_prior():
    """3 of 10 members and 1 of 40 non-members in a bin: at a prior of 0.2, 0.06 / (0.06 + 0.02)."""
    member = np.arange(50) < 10
    risks = np.where(np.isin(np.arange(50), [0, 1, 2, 10]), 0.75, 0.05)
    found = calibration(risks, member, prior=0.2)
    assert found.bins[1].share.value == pytest.approx(0.75)
    (row,) = at_thresholds(risks, member, (0.5,), prior=0.2)
    assert (row.precision.value, row.recall.value) == pytest.approx((0.75, 0.3))
    nobody, half = at_thresholds(risks, member, (0.8, 0.7))
    assert np.isnan(nobody.precision.value)
    assert nobody.recall.value == 0
    assert half.precision.value == pytest.approx(0.3 / (0.3 + 0.025))


def test_without_both_kinds_it_is_withheld():
    assert np.isnan(calibration(np.ones(3), np.ones(3, dtype=bool)).rmse.value)
    (row,) = at_thresholds(np.ones(3), np.ones(3, dtype=bool), (0.5,))
    assert np.isnan(row.precision.value)
    with pytest.raises(ValueError, match="only probabilities"):
        calibration(np.array([2.0, 0.0]), np.array([True, False]))


@pytest.mark.parametrize(
    ("slope", "records"), [(1.0, 100), (1.0, 2000), (0.7, 300), (0.4, 2000)], ids=["right", "many", "off", "far off"]
)
def test_the_interval_holds_the_true_distance(slope, records):
    """Of ten risks, each with a chance of membership that is ``slope`` times as far from one half."""
    rng = np.random.default_rng(records)
    risk = np.linspace(0.05, 0.95, 10)
    chance = 0.5 + slope * (risk - 0.5)
    held, widths = [], []
    for _ in range(300):
        drawn = rng.integers(10, size=records)
        found = calibration(risk[drawn], rng.random(records) < chance[drawn]).rmse
        truth = np.sqrt(np.square(chance - risk)[drawn].mean())
        held.append(found.low <= truth <= found.high)
        widths.append(found.high - found.low)
    assert np.mean(held) >= 0.95
    assert np.mean(widths) < 4.3 / np.sqrt(records)  # two sides of sqrt(18.3 / 4 / records) at most


@pytest.mark.parametrize("defended", ["", "defended_"])
def test_a_shadow_of_half_the_records_does_not_teach_probabilities(defended, real_data):
    """Published Location30 answers: the score is .24 off (Song & Mittal's own targets: .05 to .09)."""
    arrays = np.load(real_data("location30_predictions.npz"))
    said, labels, member = {}, {}, {}
    for name in ("target", "shadow"):
        labels[name], member[name] = arrays[f"{name}_labels"].astype(int), arrays[f"{name}_member"].astype(bool)
        said[name] = np.array(modified_entropy(arrays[f"{name}_{defended}probs"].astype(float), labels[name]))

    def off(teacher):
        known = {"known_values": said[teacher], "known_labels": labels[teacher], "known_member": member[teacher]}
        return calibration(risk_score(said["target"], labels["target"], **known), member["target"]).rmse

    if not defended:
        assert round(off("shadow").value, 2) == 0.24
    assert off("shadow").low > 0.09
    assert off("target").value < 0.05
