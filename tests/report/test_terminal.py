"""The summary fits a terminal, shows every attack, and cannot be made to speak to the terminal."""

import unicodedata

import pytest

from example_results import hostile, leaking, predictions_only, quiet, reversed_check, with_check
from guestlist._report import diagnostics
from guestlist._report.sections.facts import untested_sentences
from guestlist._report.terminal import first_sentences, summary, text_table
from guestlist._util import decimal, single_line


@pytest.mark.parametrize("case", [leaking, quiet, predictions_only])
@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("verbose", [False, True])
def test_lines_fit_the_terminal(case, width, verbose):
    lines = summary(case(), verbose=verbose, width=width).splitlines()
    assert [line for line in lines if len(line) > width and "`" not in line] == []


@pytest.mark.parametrize("case", [leaking, quiet, predictions_only])
def test_the_summary_is_at_most_twenty_lines(case):
    assert len(summary(case(), width=80).splitlines()) <= 20


def test_a_table_omits_columns_rather_than_cutting_numbers():
    rows = [
        {"attack": f"attack {i}", "change": f"-0.{i}12345", "interval": f"-0.{i}5 to 0.{i}7", "note": "x" * 25}
        for i in range(3)
    ]
    text = text_table(rows, width=120)
    assert all(cell in text for row in rows for cell in row.values())
    narrow = text_table(rows, width=40, drop=("change",))
    table, _, omitted = narrow.partition("Columns that do not fit here: ")
    omitted = " ".join(omitted.split())
    assert max(map(len, narrow.splitlines())) <= 40
    assert omitted.startswith("change, note.")
    assert all(row["interval"] in table for row in rows)
    assert "…" not in narrow


@pytest.mark.parametrize(
    ("text", "n", "first"),
    [
        ("One. Two. Three.", 2, "One. Two."),
        ("Run `a. B c`. Then wait.", 1, "Run `a. B c`."),
        ("AUC 0.5 vs. 0.6 holds", 1, "AUC 0.5 vs. 0.6 holds"),
    ],
)
def test_first_sentences(text, n, first):
    assert first_sentences(text, n) == first


@pytest.mark.slow
@pytest.mark.parametrize("case", [leaking, quiet, predictions_only])
def test_every_attack_has_a_row_with_its_metrics(case):
    results = case()
    rows = summary(results, verbose=True, width=96).splitlines()
    for finding in results.outcomes:
        mark = ["*"] if finding.name == results.headline.name else []
        at = next(i for i, row in enumerate(rows) if row.split()[: 1 + len(mark)] == [finding.name, *mark])
        assert f"{finding.auc.value:.3f}" in rows[at]
        assert f"{decimal(finding.auc.low, -1)}…{decimal(finding.auc.high, 1)}" in rows[at + 1]


@pytest.mark.slow
def test_checks_and_what_was_not_tested_are_shown():
    results = leaking()
    text = " ".join(summary(results, verbose=True).split())
    assert all(" ".join(row.text.split()) in text for row in diagnostics.reported(results))
    assert all(row.code in text for row in diagnostics.check_lines(results))
    assert all(" ".join(sentence.split()) in text for sentence in untested_sentences(results))


@pytest.mark.slow
def test_no_control_characters_and_no_markup():
    text = summary(hostile()) + summary(hostile(), verbose=True)
    assert {c for c in text if unicodedata.category(c) in ("Cc", "Cs")} <= {"\n"}
    assert "\u202e" not in text
    named = summary(with_check(leaking(), reversed_check("[red]x[/red] [bold")), verbose=True)
    assert "The attack [red]x[/red] [bold ranks" in " ".join(named.split())


@pytest.mark.slow
def test_repr_is_the_summary():
    assert repr(leaking()) == summary(leaking())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nb\tc", "a b c"),
        ("\x1b[2J", "\ufffd[2J"),
        ("\ud800", "\ufffd"),
        ("é\u200dن", "é\u200dن"),
        ("x\u2066y", "x\ufffdy"),
    ],
)
def test_line(text, expected):
    assert single_line(text) == expected
