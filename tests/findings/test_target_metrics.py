import json

import numpy as np
import pytest
from sklearn.metrics import r2_score

from guestlist import Results
from guestlist._report import prose
from guestlist._report.page import report_page
from guestlist.testing import evaluate_case, leaking_case
from simulated_cases import regression_case


@pytest.mark.slow
def test_a_classifier_has_accuracies():
    case = leaking_case()
    metrics = evaluate_case(case).subject
    correct = case.view.target("correct")
    assert metrics.accuracy_members == correct[case.truth.member].mean()
    assert metrics.accuracy_nonmembers == correct[~case.truth.member].mean()
    assert metrics.r2_members is None
    assert metrics.rmse_nonmembers is None


def test_a_regression_model_has_errors_and_r2(snapshot):
    case = regression_case()
    results = evaluate_case(case)
    metrics, member = results.subject, case.truth.member
    y, residual = case.records["label"].astype(float).to_numpy(), case.view.target("residual")
    assert metrics.r2_members == pytest.approx(r2_score(y[member], (y - residual)[member]))
    assert metrics.rmse_nonmembers == pytest.approx(np.sqrt(np.mean(residual[~member] ** 2)))
    assert metrics.accuracy_members is None
    snapshot(prose("audit.fit", results.subject))
    assert f"R² {metrics.r2_members:.3f} and {metrics.r2_nonmembers:.3f}" in prose("audit.fit", results.subject)
    source = report_page(results)
    assert prose("audit.fit", results.subject) in source
    assert "<bdi>regression</bdi>" in source
    assert Results.from_document(json.loads(json.dumps(results.document(), allow_nan=False))).subject == metrics


def test_labels_that_are_all_equal_have_no_r2():
    case = regression_case()
    case.records["label"] = "3.0"
    metrics = evaluate_case(case).subject
    assert metrics.r2_members is None
    assert metrics.rmse_members > 0
