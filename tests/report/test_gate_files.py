"""Gate files for other tools: they contain every verdict and no record, and markup stays text."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

import guestlist as gl
from example_results import leaking, quiet
from guestlist import EXPORTS
from guestlist._audit.gate import Policy, evaluate_policy
from guestlist._case import Check
from guestlist._report.gate import annotations, gate_lines, gate_texts, junit, sarif


@pytest.fixture(scope="module")
def gated():
    return evaluate_policy(leaking(), Policy(max_auc=0.6, max_tpr=("1.0@0.01",)))


def test_junit_has_a_test_for_each_line(gated):
    suite = ElementTree.fromstring(junit(gated)).find("testsuite")
    texts = {
        test.get("name"): test.find("failure").get("message") if test.find("failure") is not None else None
        for test in suite
    }
    assert texts == {line.requirement: None if line.passed else line.result for line in gate_lines(gated)}
    assert [test.get("name") for test in suite if test.find("skipped") is not None] == ["GL104 saturated outputs"]
    assert suite.get("failures") == str(sum(value is not None for value in texts.values()))
    assert 0 < int(suite.get("failures")) < int(suite.get("tests"))


def test_sarif_has_a_result_for_each_line_that_fails_and_a_rule_for_all(gated):
    """Code scanning makes an alert of every result, whatever its kind."""
    (run,) = json.loads(sarif(gated, "audits/a/results.json"))["runs"]
    assert [(result["ruleId"], result["level"], result["message"]["text"]) for result in run["results"]] == [
        (line.rule, "note" if line.passed else "error", f"{line.requirement}: {line.result}")
        for line in gate_lines(gated)
        if line.open or not line.passed
    ]
    suppressed = [result["ruleId"] for result in run["results"] if "suppressions" in result]
    assert suppressed == [line.rule for line in gate_lines(gated) if line.ignored] == ["gate/GL104"]
    assert 0 < len(run["results"]) < len(gate_lines(gated))
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == list(
        dict.fromkeys(x.rule for x in gate_lines(gated))
    )


def test_sarif_of_a_passed_gate_has_no_alert_and_lists_the_limits():
    sound = replace(leaking(), checks=())
    (run,) = json.loads(sarif(evaluate_policy(sound, Policy(max_tpr=("1.0@0.01", "1.0@0.001"))), "r.json"))["runs"]
    assert run["results"] == []
    assert "TPR at 0.01 FPR at most 1; TPR at 0.001 FPR at most 1" in [
        rule["shortDescription"]["text"] for rule in run["tool"]["driver"]["rules"]
    ]


def test_annotations_are_errors_for_failed_lines_and_notices_for_open_checks(gated):
    lines = gate_lines(gated)
    levels = [text.split(" ")[0] for text in annotations(gated).splitlines()]
    assert levels.count("::error") == sum(line.state == "FAIL" for line in lines) > 0
    assert levels.count("::notice") == sum(line.state == "note" for line in lines)
    assert len(levels) == levels.count("::error") + levels.count("::notice")


def test_a_name_cannot_end_an_annotation_or_start_a_workflow_command(gated):
    hostile = replace(gated, verdicts=tuple(replace(verdict, attack="50%::a\n::stop") for verdict in gated.verdicts))
    text = annotations(hostile)
    assert all(line.startswith(("::error title=", "::notice title=")) for line in text.splitlines())
    assert "50%25::a" in text
    titles = [line.split("title=")[1].split("::")[0] for line in text.splitlines()]
    assert all(":" not in title and "," not in title for title in titles)


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("audits/a/results.json", "audits/a/results.json"),
        ("my audits/#1/50%/r\u00e9sultats?.json", "my%20audits/%231/50%25/r%C3%A9sultats%3F.json"),
        ("a:b/results.json", "a%3Ab/results.json"),
        (Path("x y").absolute() / "r.json", (Path("x y").absolute() / "r.json").as_uri()),
    ],
)
def test_the_location_of_a_result_is_a_uri(gated, path, uri):
    (run,) = json.loads(sarif(gated, path))["runs"]
    uris = {result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in run["results"]}
    assert uris == {uri}


def test_no_record_is_named_and_markup_is_text(gated):
    hostile = replace(
        gated,
        verdicts=tuple(replace(verdict, attack="<b>&\x1b]0;x\x07", drivers=("Ada",)) for verdict in gated.verdicts),
    )
    for text in (junit(hostile), sarif(hostile, "r.json")):
        assert "Ada" not in text
        assert "\x1b" not in text
    assert "<b>" not in junit(hostile)
    assert "<b>&" in ElementTree.fromstring(junit(hostile)).find("testsuite/testcase/failure").get("message")


@pytest.mark.slow
def test_assert_private_reports_the_failed_limit():
    gl.assert_private(quiet(), max_auc=0.99, without_references=True)
    with pytest.raises(AssertionError, match=r"AUC at most 0\.6") as raised:
        gl.assert_private(leaking(), max_auc=0.6, max_tpr="0.05@0.01")
    assert str(raised.value).splitlines()[1:] == list(
        gate_texts(evaluate_policy(leaking(), Policy(max_auc=0.6, max_tpr=("0.05@0.01",))))
    )
    with pytest.raises(gl.InputError, match="No limit is set"):
        gl.assert_private(leaking())
    with pytest.raises(gl.InputError, match="cannot be combined"):
        gl.assert_private(leaking(), max_auc=0.6, policy="release.toml")


@pytest.mark.slow
def test_pytest_shows_the_test_and_the_message_but_no_frame_of_guestlist(tmp_path):
    (tmp_path / "test_limits.py").write_text(
        """
