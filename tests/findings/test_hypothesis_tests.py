"""Hypothesis tests are evaluated at attainable levels, and the audit reports the realised rates."""

import json
from dataclasses import replace

import numpy as np
import pytest

import guestlist as gl
from guestlist._findings import FORMAT
from guestlist._findings.hypothesis_tests import ALPHAS, levels_of, smallest_p_value
from guestlist._views import Signals
from guestlist.attacks import ATTACKS
from guestlist.errors import FolderError
from guestlist.metrics import proportion
from guestlist.testing import awkward_simulation, case_of, gaussian_simulation, target_of

TESTS = {name: attack for name, attack in ATTACKS.items() if attack.p_value}


def with_population(signals: Signals, share: float = 0.25):
    """The signals with the first records as a population, and a mask of the evaluated records."""
    evaluated = np.arange(len(signals.labels)) >= share * len(signals.labels)
    return replace(signals, population=~evaluated), evaluated


@pytest.fixture(scope="module")
def simulated():
    signals, member = target_of(gaussian_simulation(1.0, records=1600, models=17, seed=3))
    signals, evaluated = with_population(signals)
    # The population holds non-members only, as those of an audit do.
    loss = signals.values["loss"].copy()
    loss[0, ~evaluated & member] = np.nan
    return replace(signals, values={**signals.values, "loss": loss}), evaluated, member


@pytest.mark.parametrize("name", TESTS)
def test_levels_are_counted_one_by_one(name, simulated):
    signals, evaluated, member = simulated
    p_values = TESTS[name].p_value(signals)
    for level in levels_of(TESTS[name], p_values, signals, evaluated, member[evaluated]):
        for rate, kind in ((level.fpr, False), (level.tpr, True)):
            side = [p_values[i] for i in np.flatnonzero(evaluated) if member[i] == kind and not np.isnan(p_values[i])]
            assert rate == proportion(sum(p <= level.alpha for p in side), len(side))


@pytest.mark.parametrize("name", TESTS)
def test_valid_tests_have_their_nominal_level_in_simulations(name, simulated):
    signals, evaluated, member = simulated
    levels = levels_of(TESTS[name], TESTS[name].p_value(signals), signals, evaluated, member[evaluated])
    assert levels
    for level in levels:
        outside = int((~member[evaluated]).sum())  # each has a p-value here
        assert proportion(round(level.fpr.value * outside), outside, confidence=0.999).low <= level.alpha
        assert level.tpr.value > level.fpr.value


@pytest.mark.parametrize("name", TESTS)
def test_no_p_value_is_below_the_smallest(name):
    signals, evaluated = with_population(target_of(awkward_simulation(records=200, models=17))[0])
    smallest = smallest_p_value(TESTS[name], signals, evaluated)
    assert smallest <= np.nanmin(TESTS[name].p_value(signals)[evaluated])


def test_a_share_of_eight_models_reaches_one_ninth():
    signals, member = target_of(gaussian_simulation(1.0, records=300, models=9))
    signals = replace(signals, reference_member=np.zeros_like(signals.reference_member))
    everyone = np.ones(300, dtype=bool)
    attack = ATTACKS["reference_empirical"]
    assert smallest_p_value(attack, signals, everyone) == 1 / 9
    levels = levels_of(attack, attack.p_value(signals), signals, everyone, member)
    assert [level.alpha for level in levels] == [0.3]
    smooth = ATTACKS["reference"]
    assert [v.alpha for v in levels_of(smooth, smooth.p_value(signals), signals, everyone, member)] == list(ALPHAS)


def test_a_level_below_the_share_of_nonmembers_with_zero_loss_is_unreachable():
    signals, member = target_of(gaussian_simulation(1.0, records=400, models=9))
    signals, evaluated = with_population(signals)
    loss = signals.values["loss"].copy()
    loss[0, :5] = 0.0  # of a population of 100
    attack, signals = ATTACKS["loss"], replace(signals, values={**signals.values, "loss": loss})
    assert smallest_p_value(attack, signals, evaluated) == 6 / 101
    levels = levels_of(attack, attack.p_value(signals), signals, evaluated, member[evaluated])
    assert [level.alpha for level in levels] == [0.1, 0.3]


def test_a_test_without_p_values_is_none():
    case = case_of(gaussian_simulation(1.0, records=100, models=9), ("loss", "entropy", "shadow"))
    assert set(case.scores.p_values) == {"loss", "shadow"}  # loss compares with a population, which this case lacks
    assert set(case.p_values) == {"shadow"}


@pytest.fixture(scope="module")
def audited(tree, blobs, tmp_path_factory):
    rng = np.random.default_rng(2)
    population = rng.normal(size=(150, 5)), rng.integers(3, size=150)
    folder = tmp_path_factory.mktemp("levels") / "a"
    names = ["loss", "entropy", "shadow", "reference_empirical"]
    return gl.audit(tree, *blobs, population, references=8, jobs=1, attacks=names, folder=folder), folder


def test_an_audit_reports_levels_agreement_and_p_values(audited):
    results, folder = audited
    again = gl.read_results(folder)
    assert again.agreement == results.agreement
    assert again.document() == results.document()
    records, table = again.records, again.attacks.set_index("attack")
    assert {"p_loss", "p_shadow", "p_reference_empirical", "p_value"} <= set(records)
    assert "p_entropy" not in records
    outside = records[~records["member"]]
    for name in ("loss", "shadow"):
        assert {0.05, 0.1, 0.3} <= {level.alpha for level in results.levels(name)}
        for level in results.levels(name):
            assert level.fpr.value == np.mean(outside[f"p_{name}"] <= level.alpha)
            assert table.loc[name, f"realised_fpr@{level.alpha:g}"] == level.fpr.value
            assert table.loc[name, f"realised_fpr@{level.alpha:g}_high"] == level.fpr.high
            assert table.loc[name, f"realised_tpr@{level.alpha:g}"] == level.tpr.value
    assert results.levels("entropy") == ()
    assert np.isnan(table.loc["entropy", "realised_fpr@0.05"])


def test_decisions_by_p_value_are_compared_with_decisions_at_a_threshold(audited):
    results, _ = audited
    agreement, records = results.agreement, results.records
    assert agreement.names == ("truth", "loss", "entropy", "shadow", "reference_empirical")
    assert agreement.by_p_value == (False, True, False, True, False)  # a share of eight references never reaches 10 %
    inside = records[records["member"]]
    at = agreement.alpha
    same = ((inside["p_loss"] <= at) == (inside["p_shadow"] <= at)).mean()
    assert agreement.members[1][3] == agreement.members[3][1] == pytest.approx(same, abs=1e-5)
    outside = records[~records["member"]]
    assert agreement.nonmembers[0][1] == pytest.approx((outside["p_loss"] > at).mean(), abs=1e-5)
    assert agreement.nonmembers[0][2] >= 1 - at - 1e-5


@pytest.mark.slow
def test_one_attack_has_no_agreement(tree, blobs):
    results = gl.audit(tree, *blobs, references=0, attacks=["loss"])
    assert results.agreement is None
    assert results.levels("loss") == ()  # no population
    assert "p_loss" not in results.records


def test_results_of_another_format_are_reported_with_advice(audited, tmp_path):
    results, _ = audited
    (tmp_path / "results.json").write_text(json.dumps({**results.document(), "format": 1}))
    with pytest.raises(FolderError, match=rf"has format 1; .* reads format {FORMAT}. Run the audit again in the same"):
        gl.read_results(tmp_path)
