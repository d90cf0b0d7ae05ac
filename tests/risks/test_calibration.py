"""Calibration: counted by hand, intervals that cover the truth, and the published outputs."""

import numpy as np
import pytest

import guestlist as gl
from guestlist._diagnostics import attacks
from guestlist._findings import risk_distribution
from guestlist._report.page import report_page
from guestlist.risks import at_prior, at_thresholds, calibration, calibration_at_priors, risk_score
from guestlist.testing import case_of, gaussian_simulation, leaking_case
from oracles_risks import modified_entropy


def test_counted_by_hand():
    risks = np.array([0.11, 0.19, 0.15, 0.95, 1.0, 1.0, np.nan])
    member = np.array([False, True, False, True, True, False, True])
    result = calibration(risks, member)
    low, high = result.bins
    assert (low.records, high.records) == (3, 3)
    assert (low.risk, high.risk) == pytest.approx((0.15, 2.95 / 3))
    assert (low.share.value, high.share.value) == pytest.approx((1 / 3, 2 / 3))
    off = ((1 / 3 - 0.15) ** 2 + (2 / 3 - 2.95 / 3) ** 2) / 2
    assert result.rmse.value == pytest.approx(off**0.5)
    assert low.share.low < 1 / 3 < low.share.high


def test_shares_are_weighted_to_the_prior():
    """3 of 10 members and 1 of 40 non-members in a bin: at a prior of 0.2, 0.06 / (0.06 + 0.02)."""
    member = np.arange(50) < 10
    risks = np.where(np.isin(np.arange(50), [0, 1, 2, 10]), 0.75, 0.05)
    result = calibration(risks, member, prior=0.2)
    assert result.bins[1].share.value == pytest.approx(0.75)
    (row,) = at_thresholds(risks, member, (0.5,), prior=0.2)
    assert (row.precision.value, row.recall.value) == pytest.approx((0.75, 0.3))
    no_record, half = at_thresholds(risks, member, (0.8, 0.7))
    assert np.isnan(no_record.precision.value)
    assert no_record.recall.value == 0
    assert half.precision.value == pytest.approx(0.3 / (0.3 + 0.025))


