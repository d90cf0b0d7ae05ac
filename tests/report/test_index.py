"""The page over a folder of audits: a row per model, a trend per name, and no folder that stops it."""

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from example_results import HOSTILE, hostile, leaking, predictions_only, quiet
from guestlist._case import Cover
from guestlist._findings import Gated, write_results
from guestlist._report.first_screen import first_screen
from guestlist._report.index import index_page, read_index
from guestlist._util import decimal, interval, percent, single_line
from guestlist.cli import main
from guestlist.errors import InputError
from pages import Reader


def written(folder, results, *, name="", date="", gate=None, page=True):
    """Write an audit folder with results only."""
    if name:
        results = replace(results, subject=replace(results.subject, name=name))
    results = replace(results, provenance=replace(results.provenance, date=date), gate=gate)
    folder.mkdir(parents=True)
    write_results(folder, results, {})
    if page:
        (folder / "report.html").write_text("<p>the report</p>")
    return results


@pytest.fixture
def audits(tmp_path):
    folder = tmp_path / "audits"
    written(folder / "loan 1", leaking(), name="loan", date="2026-01-10")
    written(folder / "loan 2", quiet(), name="loan", date="2026-03-02", gate=Gated(False, (), ()))
    written(folder / "team" / "heart", predictions_only(), name="heart", date="2026-02-01", gate=Gated(True, (), ()))
    return folder


def test_one_row_per_model_with_its_latest_audit(audits):
    index = read_index(audits)
    assert [(audit.name, audit.date, audit.folder) for audit in index.audits] == [
        ("heart", "2026-02-01", "team/heart"),
        ("loan", "2026-03-02", "loan 2"),
        ("loan", "2026-01-10", "loan 1"),
    ]
    latest = {audits[0].name: audits[0] for audits in index.models}
    assert {name: audit.gate for name, audit in latest.items()} == {"loan": "failed", "heart": "passed"}
    screen = first_screen(quiet())
    assert (latest["loan"].severity, latest["loan"].verdict) == (screen.severity, screen.worst.verdict)
    attack = quiet().attack(quiet().headline.name)
    assert latest["loan"].auc == attack.auc


def test_the_page_shows_names_dates_verdicts_metrics_gates_and_links(audits):
    index = read_index(audits)
    read = Reader(index_page(index))
    for audit in index.audits:
        for text in (
            audit.name,
            audit.date,
            audit.folder,
            audit.severity,
            audit.gate,
            decimal(audit.auc.value),
            interval(audit.auc),
            percent(audit.tpr.value),
            f"{interval(audit.tpr, percent)}, at {percent(audit.fpr)} FPR",
        ):
            assert text in read.visible_text
    links = {value for _, name, value in read.attributes if name == "href" and not value.startswith("#")}
    assert links == {"./loan%201/report.html", "./loan%202/report.html", "./team/heart/report.html"}


def test_a_trend_is_drawn_where_audits_share_a_name(audits):
    read = Reader(index_page(read_index(audits)))
    labels = [value for _, name, value in read.attributes if name == "aria-label" and value.startswith("AUC by date")]
    assert len(labels) == 1
    assert labels[0].index("2026-01-10") < labels[0].index("2026-03-02")
    assert read.elements.count("circle") - 1 == 2  # one circle is the icon of a person


def test_broken_folders_are_listed_and_do_not_stop_the_page(audits):
    (audits / "torn").mkdir()
    (audits / "torn" / "results.json").write_text('{"format": 3, "subject": ')
    (audits / "old").mkdir()
    (audits / "old" / "results.json").write_text('{"format": 1}')
    (audits / "list").mkdir()
    (audits / "list" / "results.json").write_text("[]")
    (audits / "unfinished").mkdir()
    (audits / "unfinished" / "manifest.json").write_text("{}")
    written(audits / "incomplete", replace(quiet(), headline=None, outcomes=None))
    index = read_index(audits)
    assert [entry.folder for entry in index.broken] == ["list", "old", "torn", "unfinished"]
    assert len(index.audits) == 4
    text = Reader(index_page(index)).visible_text
    for entry in index.broken:
        assert entry.folder in text
        assert " ".join(entry.error.split()) in text
        assert str(audits) not in entry.error


def test_audits_without_a_date_or_a_report_are_listed(tmp_path):
    written(tmp_path / "a", quiet(), name="old", page=False)
    written(tmp_path / "b", replace(quiet(), provenance=leaking().provenance, cover=Cover(title="Titled")), date="")
    index = read_index(tmp_path)
    assert [(audit.name, audit.date, audit.link) for audit in index.audits] == [
        ("Titled", "", "./b/report.html"),
        ("old", "", ""),
    ]
    assert "date unknown" in Reader(index_page(index)).visible_text


def test_results_without_provenance_are_listed(tmp_path):
    (tmp_path / "a").mkdir()
    write_results(tmp_path / "a", replace(quiet(), provenance=None), {})
    assert read_index(tmp_path).audits[0].date == ""


def test_hostile_names_are_shown_as_text(tmp_path):
    attacked, plain = tmp_path / "attacked", tmp_path / "plain"
    name = "<img src=x onerror=alert(1)>\"'&javascript:"
    written(attacked / name, replace(hostile(), cover=Cover(title=HOSTILE)))
    (attacked / f"{name}2").mkdir()
    (attacked / f"{name}2" / "results.json").write_text("[]")
    written(plain / "audit", leaking())
    (plain / "b").mkdir()
    (plain / "b" / "results.json").write_text("[]")
    page = index_page(read_index(attacked))
    read, other = Reader(page), Reader(index_page(read_index(plain)))
    assert sorted(read.elements) == sorted(other.elements)
    assert {name for _, name, _ in read.attributes} == {name for _, name, _ in other.attributes}
    assert " ".join(single_line(HOSTILE).split()) in read.visible_text
    assert name in read.visible_text
    assert "\u202e" not in page


def test_the_page_loads_nothing_and_has_a_security_policy(audits):
    page = index_page(read_index(audits))
    read = Reader(page)
    policy = [value for _, name, value in read.attributes if name == "content" and "script-src" in value]
    assert len(policy) == 1
    assert policy[0].startswith("default-src 'none'")
    assert not [value for _, name, value in read.attributes if name in ("src", "srcset", "action")]
    assert "http" not in {value.partition(":")[0] for _, name, value in read.attributes if name == "href"}
    assert len(page.encode()) < 200_000


def test_the_command_writes_the_page_and_prints_json(audits):
    result = CliRunner().invoke(main, ["index", str(audits), "--json"])
    assert result.exit_code == 0, result.stderr
    content = json.loads(result.stdout)
    assert [audit["name"] for audit in content["audits"]] == ["heart", "loan", "loan"]
    assert "loan" in (audits / "index.html").read_text("utf-8")
    again = CliRunner().invoke(main, ["index", str(audits)])
    assert again.exit_code == 0
    assert "Audits: 3." in again.stdout


def test_a_page_of_others_is_not_replaced(audits):
    (audits / "index.html").write_text("<p>my own page</p>")
    result = CliRunner().invoke(main, ["index", str(audits)])
    assert result.exit_code == 2
    assert "--out" in result.stderr
    assert (audits / "index.html").read_text() == "<p>my own page</p>"


def test_a_folder_without_audits_is_an_error(tmp_path):
    with pytest.raises(InputError, match="no audit below"):
        read_index(tmp_path)
    with pytest.raises(InputError, match="no folder"):
        read_index(tmp_path / "missing")
