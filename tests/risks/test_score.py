"""The privacy risk score: equal to a plain transcription, and where the value is known."""

from dataclasses import replace

import numpy as np
import pytest

import guestlist as gl
from guestlist._report.page import report_page
from guestlist.metrics import auc
from guestlist.risks import RISKS, LogHistogram, risk_score, risks_of
from guestlist.testing import case_of, gaussian_simulation, leaking_case
from oracles_risks import modified_entropy, risk_scores
from simulated_cases import regression_case


@pytest.fixture(scope="module", params=["", "defended_"], ids=["undefended", "defended"])
def published(request, real_data):
    """Outputs, labels and members of the published target and shadow, and modified entropies by hand."""
    arrays = np.load(real_data("location30_predictions.npz"))
    parts = {}
    for name in ("target", "shadow"):
        outputs = arrays[f"{name}_{request.param}probs"].astype(np.float64)
        labels, member = arrays[f"{name}_labels"].astype(int), arrays[f"{name}_member"].astype(bool)
        parts[name] = (gl.Predictions(outputs, labels, member), np.array(modified_entropy(outputs, labels)))
    return parts


@pytest.mark.slow
@pytest.mark.parametrize("prior", [0.5, 0.1])
@pytest.mark.every_third
def test_published_outputs_give_the_scores_of_a_plain_transcription(published, prior):
    (target, outputs), (shadow, known) = published["target"], published["shadow"]
    records = gl.audit_predictions(target, shadow=shadow, attacks=["mentr"], prior=prior, baseline=False).records
    expected = risk_scores(outputs, target.labels, known, shadow.labels, shadow.member, prior=prior)
    np.testing.assert_allclose(records["risk_risk_score"], expected, rtol=1e-12)
    scores = risk_scores(outputs, target.labels, outputs, target.labels, target.member, prior=prior)
    np.testing.assert_allclose(records["risk_risk_score_own"], scores, rtol=1e-12)


@pytest.mark.slow
def test_a_shadow_of_half_the_records_is_flagged(published):
    target, shadow = published["target"][0], published["shadow"][0]
    results = gl.audit_predictions(target, shadow=shadow, attacks=["mentr"], baseline=False)
    check = results.check("GL105")
    assert (check.state, check.values["target"], check.values["references"]) == ("issue", 1000, 500)
    assert "1000 members of the target and 500 members of the shadow" in report_page(results)
    audited_results = gl.audit_predictions(target, shadow=target, attacks=["mentr"], baseline=False)
    assert audited_results.check("GL105").state == "passed"


@pytest.mark.slow
def test_a_plain_use_of_numpy_is_there_too(published):
    """Its edges' ends are powers of ten, which are not always the smallest and the largest value."""
    (target, outputs), (shadow, known) = published["target"], published["shadow"]
    about = {"known_values": known, "known_labels": shadow.labels, "known_member": shadow.member}
    scores = risk_score(outputs, target.labels, **about, histogram=LogHistogram(every=False))
    expected = risk_scores(outputs, target.labels, known, shadow.labels, shadow.member, every=False)
    np.testing.assert_allclose(scores, expected, rtol=1e-12)


def test_rounding_omits_no_record():
    known = {"known_values": np.array([0.1, 0.3, 0.3]), "known_member": np.array([True, True, False])}
    known["known_labels"], query = np.zeros(3, int), (np.array([0.3]), np.zeros(1, int))
    assert risk_score(*query, **known) == pytest.approx(1 / 3)
    assert risk_score(*query, **known, histogram=LogHistogram(every=False)) == 1  # 10 ** log10(0.3) is less than 0.3


