"""Advice that works when pasted: next steps as printed, run on every kind of audit folder."""

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from click.testing import CliRunner
from sklearn.tree import DecisionTreeClassifier

import guestlist as gl
from guestlist._report import prose
from guestlist._report.next_steps import _commands, next_steps
from guestlist._store import open_store
from guestlist.cli import main

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(RNG.normal(size=(160, 4)), columns=list("abcd"))
TABLE["income"] = RNG.integers(0, 2, 160)  # nothing to learn: what the tree knows, it memorised
TABLE["name"] = [f"r{row}" for row in range(160)]
MEMBERS, NONMEMBERS = TABLE[:80], TABLE[80:].reset_index(drop=True)
SMALL = {"defend": ["--defence", "rounded", "--engine", "here", "--quiet"], "collect": ["--engine", "here", "--quiet"]}


def tree() -> DecisionTreeClassifier:
    return DecisionTreeClassifier(random_state=0).fit(MEMBERS[list("abcd")], MEMBERS["income"])


def invoke(*arguments: str) -> str:
    result = CliRunner().invoke(main, list(arguments))
    assert result.exit_code == 0, result.output
    return result.output


def pasted(text: str) -> list[str]:
    """Commands and calls in backticks under "What to do", each on one line."""
    (section,) = re.findall(r"What to do\n(.*?)(?:\n\n|\nDetails: |\Z)", text, re.DOTALL)
    assert "FOLDER" not in section
    return re.findall(r"`([^`\n]+)`", section)


def run(advice: str) -> str:
    """Run a command as printed, with small settings."""
    _, command, *arguments = shlex.split(advice)
    arguments = [{"32": "3"}.get(argument, argument) for argument in arguments]
    return invoke(command, *arguments, *SMALL[command])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    MEMBERS.to_csv("members.csv", index=False)
    NONMEMBERS.to_csv("nonmembers.csv", index=False)
    skops.io.dump(tree(), "model.skops")
    pd.to_pickle(tree(), "model.pkl")
    return tmp_path


def audit(*arguments: str) -> str:
    records = ["--members", "members.csv", "--nonmembers", "nonmembers.csv", "--label", "income", "--id", "name"]
    return invoke(
        "audit", *records, "--engine", "here", "--quiet", "--no-baseline", "--out", "audits/my tree", *arguments
    )


@pytest.mark.slow
def test_after_a_command_defend_works_as_printed(folder):
    (advice,) = pasted(audit("--model", "model.skops", "--references", "2"))
    assert advice == "guestlist defend 'audits/my tree'"
    assert "Audits: " in run(advice)


@pytest.mark.slow
def test_a_pickle_is_opened_by_the_printed_command(folder):
    (advice,) = pasted(audit("--model", "model.pkl", "--allow-pickle", "--references", "2"))
    assert advice == "guestlist defend 'audits/my tree' --allow-pickle"


@pytest.mark.slow
def test_without_references_collect_works_as_printed(folder):
    (advice,) = pasted(audit("--model", "model.skops", "--references", "0"))
    assert advice == "guestlist collect 'audits/my tree' --references 32"
    run(advice)
    assert max(open_store("audits/my tree").models()) == 3


@pytest.mark.slow
def test_the_demo_stores_its_model_and_records(folder, monkeypatch):
    small = {"members": MEMBERS.drop(columns="name"), "nonmembers": NONMEMBERS.drop(columns="name"), "label": "income"}
    monkeypatch.setattr("guestlist._audit.demo.demo_inputs", lambda: {"model": tree(), **small})
    monkeypatch.setattr("guestlist._audit.demo.QUICK", 2)
    result = invoke("demo", "--quick", "--out", "audits/demo", "--jobs", "1", "--quiet")
    assert len(result.splitlines()) <= 24  # a tree has two attackers; the network of the demo has one
    printed = pasted(result)
    advice = "guestlist defend audits/demo"
    commands = _commands(gl.read_results("audits/demo"), Path("audits/demo"))
    assert prose("next_steps.defences", **commands) == f"Test defences: `{advice}`"
    assert set(printed) <= {advice}  # with two references the leak may not be significant
    assert "Audits: " in run(advice)
    invoke("report", "audits/demo", "--features")
    invoke("collect", "audits/demo", "--references", "3", *SMALL["collect"])
    assert open_store("audits/demo").manifest.about["origin"]["source"] == "demo"


@pytest.mark.slow
def test_in_python_the_printed_calls_work(folder):
    names = {"gl": gl, "model": tree(), "members": MEMBERS, "nonmembers": NONMEMBERS}
    options = {"label": "income", "id": "name", "engine": gl.Here(), "baseline": False, "progress": False}
    alone = gl.audit(*list(names.values())[1:], **options, seed=3, references=2)
    (call,) = pasted(alone.summary())
    assert call == "gl.defend(model, members, nonmembers, label='income', id='name', seed=3, references=2)"
    without = gl.audit(*list(names.values())[1:], **options, references=0, folder="tree")
    (call,) = pasted(without.summary())
    assert call == "gl.audit(model, members, nonmembers, label='income', id='name', references=32, folder='tree')"
    small = {"engine": gl.Here(), "baseline": False, "progress": False}
    returned = eval(call.replace("=32", "=2").replace("folder", "**small, folder"), names | {"small": small})
    (call,) = pasted(returned.summary())
    assert call == "gl.defend(model, members, nonmembers, label='income', id='name', references=2, plain='tree')"
    defended = eval(call[:-1] + ", defences=['rounded'], **small)", names | {"small": small})
    assert "rounded digits=1" in set(defended.table["defence"]) | set(defended.table.index)
    for command, part in {
        "defend": "gl.defend(",
        "collect --references 3": "gl.audit(",
        "report --features": "gl.read_results(",
    }.items():
        name, *arguments = command.split()
        refused = CliRunner().invoke(main, [name, "tree", *arguments])
        assert refused.exit_code == 2
        assert part in refused.output
        assert "made from Python" in refused.output


@pytest.mark.slow
def test_predictions_get_no_command_that_they_cannot_run(folder):
    probabilities = tree().predict_proba(TABLE[list("abcd")])
    np.savez("p.npz", probabilities=probabilities, labels=TABLE["income"].to_numpy(), member=np.arange(160) < 80)
    text = invoke("audit", "--predictions", "p.npz", "--out", "p", "--no-baseline")
    assert pasted(text) == []
    assert "--shadow" in text
    assert "--references" not in text
    for command in (["defend", "p"], ["collect", "p", "--references", "2"], ["report", "p", "--features"]):
        refused = CliRunner().invoke(main, command)
        assert refused.exit_code == 2
        assert "audit of predictions" in refused.output


@pytest.mark.slow
def test_a_page_names_no_folder_of_this_machine(folder):
    audit("--model", "model.skops", "--references", "2")
    results = gl.read_results("audits/my tree")
    assert any("guestlist defend FOLDER" in step for step in next_steps(results))
    assert str(folder) not in results.to_html("page.html").read_text("utf-8")
