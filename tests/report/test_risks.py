"""The section on risks: which risk ranks best, and the predictive value of flagging every member."""

from dataclasses import replace

import pytest

import guestlist as gl
from example_results import HOSTILE
from guestlist import Results
from guestlist._report.page import report_page
from guestlist._report.sections.risks import risk_value_sentence, risks_section
from guestlist.metrics import WITHHELD
from guestlist.testing import case_of, evaluate_case, gaussian_simulation, leaking_case


@pytest.mark.slow
def test_the_page_reports_predictive_values(snapshot):
    results = evaluate_case(leaking_case(records=2000))
    risks, *others = results.risks
    assert {row.attack for row in results.risks} == {results.headline.name}
    best = max(others, key=lambda row: row.auc.value)
    text = risk_value_sentence(results.risks)
    snapshot(
        text,
        f"{risks.attack}",
        f"{risks.flagged}",
        f"{risks.members:,}",
        f"{len(others)}",
        f"{best.risk}",
        f"{best.auc.value:.3f}",
    )
    made = report_page(results)
    assert text in made
    drawn = risks_section(results).charts["risk-value"]
    assert drawn.y.names == tuple(row.risk for row in results.risks if row.auc.value == row.auc.value)
    assert str(Results.from_document(results.document()).risks) == str(results.risks)  # NaN is not equal to itself


def test_a_risk_that_ranks_by_chance_is_reported(snapshot):
    rows = evaluate_case(case_of(gaussian_simulation(1.0, records=200, models=4), ("loss",))).risks
    by_chance = [replace(row, auc=gl.Estimate(0.52, 0.4, 0.64)) for row in rows]
    snapshot(risk_value_sentence(tuple(by_chance)), "0.520", "0.400", "0.640")
    without_flags = tuple(replace(row, flagged=0, auc=WITHHELD) for row in rows)
    assert "flags 0 of" in risk_value_sentence(without_flags)
    snapshot(risk_value_sentence(without_flags))


@pytest.mark.slow
def test_names_are_escaped():
    results = evaluate_case(leaking_case())
    made = report_page(
        replace(results, risks=tuple(replace(row, attack=HOSTILE, risk=HOSTILE) for row in results.risks))
    )
    assert "<script>alert('x')" not in made


@pytest.mark.slow
def test_shapr_has_its_caveat():
    results = evaluate_case(leaking_case())
    assert "SHAPr" not in report_page(results)
    with_layer = replace(results, risks=(*results.risks, replace(results.risks[1], risk="shapr_first_layer")))
    made = report_page(with_layer)
    for words in ("measures utility", "A memorised outlier"):
        assert words in made
