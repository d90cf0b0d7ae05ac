"""Diagnostics: every check has a code, a state, values, a sentence and a heading in the docs, and detects its problem."""

import re
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from benchmarks.error_rates import recipe_mismatch
from sklearn.linear_model import LogisticRegression

import guestlist as gl
from example_results import leaking, with_check
from guestlist import CHECKS, InputError, UntilWidth
from guestlist._collect import Duplicates
from guestlist._diagnostics import table as checks
from guestlist._diagnostics.attacks import MIN_ACCURACY_GAP
from guestlist._diagnostics.core import never
from guestlist._diagnostics.table import Check, check_codes
from guestlist._report import diagnostics, terminal
from guestlist._report.diagnostics import check_lines, sentence
from guestlist._report.page import report_page
from guestlist._report.sections.headline import typical_sentence
from guestlist.testing import (
    case_of,
    evaluate_case,
    gaussian_simulation,
    leaking_case,
    noise_simulation,
    signals_of_margin,
)
from simulated_cases import regression_case, with_signals

summary = partial(terminal.summary, verbose=True)

DOCS = Path(__file__).parents[2] / "docs"
SECTION = re.compile(r"^## (GL\d+): (.+)$", re.MULTILINE)
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def state(case, code: str) -> str:
    return evaluate_case(case).check(code).state


def sections() -> dict[str, tuple[str, str, str]]:
    """Return the title, the text and the shared setup of each code, from the pages of checks."""
    by_code = {}
    for page in sorted(DOCS.glob("checks_*.md")):
        intro, *parts = SECTION.split(page.read_text("utf-8"))
        (setup,) = PYTHON.findall(intro)
        for code, title, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
            assert code not in by_code
            by_code[code] = (title, text, setup)
    return by_code


def test_every_code_has_a_heading_and_a_remedy_and_no_other():
    by_code = sections()
    assert {code: title for code, (title, _, _) in by_code.items()} == {code: row.title for code, row in CHECKS.items()}
    assert list(CHECKS) == sorted(CHECKS)
    assert all("**What to do.**" in text for _, text, _ in by_code.values())


def test_the_docs_list_the_checks_that_fail_the_gate():
    failing = {code: row.title for code, row in CHECKS.items() if row.undermines is not never}
    assert {code for code, (_, text, _) in sections().items() if "**Gate.** Fails" in text} == set(failing)
    table = re.findall(r"^\| (GL\d+) (.+?) \|", (DOCS / "gate.md").read_text("utf-8"), re.MULTILINE)
    assert dict(table) == failing


@pytest.mark.slow
@pytest.mark.parametrize("code", CHECKS)
def test_the_example_of_a_check_triggers_it(code, tmp_path, monkeypatch):
    _, text, setup = sections()[code]
    (example,) = PYTHON.findall(text)
    for library in ("torch", "xgboost"):
        if library in example:
            pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(setup + example, f"{code} in the docs", "exec"), names)
    assert names["results"].check(code).state == "issue"


@pytest.mark.slow
def test_every_check_is_made_once_and_in_order():
    checks = evaluate_case(leaking_case()).checks
    assert [check.code for check in checks] == list(CHECKS)
    assert {check.state for check in checks} <= set(diagnostics.ORDER)


def test_no_check_needs_classes(monkeypatch):
    results = evaluate_case(regression_case())
    assert results.check("GL104").state == results.check("GL113").state == "not applicable"
    assert results.check("GL103").state == "passed"  # R² instead of an accuracy
    assert not [check for check in results.checks if check.state == "issue"]
    assert summary(results)


# -- each one -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_duplicates_are_an_issue_or_were_dropped():
    some, none = Duplicates(3, 10, dropped=False), Duplicates(0, 10, dropped=True)
    duplicates, dropped = checks.of_duplicates(some)
    assert (duplicates.state, dropped.state) == ("issue", "not applicable")
    assert duplicates.values == {"duplicates": 3, "nonmembers": 10}
    duplicates, dropped = checks.of_duplicates(replace(some, dropped=True))
    assert (duplicates.state, dropped.state) == ("passed", "issue")
    assert [check.state for check in checks.of_duplicates(none)] == ["passed", "passed"]
    assert state(leaking_case(checks=checks.of_duplicates(some)), "GL101") == "issue"
    assert state(leaking_case(), "GL101") == "not run"


@pytest.mark.slow
def test_an_accuracy_at_chance():
    case = leaking_case()
    assert state(case, "GL103") == "passed"
    assert state(with_signals(case, correct=np.zeros(400)), "GL103") == "issue"


