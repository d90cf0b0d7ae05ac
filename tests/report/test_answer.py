"""The verdict follows the intervals; caveats are next to it, and next steps after it."""

import html
import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from tests.report.snapshots import plain_text
from tests.report.states import state

from example_results import leaking, predictions_only, quiet, with_check, with_headline
from guestlist import Estimate
from guestlist._case import Check, Origin
from guestlist._findings.attacks import Rate, _rates
from guestlist._findings.exposure import Exposure
from guestlist._findings.groups import GroupRisks, TooSmall
from guestlist._report import diagnostics, terminal
from guestlist._report.exports import EXPORTS
from guestlist._report.next_steps import next_steps
from guestlist._report.page import report_page
from guestlist._report.sections import answer, groups
from guestlist._report.templates import with_code
from guestlist._report.terminal import fragment
from guestlist._report.wording import sanitize_results
from guestlist.defences import Training
from guestlist.metrics import split_scores

summary = partial(terminal.summary, verbose=True)

VISIBLE = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.DOTALL)


AUC = Estimate(0.8, 0.78, 0.82)


def with_rate(tpr, fpr=0.01, auc=AUC):
    ppv = Estimate(*(end / (end + fpr) for end in tpr))
    return with_headline(leaking(), rates=(Rate(fpr, tpr, ppv, 0.5, "good", 0.02),), auc=auc)


def test_a_leak_is_reported_in_people(snapshot):
    text = answer.verdict_text(with_rate(Estimate(0.6, 0.551, 0.642)))
    snapshot(text, "60", "100", "95%", "55", "65", "1")
    average = answer.verdict_text(with_rate(Estimate(0.01, 0.0, 0.02)))
    snapshot(average, "80", "100", "95%", "78", "82", "50")


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        (with_rate(Estimate(0.95, 0.93, 0.96)), "most"),
        (with_rate(Estimate(0.55, 0.49, 0.61)), "many"),
        (with_rate(Estimate(0.11, 0.09, 0.13)), "some"),
        (with_rate(Estimate(0.012, 0.0101, 0.014)), "some"),
        (with_rate(Estimate(0.01, 0.0, 0.02), auc=Estimate(0.7, 0.62, 0.78)), "on average"),
        (with_rate(Estimate(0.01, 0.0, 0.02), auc=Estimate(0.52, 0.51, 0.53)), "slight"),
        (with_rate(Estimate(0.08, 0.06, 0.1), 0.05, auc=Estimate(0.5, 0.49, 0.51)), "slight"),
    ],
)
def test_the_verdict_follows_the_interval(results, expected):
    assert state(answer.verdict_text(results)) == expected


@pytest.mark.parametrize(
    ("n", "expected", "people"),
    [(400, "most", "1,000 in 1,000"), (100, "most", "100 in 100"), (20, "on average", "")],
)
def test_a_perfect_attack_is_graded_by_the_rate_that_the_nonmembers_support(n, expected, people, snapshot):
    sides = split_scores(np.arange(2.0 * n), np.arange(2 * n) >= n, None)
    rates = _rates(sides, 0.5)
    text = answer.verdict_text(with_headline(leaking(), rates=rates, auc=Estimate(1.0, 0.85, 1.0)))
    assert state(text) == expected
    assert ("5 in 100 " in text) == (n == 100)  # too few non-members to support a lower rate
    snapshot(text, people)


def test_the_size_of_a_leak_is_uncertain_where_the_limits_have_different_grades():
    """AUC 0.74 of 20 + 20 records: the lower limit alone would make it slight."""
    text = answer.verdict_text(with_rate(Estimate(0.01, 0.0, 0.3), auc=Estimate(0.74, 0.53, 0.88)))
    assert state(text) == "uncertain size"


def test_an_attack_that_identifies_clearly_more_people_is_in_the_answer(snapshot):
    """Though it ranks them no better over all."""
    results = with_rate(Estimate(0.15, 0.13, 0.17))
    outcome = results.outcomes[1]

    def verdict(low):
        rate = Rate(0.01, Estimate(0.48, low, 0.51), Estimate(0.98, 0.97, 0.99), 0.5, "good", 0.02, p_value=0.001)
        stronger = replace(
            outcome,
            name="leaf_shares",
            attacker_needs="has the model file",
            auc=Estimate(0.7, 0.68, 0.72),
            rates=(rate,),
        )
        return answer.verdict_text(replace(results, outcomes=(results.outcomes[0], stronger, *results.outcomes[2:])))

    by_whom = "leaf_shares, run by someone who has the model file, identifies 48% of the members (45% to 51%)"
    snapshot(verdict(0.45), f"{by_whom}", "1%", "lira", "15%")
    assert "leaf_shares" not in verdict(0.16)  # the intervals overlap