import guestlist as gl
from example_results import leaking

def test_limits():
    gl.assert_private(leaking(), max_auc=0.6)

def test_mistyped_limit():
    gl.assert_private(leaking(), max_tpr="0.05")

def test_mistyped_folder():
    gl.assert_private("no folder", max_auc=0.6)
""",
        "utf-8",
    )
    printed = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), "test_limits.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    ).stdout
    assert "3 failed" in printed, printed
    assert "AUC at most 0.6" in printed
    assert "Expected TPR@FPR" in printed
    assert "There is no folder no folder" in printed
    frames = re.findall(r"^(\S+\.py):\d+: ", printed, flags=re.MULTILINE)
    assert frames == ["test_limits.py"] * 3, printed


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"max_tpr": 0.05}, r'Expected TPR@FPR, found 0\.05\. .* 0\.05@0\.01 .* max_tpr = \["0\.05@0\.01"\]'),
        ({"max_tpr": [0.05]}, r"Expected TPR@FPR, found 0\.05"),
        ({"max_tpr": "0.05"}, r"Expected TPR@FPR, found '0\.05'"),
        ({"max_tpr": True}, r'to be a text or a list of texts, as in max_tpr = \["0\.05@0\.01"\]'),
        ({"max_tpr": None}, "No limit is set"),
        ({"max_auc": 0.6, "attacks": 3}, "attacks=3 to be a text or a list of texts"),
        ({"max_auc": 0.6, "attacks": "lita"}, "Attack 'lita' was not run"),
    ],
)
def test_assert_private_explains_the_form_of_its_arguments(limits, message):
    with pytest.raises(gl.AuditError, match=message):
        gl.assert_private(leaking(), **limits)


def test_assert_private_takes_one_attack_or_several_and_none_for_all():
    for attacks in ("loss", ["loss"], ("loss", "lira"), None, ()):
        gl.assert_private(
            leaking(), max_auc=1.0, max_tpr=None, attacks=attacks, without_references=True, ignore="GL101"
        )


def test_assert_private_reports_open_checks():
    """One that undermines the verdict fails it; one that does not is a warning."""
    with pytest.raises(AssertionError, match=r"FAIL  GL101"):
        gl.assert_private(leaking(), max_auc=1.0)
    few = replace(leaking(), checks=(Check("GL101", "issue", {"duplicates": 1, "nonmembers": 2400}),))
    with pytest.warns(gl.AuditWarning, match="note  GL101"):
        gl.assert_private(few, max_auc=1.0)
    gl.assert_private(few, max_auc=1.0, ignore=["GL101"])
    with pytest.raises(gl.InputError, match="no check 'GL999'"):
        gl.assert_private(few, max_auc=1.0, ignore="GL999")


def test_markdown_has_the_lines_of_a_saved_gate(gated):
    text = EXPORTS["markdown"].text(replace(leaking(), gate=gated))
    assert "## Gate: failed" in text
    assert "FAIL  GL101" in text
