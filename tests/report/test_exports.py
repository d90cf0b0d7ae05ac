"""Results for other tools: they say what the page says, name no member, and let nothing become markup."""

import re

import pytest

from example_results import HOSTILE, hostile, leaking, predictions_only, quiet
from guestlist import EXPORTS
from guestlist._report.exports import attack_table, markdown, plain
from guestlist._report.sections.answer import verdict_text
from guestlist.cli import main


@pytest.mark.parametrize("make", [leaking, quiet, predictions_only])
@pytest.mark.parametrize("name", EXPORTS)
def test_says_what_the_page_says_and_names_nobody(name, make):
    results = make()
    text = EXPORTS[name].text(results)
    assert plain(verdict_text(results)) in text
    for exposed in results.exposed or ():
        assert exposed.id not in text


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPORTS)
def test_nothing_that_a_user_wrote_becomes_markup(name):
    text = EXPORTS[name].text(hostile())
    assert HOSTILE not in text
    assert not re.search(r"(?<!\\)<\w", text)
    for line in text.splitlines():
        if line.startswith("| "):  # a cell holds no bar that would begin another
            assert len(re.findall(r"(?<!\\)\|", line)) == len(
                re.findall(r"(?<!\\)\|", attack_table(hostile()).splitlines()[0])
            )


def test_text_that_markdown_would_read_is_escaped():
    assert plain("a|b_*[x](y)<z>") == r"a\|b\_\*\[x\](y)\<z\>"


@pytest.mark.slow
def test_the_headline_stands_first():
    rows = attack_table(leaking()).splitlines()
    assert rows[2].startswith("| **")
    assert len(rows) == 2 + len(leaking().outcomes)


@pytest.mark.slow
def test_issues_are_listed_with_their_codes():
    codes = [check.code for check in leaking().checks if check.state == "issue"]
    assert all(code in markdown(leaking()) for code in codes)


@pytest.mark.slow
def test_the_command(tmp_path, monkeypatch):
    from click.testing import CliRunner

    from guestlist._findings.results import write_results

    write_results(tmp_path, leaking(), {})
    run = CliRunner().invoke
    assert run(main, ["export", str(tmp_path)]).stdout == markdown(leaking())
    out = tmp_path / "card.md"
    assert run(main, ["export", str(tmp_path), "--as", "model_card", "--out", str(out)]).exit_code == 0
    assert out.read_text("utf-8").startswith("## Membership privacy")
    wrong = run(main, ["export", str(tmp_path), "--as", "pdf"])
    assert wrong.exit_code == 2
    assert "There is no export 'pdf'; there are markdown, model_card." in wrong.stderr
