"""Findings are open: one field each, computed once, absent in older files; and what is on the page is in the results."""

import json
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest
from markupsafe import Markup
from threadpoolctl import threadpool_info

import guestlist as gl
from example_results import leaking
from guestlist import FINDINGS, Results
from guestlist._audit.evaluate import evaluate, find_all
from guestlist._audit.gate import evaluate_limit as hold
from guestlist._collect import Duplicates
from guestlist._diagnostics import table
from guestlist._findings import FORMAT, Limit, headline, records, write_results
from guestlist._report import terminal
from guestlist._report.page import SECTIONS, report_page
from guestlist._report.templates import Section
from guestlist._report.terminal import fragment
from guestlist.attacks import ATTACKS
from guestlist.errors import FolderError
from guestlist.testing import case_of, evaluate_case, gaussian_simulation, leaking_case

summary = partial(terminal.summary, verbose=True)


def test_results_have_one_field_per_finding():
    assert tuple(FINDINGS) == Results.finding_names()
    assert all(getattr(Results(), name) is None for name in FINDINGS)


@pytest.mark.slow
def test_judging_writes_nothing_and_finds_all(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    case = leaking_case(population=50)
    results = evaluate_case(case)
    assert not list(tmp_path.iterdir())
    assert results.headline.stand_ins == 10
    subject = results.subject
    assert (subject.members + subject.nonmembers, subject.population + subject.always_members) == (350, 50)
    assert [g.value for g in results.groups] == ["first", "second"]
    assert len(results.records) == 350
    write_results(tmp_path, results, case.scores)
    again = replace(gl.read_results(tmp_path), folder=None)
    assert again.document() == results.document()
    assert report_page(again) == report_page(results)
    assert set(np.load(tmp_path / "scores" / "loss.npy")) == set(case.scores["loss"])


# -- each once ----------------------------------------------------------------------------------------------------------


def counted(name: str, calls: Counter):
    attack = ATTACKS[name]

    def score(view):
        calls[name, "stand_ins" if hasattr(view, "facing") else "target"] += 1
        return attack.score(view)

    return replace(attack, score=score)


@pytest.mark.slow
def test_every_attack_scores_the_target_once_and_the_stand_ins_once_and_by_halves():
    calls = Counter()
    case = leaking_case(attacks={name: counted(name, calls) for name in ("loss", "lira_bayes", "rmia")})
    evaluate(case, case.scores)
    assert {calls[name, "target"] for name in case.attacks} == {1}
    assert {calls[name, "stand_ins"] for name in case.attacks} == {3}


def test_a_finding_is_computed_once(monkeypatch):
    calls = Counter()
    choose = headline.choose

    def chosen(*arguments):
        calls["choose"] += 1
        return choose(*arguments)

    monkeypatch.setattr(headline, "choose", chosen)
    case = leaking_case()
    evaluate_case(case)
    assert calls["choose"] == 1
    assert case.of(records.record_table) is case.of(records.record_table)


# -- a new one ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sureness:
    """Return the target's mean confidence on its members."""

    mean: float


@dataclass(frozen=True, repr=False)
class WithSureness(Results):
    sureness: Sureness | None = None


def sureness(case):
    return Sureness(float(case.view.target("p_y")[case.truth.member].mean()))


def section(results):
    if results.sureness is None:
        return None
    return Section("sureness", "Sure & certain", Markup(f"<p>On average {results.sureness.mean:.3f}.</p>"))


@pytest.mark.slow
def test_a_finding_is_a_file_a_field_and_a_row():
    """And its section likewise."""
    results = WithSureness(**find_all(leaking_case(), FINDINGS | {"sureness": sureness}))
    assert (*FINDINGS, "sureness") == WithSureness.finding_names()
    document = json.loads(json.dumps(results.document(), allow_nan=False))
    assert WithSureness.from_document(document).document() == results.document()
    made = report_page(results, SECTIONS | {"sureness": section})
    assert f"<p>On average {results.sureness.mean:.3f}.</p>" in made
    assert '<h2 id="sureness">Sure &amp; certain</h2>' in made
    older = WithSureness.from_document({k: v for k, v in document.items() if k != "sureness"})
    assert older.sureness is None
    assert "sureness" not in report_page(older, SECTIONS | {"sureness": section})
    # A version that does not know it reads the rest.
    known = Results(**{name: getattr(results, name) for name in FINDINGS})
    assert Results.from_document(document).document() == known.document()


# -- older files --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", FINDINGS)
def test_results_that_lack_a_finding_can_be_read_and_shown(name, tmp_path):
    content = leaking().document()
    del content[name]
    (tmp_path / "results.json").write_text(json.dumps(content))
    results = gl.read_results(tmp_path)
    assert getattr(results, name) is None
    for form in (report_page, summary, fragment):
        text = form(results)
        assert "be identified?" in text
        assert "None" not in text.replace("None found", "").replace("None of", "")


def test_results_without_any_finding_can_be_shown():
    for form in (report_page, summary, fragment):
        assert "Not measured" in form(Results())
    assert Results().attacks.empty
    with pytest.raises(FolderError, match="names: none"):
        Results().attack("loss")
    with pytest.raises(FolderError, match="no attack to compare"):
        hold(Results(), Limit(0.6))


def test_a_finding_that_is_damaged_is_not_read_as_one_that_is_lacking(tmp_path):
    (tmp_path / "results.json").write_text(json.dumps({"format": FORMAT, "subject": {"name": "x"}}))
    with pytest.raises(FolderError, match="damaged"):
        gl.read_results(tmp_path)


# -- facts left, sentences right ----------------------------------------------------------------------------------------


@pytest.fixture
def empty_table():
    """Empties the table of attacks when called; it is filled again afterwards, in the same order."""
    rows = dict(ATTACKS)
    yield ATTACKS.clear
    ATTACKS.clear()
    ATTACKS.update(rows)


@pytest.mark.slow
def test_the_table_of_attacks_does_not_change_the_page_of_fixed_results(empty_table):
    audited_results = evaluate_case(leaking_case())
    sure = {"auc": gl.Estimate(0.99, 0.98, 1.0), "p_value": 0.001, "beyond_headline": gl.Estimate(0.1, 0.05, 0.15)}
    better = replace(audited_results.outcomes[0], name="leaf_shares", attacker_needs="has the model file", **sure)
    results = replace(audited_results, outcomes=(better, *audited_results.outcomes))
    before = [form(results) for form in (report_page, summary, fragment)]
    assert "run by someone who has the model file" in before[0]
    empty_table()
    assert not gl.attacks.ATTACKS
    assert [form(results) for form in (report_page, summary, fragment)] == before


@pytest.mark.slow
def test_the_access_that_an_attack_needs_is_in_the_results(tree, blobs):
    results = gl.audit(tree, *blobs, references=0, attacks=["loss", "leaf_shares", "optimal_threshold"])
    assert results.attack("leaf_shares").attacker_needs == "has the model file"
    assert results.attack("loss").attacker_needs == ""
    assert [outcome.oracle for outcome in results.outcomes] == [False, False, True]
    (test,) = results.hypothesis_tests
    assert (test.name, test.needs_population, test.levels) == ("loss", True, ())
    assert "loss was not held to a promise" not in report_page(results)  # there is no such section without a test


@pytest.mark.slow
def test_results_hold_no_sentence():
    """Codes, names and numbers: a text in results.json has no full stop at its end, and few words."""
    document = evaluate_case(leaking_case(checks=table.of_duplicates(Duplicates(3, 9, dropped=False)))).document()
    names = {
        text for outcome in document["outcomes"] for text in (outcome["summary"], outcome["paper"], outcome["title"])
    }
    texts = [text for text in _texts(document) if text not in names]
    assert not [text for text in texts if text.endswith(".") or len(text.split()) > 3]


def _texts(content):
    if isinstance(content, str):
        yield content
    for part in content.values() if isinstance(content, dict) else content if isinstance(content, list) else ():
        yield from _texts(part)


@pytest.mark.slow
def test_few_references_fix_the_headline():
    results = evaluate_case(case_of(gaussian_simulation(1.0, records=200, models=4), ("entropy", "loss")))
    assert (results.headline.name, results.headline.measure, results.headline.stand_ins) == ("loss", "fixed", 0)
    assert evaluate_case(case_of(gaussian_simulation(1.0, records=200, models=1), ("entropy",))).references is None


def test_findings_use_one_thread_so_that_bits_do_not_depend_on_cores():
    def threads(case):
        return max(library["num_threads"] for library in threadpool_info())

    assert find_all(leaking_case(records=60), {"threads": threads}) == {"threads": 1}
