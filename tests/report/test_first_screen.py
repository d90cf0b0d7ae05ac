"""The first screen: severity follows from interval ends, and every state fits into a few words."""

from dataclasses import replace

import pytest
from tests.report.test_words import CASES

from example_results import at_chance, leaking, quiet, with_headline
from guestlist import Estimate
from guestlist._baseline.baseline import Baseline
from guestlist._findings.attacks import Rate
from guestlist._report.first_screen import PEOPLE, first_screen
from guestlist._report.severity import (
    CANNOT_TELL,
    HIGH,
    LOW,
    MODERATE,
    NONE_FOUND,
    ORDER,
    RULES,
    audit_severity,
)


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
    assert screen.rule == RULES[screen.severity]
    assert len(screen.steps) <= 3
    assert screen.worst.severity == screen.severity


def test_one_hundred_icons_show_the_interval():
    identified = first_screen(with_tpr(0.05)).worst.identified
    assert identified is not None
    assert (identified.low, identified.number, identified.high) == (5, 7, 9)
    assert len(identified.icons) == PEOPLE
    assert identified.icons.count("full") == 5
    assert identified.icons.count("half") == 4