@pytest.mark.slow
def test_saturated_outputs():
    case, sure = leaking_case(), np.tile([0.2, 0.8], (400, 1))
    probabilities = replace(case.setting, scale="probabilities")
    assert state(case, "GL104") == "not applicable"
    assert state(replace(case, setting=probabilities), "GL104") == "not run"
    assert state(replace(case, setting=replace(probabilities, outputs=sure)), "GL104") == "passed"
    some = np.where(np.arange(400)[:, None] < 40, [0.0, 1.0], sure)
    check = evaluate_case(replace(case, setting=replace(probabilities, outputs=some))).check("GL104")
    assert (check.state, check.values["share"]) == ("issue", 0.1)


@pytest.mark.slow
def test_references_of_another_size(snapshot):
    case = leaking_case()
    assert state(case, "GL105") == "passed"
    small = case.view.reference_member & (np.arange(400) % 2 == 0)
    other = replace(case, view=replace(case.view, reference_member=small))
    assert state(other, "GL105") == "issue"
    text = sentence(evaluate_case(other).check("GL105"))
    snapshot(text)
    smaller = replace(other, truth=replace(other.truth, evaluated=np.arange(400) < 350))
    snapshot(sentence(evaluate_case(smaller).check("GL105")))
    large = replace(case, view=replace(case.view, reference_member=case.view.reference_member | (np.arange(400) < 150)))
    text = sentence(evaluate_case(large).check("GL105"))
    snapshot(text)
    shadow = evaluate_case(replace(other, setting=replace(case.setting, predictions=True))).check("GL105")
    assert shadow.state == "issue"
    snapshot(sentence(shadow))


@pytest.mark.slow
def test_references_that_are_copies(monkeypatch):
    case = leaking_case()
    assert state(case, "GL106") == "passed"
    values = {name: np.vstack([matrix[:1], matrix[:1], matrix[2:]]) for name, matrix in case.view.values.items()}
    check = evaluate_case(replace(case, view=replace(case.view, values=values))).check("GL106")
    assert (check.state, check.values) == ("issue", {"copies": 1, "references": 10})
    nearly = {
        name: matrix.copy() for name, matrix in values.items()
    }  # the same for all records that are compared first
    nearly["p_y"][1, 1] += 0.1
    monkeypatch.setattr("guestlist._diagnostics.models.evenly_spaced", lambda rows: np.arange(0, len(rows), 2))
    assert state(replace(case, view=replace(case.view, values=values)), "GL106") == "issue"
    assert state(replace(case, view=replace(case.view, values=nearly)), "GL106") == "passed"
    assert state(case_of(gaussian_simulation(1.0, records=100, models=1), ("loss",)), "GL106") == "not applicable"


@pytest.mark.slow
@pytest.mark.parametrize(("code", "kind"), [("GL107", "distilled"), ("GL108", "left_out")])
def test_models_that_do_not_differ(code, kind, snapshot):
    case = leaking_case()
    assert state(case, code) == "passed"
    models = case.view.evidence.need(kind)

    def with_models(values):
        evidence = case.view.evidence
        evidence = evidence.without(kind) if values is None else evidence.with_part(kind, values)
        return replace(case, view=replace(case.view, evidence=evidence))

    same = {name: np.tile(matrix[:1], (len(matrix), 1)) for name, matrix in models.values.items()}
    check = evaluate_case(with_models(replace(models, values=same))).check(code)
    assert (check.state, check.values) == ("issue", {"same": 400, "records": 400})
    snapshot(" ".join(sentence(check).split()))
    single = replace(models, values={n: m[:1] for n, m in models.values.items()}, member=models.member[:1])
    assert state(with_models(single), code) == "not run"
    assert state(with_models(None), code) == "not applicable"


@pytest.mark.slow
def test_an_interval_that_stays_wide():
    case = leaking_case()
    assert state(case, "GL111") == "not applicable"
    for wanted, expected in ((0.001, "issue"), (0.99, "passed")):
        setting = replace(case.setting, until=UntilWidth(wanted, start=8, at_most=10))
        assert state(replace(case, setting=setting), "GL111") == expected


def interchanged(case):
    return replace(case, truth=replace(case.truth, member=~case.truth.member))


@pytest.mark.slow
def test_interchanged_sets_are_reported(snapshot):
    case = leaking_case(attacks={"loss": gl.attacks.ATTACKS["loss"]})
    assert state(case, "GL112") == "passed"
    check = evaluate_case(interchanged(case)).check("GL112")
    assert check.state == "issue"
    assert check.values["attack"] == "loss"
    snapshot(sentence(check), "loss")


