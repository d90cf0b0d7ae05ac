"""Test that the risk of each listed record increased, and that its columns equal those of the references."""

import numpy as np
import pytest
from benchmarks.error_rates.compare import two_audits

import guestlist as gl
from guestlist._findings.records import record_table
from guestlist._kernels.moments import moments
from guestlist.risks import stability
from guestlist.risks.memorisation import effects
from guestlist.testing import case_of, gaussian_simulation


@pytest.mark.slow
def test_the_list_of_risen_risks_controls_the_false_discovery_rate():
    false, true = [], []
    for k in range(15):
        (pair,) = gl.compare(two_audits("smooth", 600, np.random.default_rng([9, k]), rise=40))
        risen = {f"r{2 * i}" for i in range(40)}
        named = set(pair.risk_changes.rose)
        false.append(len(named - risen) / max(len(named), 1))
        true.append(len(named & risen) / 40)
    assert np.mean(false) < 0.16  # q is 0.1
    assert np.mean(true) > 0.3


def test_the_largest_change_is_first_and_only_members_are_listed():
    audits = two_audits("smooth", 1000, np.random.default_rng(3), rise=60)
    (pair,) = gl.compare(audits)
    a, b = (audit.records.set_index("id") for audit in audits.values())
    far = (b["mu_estimate"] - a["mu_estimate"]) / np.hypot(a["mu_error"], b["mu_error"])
    named = far[list(pair.risk_changes.rose)]
    assert len(named) > 5
    assert named.is_monotonic_decreasing
    assert a.loc[list(pair.risk_changes.rose), "member"].all()
    assert named.min() > far[a["member"] & ~far.index.isin(pair.risk_changes.rose)].max()
    (turned,) = gl.compare(dict(reversed(audits.items())))
    assert turned.risk_changes.fell == pair.risk_changes.rose


def test_without_a_difference_between_halves_there_is_no_estimate():
    audits = two_audits("smooth", 200, np.random.default_rng(4), rise=20)
    for audit in audits.values():
        audit.records["mu_halves"] = np.nan
    (pair,) = gl.compare(audits)
    assert (pair.risk_changes.rose, pair.risk_changes.tested) == ((), 100)


def test_halves_are_every_second_reference():
    case = case_of(gaussian_simulation(1.0, records=200, models=17, log_deviation_sd=0.5))
    result = stability(case)
    margin, member = case.view.reference("margin"), case.view.reference_member
    estimates = []
    for k in (0, 1):
        half = effects(moments(margin[k::2], member[k::2]), moments(margin[k::2], ~member[k::2]))
        with np.errstate(divide="ignore"):  # a record that all references of a half trained on
            estimates.append((half.unbiased, 1 / half.size + half.unbiased**2 / (2 * half.dof)))
    (a, u), (b, v) = estimates
    with np.errstate(invalid="ignore"):
        expected = (b - a) / np.sqrt(u + v)
    assert result.halves == pytest.approx(expected, nan_ok=True)
    known = result.halves[~np.isnan(result.halves)]
    assert len(known) > 150
    assert np.std(known) == pytest.approx(1.0, abs=0.2)
    table = record_table(case)
    assert {"mu_estimate", "mu_error", "mu_halves"} <= set(table)
    assert np.isnan(table["mu_estimate"]).equals(np.isnan(table["mu_error"]))