def test_several_references_and_records_that_were_not_evaluated():
    case = case_of(gaussian_simulation(1.0, records=80, models=4, seed=2), ("loss",), population=10, prior=0.3)
    silent = np.random.default_rng(3).random((4, 80)) < 0.1
    values = {name: np.where(silent, np.nan, matrix) for name, matrix in case.view.values.items()}
    case = replace(case, view=replace(case.view, values=values)).scored()
    mentr, member, labels = values["mentr"], case.view.reference_member, case.view.labels
    known = [(mentr[k + 1, i], labels[i], member[k, i]) for k in range(3) for i in range(80) if not silent[k + 1, i]]
    evaluated = ~silent[0]
    risks = risks_of(case)
    expected = risk_scores(mentr[0][evaluated], labels[evaluated], *zip(*known, strict=True), prior=0.3)
    np.testing.assert_allclose(risks["risk_score"][evaluated], expected, rtol=1e-12)
    np.testing.assert_array_equal(np.isnan(risks["risk_score"]), silent[0])
    np.testing.assert_array_equal(np.isnan(risks["risk_score_own"]), silent[0] | (np.arange(80) >= 70))


def test_in_a_bin_it_is_the_posterior():
    """One class, bins that hold 3 of 4 members and 1 of 2 non-members: prior 0.2 gives 0.15 / (0.15 + 0.4)."""
    values, member = np.array([1.0, 1.0, 1.0, 9.0, 1.0, 9.0]), np.arange(6) < 4
    known = {"known_values": values, "known_labels": np.zeros(6, int), "known_member": member}
    scores = risk_score(np.array([0.0, 2.0, 6.0, 50.0, np.nan]), np.zeros(5, int), **known, prior=0.2)
    low, high = 0.15 / (0.15 + 0.4), 0.05 / (0.05 + 0.4)
    np.testing.assert_allclose(scores, [low, low, high, high, np.nan])


def test_a_value_half_way_between_full_bins_takes_the_lower_one():
    known = {"known_values": np.array([1.0, 1.0, 1e5, 1e5]), "known_member": np.array([True, True, True, False])}
    scores = risk_score(np.array([500.0]), np.zeros(1, int), known_labels=np.zeros(4, int), **known)
    assert scores == [1.0]


def test_a_class_of_one_kind_takes_the_histogram_of_all():
    known = {"known_values": np.array([1.0, 9.0, 1.0, 9.0, 9.0]), "known_labels": np.array([0, 0, 1, 0, 2])}
    known["known_member"] = np.array([True, False, True, False, True])
    scores = risk_score(np.array([1.0, 1.0, 9.0]), np.array([1, 3, 1]), **known)
    np.testing.assert_allclose(scores, [1.0, 1.0, (1 / 3) / (1 / 3 + 1)])
    one_kind = {**known, "known_member": np.ones(5, dtype=bool)}
    assert np.isnan(risk_score(np.array([1.0]), np.zeros(1, int), **one_kind)).all()


def test_all_known_values_equal():
    for value in (0.0, 0.3, 1 / 3, 7.0):
        known = {"known_values": np.full(3, value), "known_member": np.array([True, True, False])}
        scores = risk_score(np.array([0.0, value, 99.0]), np.zeros(3, int), known_labels=np.zeros(3, int), **known)
        np.testing.assert_allclose(scores, 0.5)


def test_wrong_options_are_refused():
    with pytest.raises(ValueError, match="bins=0"):
        LogHistogram(0)
    known = {name: np.zeros(0) for name in ("known_values", "known_labels", "known_member")}
    with pytest.raises(ValueError, match="prior=1"):
        risk_score(np.zeros(1), np.zeros(1), **known, prior=1)


def test_what_it_takes():
    assert {"risk_score", "risk_score_own"} <= set(risks_of(leaking_case()))
    alone = case_of(gaussian_simulation(1.0, records=60, models=1), ("loss",))
    assert set(risks_of(alone)) == {"risk_score_own", "loss_tail"}
    assert not RISKS["risk_score_own"].possible(regression_case())


def test_members_score_higher_where_there_is_a_leak():
    case = leaking_case(records=2000)
    for name in ("risk_score", "risk_score_own"):
        assert auc(risks_of(case)[name], case.truth.member).low > 0.6, name
    nothing = case_of(gaussian_simulation(0.0, records=2000, models=11), ("loss",))
    assert abs(auc(risks_of(nothing)["risk_score"], nothing.truth.member).value - 0.5) < 0.04