@pytest.mark.slow
def test_flipped_labels_are_not_put_down_to_interchanged_sets():
    """A model that is right on nearly all records, with every label flipped: members fit worst, and less than a constant does."""
    rng = np.random.default_rng(0)
    member, labels = np.repeat([True, False], 500), rng.integers(0, 2, 1000)
    margin = rng.normal(2, 1, 1000) + 1.5 * member  # of the class it was trained with
    logits = np.where(np.arange(2) == labels[:, None], margin[:, None], 0.0)
    right, flipped = (
        gl.audit_predictions(gl.Predictions(logits, y, member, scale="logits")) for y in (labels, 1 - labels)
    )
    assert right.check("GL112").state == "passed"
    assert flipped.check("GL112").state == "issue"
    assert "labels probably differ from those used in training" in flipped.summary(verbose=True).replace("\n", " ")
    assert "interchanged" not in sentence(flipped.check("GL112"))
    turned = gl.audit_predictions(gl.Predictions(logits, labels, ~member, scale="logits"))
    assert "probably swapped" in sentence(turned.check("GL112"))


@pytest.mark.slow
def test_a_generalisation_gap_that_no_attack_detects():
    """Members and non-members interchanged: the accuracies differ, and every attack is reversed."""
    case = leaking_case(records=1000)
    results = evaluate_case(case)
    assert results.check("GL113").state == "passed"  # the attacks see it
    assert results.check("GL113").values["low"] > MIN_ACCURACY_GAP
    swapped = evaluate_case(interchanged(case))
    assert not any(outcome.beats_guessing for outcome in swapped.outcomes)
    assert swapped.check("GL113").state == "issue"
    assert "are not swapped" in report_page(swapped)
    assert "are not swapped" in " ".join(summary(swapped).split())


def test_a_generalisation_gap_that_the_attacks_do_not_use():
    """Uninformative scores next to outputs that are right about members: labels of the other set may be shuffled."""
    case = case_of(noise_simulation(records=600, models=1, seed=3), ("entropy",))
    gap = np.where(case.truth.member, np.arange(600) % 10 > 0, np.arange(600) % 10 > 4).astype(float)
    assert state(with_signals(case, correct=gap), "GL113") == "issue"
    small = np.where(case.truth.member, np.arange(600) % 10 > 0, np.arange(600) % 10 > 1).astype(float)
    assert state(with_signals(case, correct=small), "GL113") == "passed"


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(10), pytest.param(range(10, 40), marks=pytest.mark.long)])
def test_no_gap_is_reported_without_a_gap(seeds):
    cases = (case_of(noise_simulation(records=300, models=1, seed=seed), ("loss",)) for seed in seeds)
    assert {state(case, "GL113") for case in cases} == {"passed"}


@pytest.mark.slow
def test_records_given_more_than_once(blobs, tree, snapshot):
    members, nonmembers = blobs
    twice = np.concatenate([members[0], members[0][:30]]), np.concatenate([members[1], members[1][:30]])
    population = (
        np.concatenate([nonmembers[0][:20], members[0][:10] + 1]),
        np.concatenate([nonmembers[1][:20], members[1][:10]]),
    )
    with pytest.warns(gl.AuditWarning) as caught:
        results = gl.audit(tree, twice, nonmembers, population, references=0)
    assert results.check("GL115") == Check("GL115", "issue", {"copies": 60, "members": 270})
    assert results.check("GL116") == Check("GL116", "issue", {"duplicates": 20, "evaluated": 470, "removed": 20})
    assert results.subject.population == 10
    told_of = " ".join(str(warning.message) for warning in caught)
    snapshot(told_of, "60", "270", "20", "470")
    plain = gl.audit(tree, members, nonmembers, references=0)
    assert plain.check("GL115") == Check("GL115", "passed", {"copies": 0, "members": 240})
    assert plain.check("GL116").state == "not applicable"
    assert plain.check("GL117").state == "passed"
    assert state(leaking_case(), "GL115") == "not run"


@pytest.mark.slow
def test_near_duplicates_are_reported(blobs, tree, caplog):
    members, (x, y) = blobs
    rng = np.random.default_rng(0)
    near = np.concatenate([x[:100], members[0][:100] + 0.02 * rng.normal(size=(100, 5))])
    results = gl.audit(tree, members, (near, np.concatenate([y[:100], members[1][:100]])), references=0)
    assert "nearer to one member than 19 of 20" in caplog.text  # a test's alarm is no warning
    assert results.check("GL117").state == "issue"
    assert results.check("GL101").state == "passed"