@pytest.mark.slow
def test_caveats_are_next_to_the_verdict_in_every_form():
    results = leaking()  # 37 of 2,400 non-members are equal to a member
    (row,) = diagnostics.caveats(results)
    assert row.code == "GL101"
    page = " ".join(VISIBLE.sub(" ", html.unescape(report_page(results))).split())
    assert page.index("Maybe underestimated: duplicates across sets (GL101)") < page.index("What to do")
    for form in (summary, fragment, EXPORTS["markdown"].text, EXPORTS["model_card"].text):
        text = " ".join(VISIBLE.sub(" ", html.unescape(form(results))).split())
        assert (
            text.index("Before you rely on it") < text.index("non-members equal a member") < text.index("Measured on")
        )
        assert text.count("non-members equal a member") == 1
    handful = with_check(results, Check("GL101", "issue", {"duplicates": 3, "nonmembers": 2400}))
    assert diagnostics.caveats(handful) == ()
    assert "GL101" in [row.code for row in diagnostics.elsewhere(handful)]
    ignored = with_check(results, Check("GL101", "ignored", {"duplicates": 37, "nonmembers": 2400}))
    assert diagnostics.caveats(ignored) == ()


def test_flipped_labels_are_reported_before_interchanged_sets(snapshot):
    base = with_headline(quiet(), auc=Estimate(0.4, 0.35, 0.45), p_reversed=0.01)
    figures = {"attack": "lira", "auc": 0.4, "low": 0.35, "high": 0.45, "members": 0.05, "nonmembers": 0.13}
    flipped = with_check(base, Check("GL112", "issue", {**figures, "guessing": 0.76}))
    text = answer.verdict_text(flipped)
    snapshot(text, "5%", "13%", "76%")
    assert "interchanged" not in text
    assert "interchanged" not in diagnostics.sentence(flipped.check("GL112"))
    turned = with_check(
        base, Check("GL112", "issue", {**figures, "members": 0.8, "nonmembers": 0.95, "guessing": 0.76})
    )
    assert "probably swapped" in answer.verdict_text(turned)
    assert diagnostics.caveats(turned) == ()  # the verdict reports it
    assert "swapped" in next_steps(turned)[0]
    values = {"attack": "loss", "auc": 0.4, "low": 0.35, "high": 0.45, "r2_members": -3.0, "r2_nonmembers": -2.0}
    snapshot(diagnostics.sentence(Check("GL112", "issue", values)))


def test_more_references_of_a_game_are_trained_by_gl_play():
    game = replace(leaking(), references=None, training=Training("tree"), origin=Origin("game"))
    assert any("`gl.play(…, references=32)`" in step for step in next_steps(game))
    assert not any("gl.audit(" in step for step in next_steps(game))


@pytest.mark.slow
def test_what_to_do_next_follows_from_what_was_shown(snapshot):
    assert any("gl.defend(" in step for step in next_steps(leaking()))
    listed = len(leaking().exposed)
    for flagged in (listed, listed + 1):
        steps = next_steps(replace(leaking(), exposure=Exposure(q=0.1, tested=500, flagged=flagged)))
        assert any(f"{flagged} most exposed" in step for step in steps)
        assert any("records.parquet" in step for step in steps) == (flagged > listed)
    snapshot(next_steps(leaking()), "GL101")
    assert next_steps(quiet()) == (next_steps(quiet())[0],)
    snapshot(next_steps(quiet())[0])
    assert any("reference models" in step for step in next_steps(predictions_only()))
    unlooked = with_check(quiet(), Check("GL119", "not run", {}))
    snapshot(next_steps(unlooked)[-1])
    assert next_steps(replace(quiet(), headline=None)) == ()
    for form in (summary, fragment, EXPORTS["markdown"].text):
        assert "What to do" in form(leaking())
    assert "What to do" in report_page(leaking())


@pytest.mark.slow
def test_small_groups_are_named_in_every_form(snapshot):
    small = tuple(TooSmall("group", {"country": f"c{i}"}, 3, i) for i in range(25))
    results = leaking(
        group_risks=GroupRisks("lira", 0.05, 10, (), (*small, TooSmall("pair", {"a": "b", "c": "d"}, 1, 1)))
    )
    for form in (summary, fragment, report_page, EXPORTS["markdown"].text):
        text = " ".join(VISIBLE.sub(" ", html.unescape(form(results))).split()).replace("\\", "")
        assert all(f"c{i} (3 and {i})" in text for i in range(3))
        assert re.search(r"\b25 groups\b", text)
        assert re.search(r"\b5 more\b", text)
        assert "fewer than 10 members or 10 non-members" in text
    alone = replace(results, groups=())
    assert "country = c0" in report_page(alone)
    for variant in (results, alone):
        snapshot(plain_text(groups.groups_section(sanitize_results(variant)).body), "25")


def test_commands_in_next_steps_are_code_on_a_page_and_escaped():
    assert with_code("run `guestlist defend <a>` & read") == ("run <code>guestlist defend &lt;a&gt;</code> &amp; read")
    assert with_code("one ` alone <b>") == "one ` alone &lt;b&gt;"
