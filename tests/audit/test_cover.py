"""The cover of a report: from the caller to the folder and the page."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.linear_model import LogisticRegression

import guestlist as gl
from guestlist import EXPORTS
from guestlist._report.templates import plain
from guestlist.cli import main
from guestlist.cli.common import updated_stored_cover

SAID = {"title": "Loans, third release", "owner": "Risk", "dataset": "loans.csv", "purpose": "a review", "date": "May"}


@pytest.fixture
def predictions():
    rng = np.random.default_rng(0)
    outputs = rng.dirichlet((1, 1), 60)
    return gl.Predictions(outputs, rng.integers(0, 2, 60), np.arange(60) < 30)


@pytest.mark.slow
def test_the_cover_is_saved_in_the_folder_and_in_the_results(predictions, tmp_path):
    results = gl.audit_predictions(predictions, folder=tmp_path, about=gl.Cover(**SAID))
    assert results.cover == gl.Cover(**SAID)
    assert json.loads((tmp_path / "manifest.json").read_text())["about"]["cover"] == SAID
    assert gl.read_results(tmp_path).cover == results.cover
    again = gl.audit_predictions(predictions, folder=tmp_path)
    assert again.cover == results.cover  # the second call passed no cover
    other = gl.audit_predictions(predictions, folder=tmp_path, about=gl.Cover(title="Other"))
    assert other.cover == gl.Cover(title="Other")


@pytest.mark.slow
def test_an_audit_of_a_model_takes_one(tmp_path):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    model = LogisticRegression().fit(x[:20], y[:20])
    sides = (x[:20], y[:20]), (x[20:], y[20:])
    results = gl.audit(model, *sides, references=0, baseline=False, attacks=["loss"], about=gl.Cover(owner="Risk"))
    assert results.cover == gl.Cover(owner="Risk")
    assert gl.audit(model, *sides, references=0, baseline=False, attacks=["loss"]).cover is None


@pytest.mark.slow
def test_a_rewritten_report_can_have_more_cover_entries(predictions, tmp_path):
    gl.audit_predictions(predictions, folder=tmp_path, about=gl.Cover(title="One", owner="Risk"))
    result = CliRunner().invoke(main, ["report", str(tmp_path), "--title", "Two <b>", "--date", "May"])
    assert result.exit_code == 0, result.output
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "<title>Two &lt;b&gt;</title>" in page
    wanted = gl.Cover(title="Two <b>", owner="Risk", date="May")
    assert gl.read_results(tmp_path).cover == wanted
    assert gl.audit_predictions(predictions, folder=tmp_path).cover == wanted


@pytest.mark.slow
def test_an_empty_text_clears_a_line(predictions, tmp_path):
    gl.audit_predictions(predictions, folder=tmp_path, about=gl.Cover(title="One", owner="Ada & Co", date="May"))
    result = CliRunner().invoke(main, ["report", str(tmp_path), "--owner", "", "--date", "June"])
    assert result.exit_code == 0, result.output
    assert gl.read_results(tmp_path).cover == gl.Cover(title="One", date="June")
    assert gl.audit_predictions(predictions, folder=tmp_path).cover == gl.Cover(title="One", date="June")
    assert "Ada" not in (tmp_path / "report.html").read_text("utf-8")
    result = CliRunner().invoke(main, ["report", str(tmp_path), "--title", "", "--date", ""])
    assert result.exit_code == 0, result.output
    assert gl.read_results(tmp_path).cover in (None, gl.Cover())
    assert "<title></title>" not in (tmp_path / "report.html").read_text("utf-8")


@pytest.mark.slow
def test_the_command_takes_it_for_predictions(predictions, tmp_path):
    file, out = tmp_path / "said.npz", tmp_path / "out"
    np.savez(file, probabilities=predictions.outputs, labels=predictions.labels, member=predictions.member)
    options = [part for name, words in SAID.items() for part in (f"--{name}", words)]
    result = CliRunner().invoke(
        main, ["audit", "--predictions", str(file), "--out", str(out), "--no-baseline", *options]
    )
    assert result.exit_code == 0, result.output
    assert gl.read_results(out).cover == gl.Cover(**SAID)


@pytest.mark.parametrize(
    ("cover", "message"),
    [
        (lambda: gl.Cover(title=3), "title=3 is not text"),
        (lambda: gl.Cover(purpose="x" * 501), "purpose has 501 characters; the maximum is 500"),
    ],
)
def test_wrong_entries_of_a_cover_are_reported(cover, message):
    with pytest.raises(gl.InputError, match=message):
        cover()


def test_a_cover_of_the_wrong_type_is_reported_first(predictions, tmp_path):
    with pytest.raises(gl.InputError, match=r"gl\.Cover"):
        gl.audit_predictions(predictions, folder=tmp_path / "new", about={"cover": {"title": "x"}})
    assert not (tmp_path / "new").exists()


def test_notes_are_kept_next_to_the_cover(predictions, tmp_path):
    results = gl.audit_predictions(predictions, folder=tmp_path, about={"ticket": 12, "cover": gl.Cover(owner="Risk")})
    notes = json.loads((tmp_path / "manifest.json").read_text())["about"]
    assert (notes["ticket"], notes["cover"]) == (12, {"owner": "Risk"})
    assert results.cover == gl.Cover(owner="Risk")


def test_the_cover_is_in_every_form_of_the_report(predictions):
    results = gl.audit_predictions(predictions, about=gl.Cover(**SAID))
    for text in (results.summary(verbose=True), EXPORTS["markdown"].text(results), EXPORTS["model_card"].text(results)):
        for name, words in SAID.items():
            assert f"{name.capitalize()}: {plain(words)}" in text
    bare = gl.audit_predictions(predictions)
    assert bare.summary(verbose=True).startswith("Can training records")
    assert "Owner" not in EXPORTS["markdown"].text(bare)


def test_audits_that_are_compared_agree_on_a_cover(predictions, tmp_path):
    covers = {"plain": gl.Cover(**SAID), "other": gl.Cover(**{**SAID, "title": "Other", "date": "June"}), "bare": None}
    audits = {name: gl.audit_predictions(predictions, about=cover) for name, cover in covers.items()}
    comparison = gl.compare(audits)
    assert comparison.cover == gl.Cover(owner="Risk", dataset="loans.csv", purpose="a review")
    compared = gl.compare(audits, about=gl.Cover(title="All <b>", owner="Us"))
    assert compared.cover == gl.Cover("All <b>", "Us", "loans.csv", "a review")
    page = compared.to_html(tmp_path / "page.html").read_text("utf-8")
    assert "<title>All &lt;b&gt;</title>" in page
    assert "Models: <bdi>plain, other, bare</bdi>" in page
    assert gl.compare(dict.fromkeys("ab", audits["bare"])).cover is None
    with pytest.raises(gl.InputError, match=r"gl\.Cover"):
        gl.compare(audits, about="All")


def test_what_is_collected_and_defended_has_it(tmp_path):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    model = LogisticRegression().fit(x[:20], y[:20])
    sides = (x[:20], y[:20]), (x[20:], y[20:])
    common = {"baseline": False, "jobs": 1, "progress": False}
    gl.collect(model, *sides, references=2, folder=tmp_path / "a", about=gl.Cover(**SAID), **common)
    assert gl.audit(model, *sides, references=2, folder=tmp_path / "a", attacks=["loss"], **common).cover == gl.Cover(
        **SAID
    )
    rounded = {"rounded": gl.defences.Rounded(1)}
    defended = gl.defend(
        model,
        *sides,
        references=2,
        defences=rounded,
        attacks=["loss"],
        folder=tmp_path / "d",
        about=gl.Cover(**SAID),
        **common,
    )
    assert defended.plain.cover == gl.Cover(**SAID)
    assert defended.audits["rounded"].cover == defended.compared.cover == gl.Cover(**{**SAID, "title": ""})


def test_an_existing_audit_keeps_the_entries_that_are_not_passed(tmp_path):
    from types import SimpleNamespace

    options = dict.fromkeys(SAID)
    store = SimpleNamespace(manifest=SimpleNamespace(about={"cover": {"title": "One", "owner": "Risk"}}))
    assert updated_stored_cover(options, store) is None
    assert updated_stored_cover({**options, "title": "Two"}, store) == gl.Cover("Two", "Risk")
    assert updated_stored_cover({**options, "owner": ""}, store) == gl.Cover("One")