@pytest.mark.slow
def test_a_target_unlike_its_references(snapshot):
    case = leaking_case(records=600, models=25)
    assert state(case, "GL118") == "passed"
    other = with_signals(
        case, **{name: row[0] for name, row in signals_of_margin(1.5 + case.view.values["margin"][:1]).items()}
    )
    results = evaluate_case(other)
    assert results.check("GL118").state == "issue"
    snapshot(sentence(results.check("GL118")))
    # Whether the model is typical is then not reported.
    typical = replace(results.headline.same_recipe, aucs=(0.5, 0.51) * 25, share_larger=0.0)
    alone = replace(results, headline=replace(results.headline, same_recipe=typical))
    unusual = "than expected"
    assert unusual in typical_sentence(with_check(alone, Check("GL118", "passed", {})))
    assert unusual in typical_sentence(replace(alone, checks=None))  # results of an older version
    assert unusual not in typical_sentence(alone)
    assert "GL118" in typical_sentence(alone)
    smaller = with_check(with_check(alone, Check("GL118", "passed", {})), Check("GL105", "issue", {}))
    assert "GL105" in typical_sentence(smaller)
    assert unusual not in typical_sentence(smaller)
    outside = with_check(with_check(alone, Check("GL118", "passed", {})), Check("GL129", "issue", {}))
    assert "GL129" in typical_sentence(outside)
    assert unusual not in typical_sentence(outside)
    small = replace(
        other, view=replace(other.view, reference_member=case.view.reference_member & (np.arange(600) % 3 > 0))
    )
    assert state(small, "GL118") == "not run"  # references of another size differ anyhow
    assert state(case_of(gaussian_simulation(1.0, records=100, models=1), ("loss",)), "GL118") == "not applicable"
    assert state(regression_case(), "GL118") == "not applicable"


@pytest.mark.slow
def test_an_audit_with_another_recipe_reports_it():
    assert recipe_mismatch.issues(recipe_mismatch.audited("different recipe", 0, references=16)) == ["GL118"]


@pytest.mark.slow
def test_an_audit_without_issues_warns_about_nothing():
    assert recipe_mismatch.issues(recipe_mismatch.audited("no fault", 0, references=16)) == []


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("few", [1, 4])
def test_a_class_of_few_records_does_not_stop_an_audit(classes, few, snapshot):
    """One percent of 400 records: a reference would often miss the class."""
    rng = np.random.default_rng(classes)
    x, y = rng.normal(size=(400, 4)), rng.integers(classes - 1, size=400)
    y[[5, 205, 105, 305][:few]] = classes - 1
    model = LogisticRegression().fit(x[:200], y[:200])
    results = gl.audit(model, (x[:200], y[:200]), (x[200:], y[200:]), references=16, attacks=["lira", "loss"], jobs=1)
    check = results.check("GL120")
    assert check.state == ("issue" if few == 1 else "passed")
    if few == 1:
        assert (check.values["classes"], check.values["records"]) == (1, 1)
        assert (check.values["without"] > 0) == (classes > 2)
        snapshot(sentence(check), "1")
    assert state(regression_case(), "GL120") == "not applicable"


# -- ignored, and shown --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_check_can_be_ignored_and_the_report_lists_it(blobs, tree):
    members, (x, y) = blobs
    nonmembers = np.r_[x, members[0][:7]], np.r_[y, members[1][:7]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results = gl.audit(tree, members, nonmembers, references=0, ignore=("GL101",))
    assert results.check("GL101") == Check("GL101", "ignored", {"duplicates": 7, "nonmembers": 207})
    for text in (report_page(results), summary(results)):
        assert "ignored on request" in text
        assert "7 of 207" not in text


@pytest.mark.parametrize("wrong", [("GL999",), ("GL101", "gl104"), "GL104"])
def test_an_unknown_code_is_refused_in_words(wrong, blobs, tree):
    with pytest.raises(InputError, match=r"no check '|a list of codes"):
        check_codes(wrong)
    with pytest.raises(InputError, match=r"no check '|a list of codes"):
        gl.audit(tree, *blobs, references=0, ignore=wrong)


def test_issues_are_first_and_passed_checks_are_collapsed():
    results = with_check(leaking(), Check("GL113", "issue", {"members": 0.9, "nonmembers": 0.5}))
    lines = check_lines(results)
    assert [row.code for row in lines[:3]] == ["GL101", "GL113", "GL104"]
    assert [row.state for row in lines] == sorted((row.state for row in lines), key=diagnostics.ORDER.index)
    source = report_page(results)
    section = source[source.index('id="checks"') : source.index('id="limits"')]
    open_part, *collapsed = section.split("<details")
    assert all((row.code in open_part) == (row.state in diagnostics.REPORTED) for row in lines)
    assert all(any(row.code in part for part in collapsed) == (row.state not in diagnostics.REPORTED) for row in lines)
    # Checks that were not run are never listed with those that passed.
    passed = next(part for part in collapsed if "Passed" in part)
    assert all((row.code in passed) == (row.state == "passed") for row in lines)


@pytest.mark.slow
def test_a_check_of_a_newer_version_is_shown_by_its_code():
    results = replace(leaking(), checks=(Check("GL999", "issue", {}), Check("GL998", "odd", {})))
    assert "GL999" in report_page(results)
    assert "GL998" in summary(results)
