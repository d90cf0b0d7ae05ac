"""The first screen: severity follows from interval ends, and every state fits into a few words."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.report.test_wording import CASES

from example_results import at_chance, leaking, quiet, with_headline
from guestlist import Estimate
from guestlist._baseline.baseline import Baseline
from guestlist._findings.attacks import Rate
from guestlist._report.first_screen import PEOPLE, first_screen
from guestlist._report.page import report_page
from guestlist._report.severity import (
    CANNOT_TELL,
    HIGH,
    HIGH_RATIO,
    LOW,
    MODERATE,
    MODERATE_AUC,
    MODERATE_RATIO,
    NONE_FOUND,
    ORDER,
    POWER_AUC,
    RULES,
    audit_severity,
)

ROOT = Path(__file__).parents[2]


class Words(HTMLParser):
    """Numbers of words of a page: all of them, and those outside collapsed parts."""

    def __init__(self, source: str):
        super().__init__()
        self.every = 0
        self.open = 0
        self.hidden = 0
        self.collapsed = 0
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        self.hidden += tag in ("script", "style", "title", "svg")
        self.collapsed += tag == "details"

    def handle_endtag(self, tag):
        self.hidden -= tag in ("script", "style", "title", "svg")
        self.collapsed -= tag == "details"

    def handle_data(self, data):
        if not self.hidden:
            words = len(data.split())
            self.every += words
            self.open += words * (not self.collapsed)


def with_tpr(low: float):
    """Return a leak whose TPR at an FPR of 1 % has this lower end."""
    tpr = Estimate(low + 0.02, low, low + 0.04)
    return with_headline(
        leaking(), rates=(Rate(0.01, tpr, Estimate(0.9, 0.8, 0.95), 0.5, "good", 0.02),), auc=Estimate(0.55, 0.52, 0.58)
    )


@pytest.mark.parametrize(
    ("low", "severity"), [(0.1, HIGH), (0.099, MODERATE), (0.02, MODERATE), (0.0199, LOW), (0.011, LOW)]
)
def test_severity_follows_the_lower_end_of_the_tpr(low, severity):
    assert audit_severity(with_tpr(low)) == severity


def test_a_leak_on_average_is_moderate_only_if_the_auc_is_far_above_chance():
    base = leaking()
    rates = at_chance(base.outcomes[0]).rates
    assert audit_severity(with_headline(base, rates=rates, auc=Estimate(0.63, 0.6, 0.66))) == MODERATE
    assert audit_severity(with_headline(base, rates=rates, auc=Estimate(0.63, 0.599, 0.66))) == LOW


def test_the_model_is_not_the_cause_if_features_were_not_compared():
    for inputs, cause in ((("features", "label"), "Likely the model"), (("label",), "Unclear: the features")):
        baseline = Baseline(0.51, 0.4, 400, 0.55, 600, 600, 600, columns=4, inputs=inputs)
        assert first_screen(replace(leaking(), baseline=baseline)).facts["Cause"].startswith(cause)


def test_none_found_takes_power():
    assert audit_severity(with_headline(quiet(), detectable_auc=0.6)) == NONE_FOUND
    assert audit_severity(with_headline(quiet(), detectable_auc=0.61)) == CANNOT_TELL
    assert audit_severity(with_headline(quiet(), detectable_auc=float("nan"))) == CANNOT_TELL


def test_sets_that_differ_without_the_model_leave_the_severity_open():
    same = Baseline(0.52, 0.5, 399, 0.55, 500, 500, 1000, 5, ("features", "label"))
    assert audit_severity(replace(leaking(), baseline=same)) == HIGH
    assert audit_severity(replace(leaking(), baseline=replace(same, p_value=0.01))) == CANNOT_TELL


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_every_state_fits_into_150_words(case):
    screen = first_screen(case())
    texts = [
        screen.question,
        screen.severity,
        screen.rule,
        *(text for row in screen.attackers for text in (row.who, row.verdict, row.evidence)),
        *(text for fact in screen.facts.items() for text in fact),
        *screen.steps,
    ]
    assert sum(len(text.split()) for text in texts) <= 150
    assert screen.severity in ORDER
    assert (screen.rule == RULES[screen.severity]) == (
        screen.severity != CANNOT_TELL
    )  # or else the reason that applies
    assert len(screen.steps) <= 3
    assert screen.worst.severity == screen.severity


def test_one_hundred_icons_show_the_interval():
    identified = first_screen(with_tpr(0.05)).worst.identified
    assert identified is not None
    assert (identified.low, identified.number, identified.high) == (5, 7, 9)
    assert len(identified.icons) == PEOPLE
    assert identified.icons.count("full") == 5
    assert identified.icons.count("half") == 4


def test_the_docs_define_every_severity():
    page = (ROOT / "docs" / "report.md").read_text("utf-8")
    for name in ORDER:
        assert f"| {name} |" in page
    for number in (HIGH_RATIO, MODERATE_RATIO, MODERATE_AUC, POWER_AUC):
        assert re.search(rf"\b{re.escape(str(number))}\b", page)


def test_the_report_is_short():
    """These results have tables of about the same size as the demo."""
    words = Words(report_page(leaking()))
    assert words.open <= 900
    assert words.every <= 2200


def test_text_icons_follow_the_interval():
    few = first_screen(with_tpr(0.05)).worst.identified
    assert few.row == "●●●●●◐◐◐◐" + "○" * 16 + "…"
    many = first_screen(with_tpr(0.5)).worst.identified
    assert many.row.count("●") == 12
    assert len(many.row) == 25
