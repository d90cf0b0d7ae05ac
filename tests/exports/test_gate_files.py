"""A gate for other tools: nothing of what was said is lost, nobody is named, and markup stays text."""

import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest

import guestlist as gl
from guestlist.exports import junit, sarif
from guestlist.gate import Policy, hold
from guestlist.report.gate import lines, told
from report_worlds import leaking, quiet


@pytest.fixture(scope="module")
def gated():
    return hold(leaking(), Policy(max_auc=0.6, max_tpr=("1.0@0.01",)))


def test_junit_has_a_test_for_each_line(gated):
    suite = ElementTree.fromstring(junit(gated)).find("testsuite")
    said = {
        test.get("name"): test.find("failure").get("message") if test.find("failure") is not None else None
        for test in suite
    }
    assert said == {line.asked: None if line.passed else line.found for line in told(gated)}
    assert suite.get("failures") == str(sum(found is not None for found in said.values()))
    assert 0 < int(suite.get("failures")) < int(suite.get("tests"))


def test_sarif_has_a_result_for_each_line(gated):
    (run,) = json.loads(sarif(gated, "audits/a/results.json"))["runs"]
    assert [(one["kind"], one["message"]["text"]) for one in run["results"]] == [
        ("pass" if line.passed else "fail", f"{line.asked}: {line.found}") for line in told(gated)
    ]
    assert {one["ruleId"] for one in run["results"]} == {rule["id"] for rule in run["tool"]["driver"]["rules"]}


def test_nobody_is_named_and_markup_is_text(gated):
    hostile = replace(
        gated,
        verdicts=tuple(replace(one, attack="<b>&\x1b]0;x\x07", pushing=("Ada",)) for one in gated.verdicts),
    )
    for text in (junit(hostile), sarif(hostile, "r.json")):
        assert "Ada" not in text
        assert "\x1b" not in text
    assert "<b>" not in junit(hostile)
    assert "<b>&" in ElementTree.fromstring(junit(hostile)).find("testsuite/testcase/failure").get("message")


@pytest.mark.slow
def test_assert_private_says_what_fails():
    gl.assert_private(quiet(), max_auc=0.99, without_references=True)
    with pytest.raises(AssertionError, match=r"AUC at most 0\.6") as raised:
        gl.assert_private(leaking(), max_auc=0.6, max_tpr="0.05@0.01")
    assert str(raised.value).splitlines()[1:] == list(
        lines(hold(leaking(), Policy(max_auc=0.6, max_tpr=("0.05@0.01",))))
    )
    with pytest.raises(gl.InputError, match="Expected a limit"):
        gl.assert_private(leaking())
    with pytest.raises(gl.InputError, match="says it all"):
        gl.assert_private(leaking(), max_auc=0.6, policy="release.toml")