def test_without_both_kinds_it_is_withheld():
    assert np.isnan(calibration(np.ones(3), np.ones(3, dtype=bool)).rmse.value)
    (row,) = at_thresholds(np.ones(3), np.ones(3, dtype=bool), (0.5,))
    assert np.isnan(row.precision.value)
    with pytest.raises(ValueError, match="only probabilities"):
        calibration(np.array([2.0, 0.0]), np.array([True, False]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("slope", "records"), [(1.0, 100), (1.0, 2000), (0.7, 300), (0.4, 2000)], ids=["right", "many", "off", "far off"]
)
def test_the_interval_holds_the_true_distance(slope, records):
    """Ten risks, each with a membership probability that is ``slope`` times as far from 0.5."""
    rng = np.random.default_rng(records)
    risk = np.linspace(0.05, 0.95, 10)
    chance = 0.5 + slope * (risk - 0.5)
    held, widths = [], []
    for _ in range(300):
        drawn = rng.integers(10, size=records)
        rmse = calibration(risk[drawn], rng.random(records) < chance[drawn]).rmse
        truth = np.sqrt(np.square(chance - risk)[drawn].mean())
        held.append(rmse.low <= truth <= rmse.high)
        widths.append(rmse.high - rmse.low)
    assert np.mean(held) >= 0.95
    assert np.mean(widths) < 4.3 / np.sqrt(records)  # two sides of sqrt(18.3 / 4 / records) at most


@pytest.mark.parametrize("prior", [0.1, 0.5, 0.9])
def test_at_any_prior_the_interval_holds_the_distance_that_thinning_would_tend_to(prior):
    """Five risks; members are distributed over them as 1, 2, 3, 4, 5 and non-members the other way round."""
    rng, risk = np.random.default_rng(8), np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    inside = np.arange(1, 6) / 15
    masses = prior * inside, (1 - prior) * inside[::-1]
    adjusted = at_prior(risk, prior)
    truth = np.sqrt(np.square(masses[0] / sum(masses) - adjusted) @ sum(masses))
    held, values = [], []
    for _ in range(200):
        member = rng.random(500) < 0.6
        drawn = np.where(member, rng.choice(5, p=inside, size=500), rng.choice(5, p=inside[::-1], size=500))
        (errors_by_prior,) = calibration_at_priors(risk[drawn], member, (prior,), bins=100)
        held.append(errors_by_prior.rmse.low <= truth <= errors_by_prior.rmse.high)
        values.append(errors_by_prior.rmse.value)
    assert np.mean(held) >= 0.95
    assert np.median(values) == pytest.approx(truth, abs=0.02)


def test_another_prior_gives_what_the_score_would_have_been_made_for():
    rng = np.random.default_rng(9)
    labels, member = rng.integers(3, size=400), rng.random(400) < 0.5
    known = {"known_values": rng.exponential(2.0 - member), "known_labels": labels, "known_member": member}
    scores = {prior: risk_score(known["known_values"], labels, prior=prior, **known) for prior in (0.5, 0.2)}
    np.testing.assert_allclose(at_prior(scores[0.5], 0.2), scores[0.2])
    np.testing.assert_allclose(at_prior(scores[0.2], 0.5, made_for=0.2), scores[0.5])
    rmses = {
        calibration_at_prior.prior: calibration_at_prior.rmse
        for calibration_at_prior in calibration_at_priors(scores[0.5], member)
    }
    assert list(rmses) == pytest.approx(np.arange(1, 10) / 10)
    assert rmses[0.2] == pytest.approx(calibration(scores[0.2], member, prior=0.2).rmse)
    with pytest.raises(ValueError, match=r"prior=1\.5"):
        at_prior(scores[0.5], 1.5)


@pytest.mark.slow
def test_of_persons_the_interval_holds_the_truth_too():
    """Four equal records of each person: with clusters, the interval is twice as wide."""
    rng, held, bare = np.random.default_rng(10), [], []
    risk = np.linspace(0.05, 0.95, 10)
    for _ in range(200):
        drawn, persons = rng.integers(10, size=75).repeat(4), np.arange(300) // 4
        member = (rng.random(75) < risk[drawn[::4]]).repeat(4)
        wide, narrow = (calibration(risk[drawn], member, persons=clusters).rmse for clusters in (persons, None))
        held.append(wide.low == 0)
        bare.append(narrow.low == 0)
    assert np.mean(held) >= 0.95
    assert np.mean(bare) < 0.9


# -- in an audit -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_classifiers_are_compared_with_the_risk_score():
    case = case_of(gaussian_simulation(1.5, records=600, models=9, seed=1), ("loss", "nn_nasr"))
    calibrated = {row.score: row for row in risk_distribution.find_calibrated(case)}
    assert list(calibrated) == ["risk_score", "nn_nasr"]
    probability = 1 / (1 + np.exp(-case.scores["nn_nasr"]))
    assert calibrated["nn_nasr"].calibration.rmse == calibration(probability, case.truth.member).rmse
    assert all(len(value.priors) == 9 for value in calibrated.values())


def test_a_score_from_references_like_the_target_passes():
    """And without references there is no such score."""
    assert attacks.uncalibrated(leaking_case()).state == "passed"
    assert (
        attacks.uncalibrated(case_of(gaussian_simulation(1.0, records=200, models=1), ("loss",))).state
        == "not applicable"
    )


@pytest.mark.slow
def test_the_report_warns_that_the_published_shadow_gives_no_calibrated_probabilities(real_data):
    published = np.load(real_data("location30_predictions.npz"))
    target, shadow = (
        gl.Predictions(
            published[f"{name}_probs"].astype(float),
            published[f"{name}_labels"].astype(int),
            published[f"{name}_member"].astype(bool),
        )
        for name in ("target", "shadow")
    )
    results = gl.audit_predictions(target, shadow=shadow)
    check = results.check("GL121")
    assert check.state == "issue"
    assert round(check.values["rmse"], 2) == 0.24
    made = report_page(results)
    assert "The privacy risk score differs by 0.237 (0.196 to 0.277)" in made
    assert "(GL105)" in made


@pytest.mark.parametrize("defended", ["", "defended_"])
def test_a_shadow_of_half_the_records_gives_no_calibrated_probabilities(defended, real_data):
    """Published Location30 outputs: the score is .24 off (Song & Mittal's own targets: .05 to .09)."""
    arrays = np.load(real_data("location30_predictions.npz"))
    outputs, labels, member = {}, {}, {}
    for name in ("target", "shadow"):
        labels[name], member[name] = arrays[f"{name}_labels"].astype(int), arrays[f"{name}_member"].astype(bool)
        outputs[name] = np.array(modified_entropy(arrays[f"{name}_{defended}probs"].astype(float), labels[name]))

    def off(teacher):
        known = {"known_values": outputs[teacher], "known_labels": labels[teacher], "known_member": member[teacher]}
        return calibration(risk_score(outputs["target"], labels["target"], **known), member["target"]).rmse

    if not defended:
        assert round(off("shadow").value, 2) == 0.24
    assert off("shadow").low > 0.09
    assert off("target").value < 0.05


@pytest.mark.parametrize("prior", [0.01, 0.1, 0.3, 0.8, 0.9])
def test_a_certain_score_stays_certain_at_any_prior(prior):
    for made_for in (0.1, 0.4, 0.5, 0.7, 0.8):
        assert at_prior(np.array([0.0, 1.0]), prior, made_for=made_for).tolist() == [0.0, 1.0]
