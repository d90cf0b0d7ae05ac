"""Two headline rows: someone who can query the model, and someone who holds the model file."""

from dataclasses import replace
from functools import partial

import pytest

from example_results import leaking, quiet
from guestlist import EXPORTS, Estimate
from guestlist._findings.headline import FIXED, Headline
from guestlist._report import prose, sentences, terminal, wording
from guestlist._report.first_screen import first_screen
from guestlist._report.next_steps import next_steps
from guestlist._report.page import report_page
from guestlist._report.sections import headline
from guestlist._report.sections.answer import other_successes, verdict_text, verdict_texts
from guestlist._report.sections.attacks import sorted_attacks
from guestlist._report.terminal import fragment

summary = partial(terminal.summary, verbose=True)


def with_file_holder(results, significant: bool = True):
    """The same results with a leaf attack, which finds 58 % of the members at 1 % FPR, or nothing."""
    base = results.outcomes[-1]
    tprs = (0.3, 0.58, 0.7) if significant else (0.001, 0.01, 0.05)
    rates = tuple(
        replace(rate, tpr=Estimate(tpr, 0.9 * tpr, 1.1 * tpr), p_value=0.001 if significant else None)
        for rate, tpr in zip(base.rates, tprs, strict=True)
    )
    auc = Estimate(0.9, 0.88, 0.92) if significant else Estimate(0.5, 0.46, 0.54)
    leaves = replace(
        base, name="leaf_shares", attacker_needs="has the model file", access="model file", rates=rates, auc=auc,
        p_value=0.001 if significant else None,
    )  # fmt: skip
    groups = tuple(replace(group, auc=auc, p_value=0.001 if significant else None) for group in results.groups or ())
    return replace(
        results,
        outcomes=(*results.outcomes, leaves),
        file_holder=Headline("leaf_shares", FIXED, 0, None),
        file_holder_groups=groups,
    )


def test_each_attacker_has_a_separate_verdict():
    first, second = verdict_texts(with_file_holder(leaking()))
    assert first == f"{wording.QUERIER}: {verdict_text(leaking())}"
    assert second.startswith(f"{wording.FILE_HOLDER}: Yes, ")
    assert "leaf_shares" not in first
    assert "58" in second
    assert verdict_texts(leaking()) == (verdict_text(leaking()),)


def test_a_file_that_reveals_nothing_keeps_the_first_verdict():
    first, second = verdict_texts(with_file_holder(leaking(), significant=False))
    assert first == f"{wording.QUERIER}: {verdict_text(leaking())}"
    assert "No evidence" in second


def test_a_file_attack_that_ranks_members_below_is_unclear():
    results = with_file_holder(quiet(), significant=False)
    *others, leaves = results.outcomes
    leaves = replace(leaves, auc=Estimate(0.1, 0.07, 0.14), p_reversed=0.001)
    _, second = verdict_texts(replace(results, outcomes=(*others, leaves)))
    assert "below non-members" in second


def test_the_file_holders_attack_is_no_sign_in_the_other_row():
    """It has a separate part of the error, and a separate verdict."""
    results = with_file_holder(quiet())
    assert "leaf_shares" not in [attack.name for attack in other_successes(results)]
    assert verdict_text(results).startswith("No evidence")
    assert verdict_texts(results)[1].startswith(f"{wording.FILE_HOLDER}: Yes, ")
    assert next_steps(results) != next_steps(quiet())  # a leak to any attacker has next steps


def test_the_first_screen_names_the_attacker_only_where_two_were_tested():
    both = first_screen(with_file_holder(leaking()))
    assert [attacker.evidence.startswith("An attacker identifies") for attacker in both.attackers] == [True, True]
    assert "<p>An attacker who holds the model file identifies about 58" in report_page(with_file_holder(leaking()))
    (alone,) = first_screen(leaking()).attackers
    assert f"<p>{alone.evidence}</p>" in report_page(leaking())


@pytest.mark.parametrize("verbose", [False, True])
def test_each_verdict_in_the_terminal_starts_with_its_severity(verbose):
    """The second attack finds nothing, so that the two severities differ."""
    screen = first_screen(with_file_holder(leaking(), significant=False))
    text = " ".join(terminal.summary(with_file_holder(leaking(), significant=False), verbose=verbose).split())
    assert len({attacker.severity for attacker in screen.attackers}) == 2
    for attacker in screen.attackers:
        assert f"[{attacker.severity}] {attacker.who}: {attacker.verdict}" in text


@pytest.mark.slow
@pytest.mark.parametrize("form", [summary, fragment, report_page, EXPORTS["markdown"].text, EXPORTS["model_card"].text])
def test_every_form_shows_both_rows(form):
    text = " ".join(form(with_file_holder(leaking())).split())
    assert wording.QUERIER in text
    assert wording.FILE_HOLDER in text
    assert wording.FILE_HOLDER not in " ".join(form(leaking()).split())


def test_tables_and_curves_mark_the_attacks_of_both_rows(snapshot):
    results = with_file_holder(leaking())
    rows = wording.headline_names(results)
    assert rows == (results.headline.name, "leaf_shares")
    assert [attack.name for attack in sorted_attacks(results.outcomes, rows)[:2]] == list(rows)
    keys = [series.key_text for series in headline.section(results).charts["roc-log"].series if series.key_text]
    assert any(key.startswith(f"{wording.QUERIER}: {rows[0]}") for key in keys)
    assert any(key.startswith(f"{wording.FILE_HOLDER}: leaf_shares") for key in keys)
    snapshot(prose("headline.selection", results), "leaf_shares")
    assert "leaf_shares" in sentences("groups.exposed", results)[-1]
    assert len(sentences("groups.exposed", leaking())) == 1
