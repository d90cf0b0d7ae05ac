"""The summary fits a terminal, shows every attack, and cannot be made to speak to the terminal."""

import unicodedata

import pytest

from example_results import hostile, leaking, predictions_only, quiet, reversed_check, with_check
from guestlist._report import diagnostics
from guestlist._report.sections.facts import untested_sentences
from guestlist._report.terminal import summary
from guestlist._util import decimal, single_line


@pytest.mark.parametrize("case", [leaking, quiet, predictions_only])
def test_fits_a_hundred_columns(case):
    assert max(len(row) for row in summary(case()).splitlines()) <= 100


@pytest.mark.slow
@pytest.mark.parametrize("case", [leaking, quiet, predictions_only])
def test_every_attack_has_a_row_with_its_figures(case):
    results = case()
    rows = summary(results).splitlines()
    for finding in results.outcomes:
        mark = "*" if finding.name == results.headline.name else ""
        at = next(i for i, row in enumerate(rows) if row.split()[: 1 + bool(mark)] == [*mark, finding.name])
        assert f"{finding.auc.value:.3f}" in rows[at]
        assert f"{decimal(finding.auc.low, -1)}…{decimal(finding.auc.high, 1)}" in rows[at + 1]


@pytest.mark.slow
def test_checks_and_what_was_not_tested_are_shown():
    results = leaking()
    text = " ".join(summary(results).split())
    assert all(" ".join(row.text.split()) in text for row in diagnostics.reported(results))
    assert all(row.code in text for row in diagnostics.check_lines(results))
    assert all(" ".join(said.split()) in text for said in untested_sentences(results))


@pytest.mark.slow
def test_no_control_characters_and_no_markup():
    text = summary(hostile())
    assert {c for c in text if unicodedata.category(c) in ("Cc", "Cs")} <= {"\n"}
    assert "\u202e" not in text
    named = summary(with_check(leaking(), reversed_check("[red]x[/red] [bold")))
    assert "The attack [red]x[/red] [bold ranks" in " ".join(named.split())


@pytest.mark.slow
def test_repr_is_the_summary():
    assert repr(leaking()) == summary(leaking())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb\tc", "a b c"),
        ("\x1b[2J", "\ufffd[2J"),
        ("\ud800", "\ufffd"),
        ("é\u200dن", "é\u200dن"),
        ("x\u2066y", "x\ufffdy"),
    ],
)
def test_line(text, shown):
    assert single_line(text) == shown
