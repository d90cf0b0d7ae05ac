"""Nominal and realised rates, and agreement of tests: in tables, text and charts, and never only by colour."""

import html
import json
import re
from dataclasses import replace

import pytest
from tests.report.snapshots import plain_text

from example_results import HOSTILE, hostile, leaking, predictions_only, with_levels
from guestlist import Estimate, Results
from guestlist._findings.hypothesis_tests import Level
from guestlist._report.page import page_charts, report_page
from guestlist._report.sections import hypothesis_tests
from guestlist._report.terminal import summary
from guestlist._report.wording import sanitize_results
from guestlist._util import percent

UNSEEN = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.DOTALL)


def visible_text(results) -> str:
    """The visible text of the page."""
    return " ".join(html.unescape(UNSEEN.sub("", report_page(results))).split())


def level(low, high, alpha=0.05):
    return Level(alpha, Estimate((low + high) / 2, low, high), Estimate(0.5, 0.4, 0.6))


def only(*levels):
    """The leaking results in which loss is the only test."""
    return with_levels(with_levels(leaking(), "reference"), "loss", *levels)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(0.051, 0.08, "too many"), (0.05, 0.08, ""), (0.02, 0.05, ""), (0.02, 0.049, "too cautious")],
)
def test_the_verdict_follows_from_the_interval(low, high, verdict):
    results = only(level(low, high))
    summary_text = hypothesis_tests.calibration_summary(results)
    assert ("1 is significantly above the nominal rate" in summary_text) == (verdict == "too many")
    assert ("and 1 below" in summary_text) == (verdict == "too cautious")
    assert ("agrees with its nominal rate" in summary_text) == (verdict == "")
    assert summary_text in visible_text(results)
    assert (hypothesis_tests.exceeded_levels_sentence(results) != "") == (verdict == "too many")


def test_a_test_without_p_values_that_count_has_no_verdict():
    nothing = Estimate(*[float("nan")] * 3)
    results = only(Level(0.05, nothing, nothing))
    assert "agrees with its nominal rate" in hypothesis_tests.calibration_summary(results)
    assert page_charts(sanitize_results(results))["asked-realised"].series[1].y == ()


def test_the_page_shows_every_realised_rate_and_what_cannot_be_reached(snapshot):
    results = leaking()
    section = hypothesis_tests.hypothesis_tests_section(sanitize_results(results))
    snapshot(plain_text(section.body))
    for test in hypothesis_tests.tests_with_levels(results):
        for realised in test.levels:
            assert f"{test.name} {percent(realised.fpr.value)} at {percent(realised.alpha)}" in section.body
    assert section.title in visible_text(results)


@pytest.mark.slow
def test_the_terminal_names_only_the_miscalibrated_tests(snapshot):
    sentence = hypothesis_tests.exceeded_levels_sentence(leaking())
    snapshot(sentence, "reference 10%", "5%")
    assert "loss" not in sentence
    assert sentence in " ".join(summary(leaking(), verbose=True).split()).replace("- ", "")
    assert hypothesis_tests.exceeded_levels_sentence(only(level(0.02, 0.06))) == ""


def test_each_test_is_named_at_its_worst(snapshot):
    results = only(level(0.012, 0.03, alpha=0.01), level(0.08, 0.1), level(0.32, 0.4, alpha=0.3))
    snapshot(hypothesis_tests.exceeded_levels_sentence(results), "loss", "9%", "8%", "10%", "5%")


@pytest.mark.slow
def test_without_tests_there_is_no_section():
    for text in (visible_text(predictions_only()), summary(predictions_only(), verbose=True)):
        assert "calibrated?" not in text
    assert "asked-realised" not in page_charts(sanitize_results(predictions_only()))


def test_a_population_is_only_suggested_if_it_would_help():
    base = with_levels(leaking(), "loss")
    assert hypothesis_tests.missing_population_sentence(base) == ""  # there was one
    assert "needs a population" in hypothesis_tests.missing_population_sentence(
        replace(base, subject=replace(base.subject, population=0))
    )
    assert hypothesis_tests.missing_population_sentence(leaking()) == ""


def test_the_chart_draws_the_table():
    results = sanitize_results(leaking())
    diagonal, *marks = page_charts(results)["asked-realised"].series
    assert diagonal.x == diagonal.y
    assert [mark.name for mark in marks] == ["loss", "reference"]
    assert marks[0].mark != marks[1].mark
    assert marks[0].offset != marks[1].offset  # or one would hide the other
    for mark, finding in zip(marks, hypothesis_tests.tests_with_levels(results), strict=True):
        assert list(zip(mark.x, mark.y, strict=True)) == [(level.alpha, level.fpr.value) for level in finding.levels]
        assert mark.y_ends == tuple((level.fpr.low, level.fpr.high) for level in finding.levels)


@pytest.mark.slow
def test_levels_and_agreement_survive_the_document():
    results = leaking()
    again = Results.from_document(json.loads(json.dumps(results.document(), allow_nan=False)))
    assert again.agreement == results.agreement
    assert again.hypothesis_tests == results.hypothesis_tests
    assert Results.from_document(json.loads(json.dumps(predictions_only().document()))).agreement is None


@pytest.mark.slow
def test_hostile_names_are_text():
    results = sanitize_results(hostile())
    assert len(hypothesis_tests.tests_with_levels(results)) == 2
    source = report_page(hostile())
    section = source[source.index('id="promises"') : source.index('id="distribution"')]
    assert "<script" not in section
    assert "<img" not in section
    assert section.count("&lt;script&gt;") >= 2
    assert HOSTILE not in section
