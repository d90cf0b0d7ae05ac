"""The baseline in an audit: computed once, saved in the folder, and compared with the verdict."""

import json
import logging
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from benchmarks.error_rates import baseline as baseline_simulations
from click.testing import CliRunner
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import guestlist as gl
from guestlist._baseline import baseline as baseline_module
from guestlist._report import terminal
from guestlist._report.page import report_page
from guestlist._report.sections.answer import verdict_text
from guestlist._store import open_store
from guestlist.cli import main
from guestlist.testing import evaluate_case, leaking_case

summary = partial(terminal.summary, verbose=True)


@pytest.fixture(scope="module")
def years():
    """A model, last year's patients, who are clear cases, and this year's, who are not: it saw neither."""
    rng = np.random.default_rng(0)

    def patients(records, clear):
        y = rng.integers(2, size=records)
        return clear * (y[:, None] - 0.5) + rng.normal(size=(records, 3)), y

    return LogisticRegression().fit(*patients(500, 1.5)), patients(150, 2.5), patients(150, 0.5)


@pytest.mark.slow
def test_an_audit_of_two_distributions_does_not_report_a_leak(years, caplog):
    with caplog.at_level(logging.WARNING):
        results = gl.audit(*years, references=0, attacks=["loss", "entropy"])
    assert "never queries the model" in caplog.text
    assert results.check("GL119").state == "issue"
    assert results.check("GL119").values["p_value"] == results.baseline.p_value == 1 / 400
    assert verdict_text(replace(results, baseline=None)).startswith("Yes")
    assert verdict_text(results).startswith("Unclear. Members and non-members differ without the model")
    assert "cannot be attributed to the model alone" in verdict_text(results)
    assert "1 in 20 random splits" not in verdict_text(results)  # p = 1 / 400
    weak = replace(results, baseline=replace(results.baseline, p_value=0.04))
    assert "1 in 20 random splits" in verdict_text(weak)
    assert "sources" not in results.untested
    words = " ".join(summary(results).split())
    assert f"separates members from non-members with AUC {results.baseline.auc:.3f}" in words
    assert f"80% power to detect a difference of AUC {results.baseline.detectable_auc:.3f}" in words
    source = report_page(results)
    assert 'id="baseline"' in source


@pytest.mark.slow
def test_one_source_keeps_its_verdict(tree, blobs, caplog):
    with caplog.at_level(logging.WARNING):
        results = gl.audit(tree, *blobs, references=0)
    assert not caplog.records
    assert results.check("GL119").state == "passed"
    assert verdict_text(results).startswith("Yes")
    assert f"AUC {results.baseline.detectable_auc:.3f} or more." in " ".join(summary(results).split())
    assert "Likely the model" in results._repr_html_()


def never(*arguments, **options):
    raise AssertionError("it was made twice")


@pytest.mark.slow
def test_the_baseline_is_computed_once_and_read_again(tree, blobs, tmp_path, monkeypatch):
    first = gl.audit(tree, *blobs, references=0, folder=tmp_path / "a")
    before = (tmp_path / "a" / "results.json").read_bytes()
    monkeypatch.setattr(baseline_module, "cross_fit_baseline", never)
    gl.audit(tree, *blobs, references=0, folder=tmp_path / "a")
    assert (tmp_path / "a" / "results.json").read_bytes() == before
    case = gl.read_case(tmp_path / "a")
    assert case.baseline == first.baseline == gl.read_results(tmp_path / "a").baseline
    assert evaluate_case(case).check("GL119").state == "passed"
    assert gl.collect(tree, *blobs, references=0, folder=tmp_path / "a").baseline == first.baseline


@pytest.mark.slow
def test_a_folder_without_it_or_with_that_of_other_records_gets_its_own(tree, blobs, tmp_path):
    results = gl.audit(tree, *blobs, references=0, folder=tmp_path / "a")
    path = tmp_path / "a" / "baseline.json"
    content, store = json.loads(path.read_text()), open_store(tmp_path / "a")
    store.write_json(path, {"digest": "others", "baseline": {**content["baseline"], "auc": 0.9}})
    assert gl.audit(tree, *blobs, references=0, folder=tmp_path / "a").baseline == results.baseline
    path.unlink()
    assert gl.read_case(tmp_path / "a").baseline is None
    assert gl.audit(tree, *blobs, references=0, folder=tmp_path / "a").baseline == results.baseline
    assert json.loads(path.read_text()) == content


@pytest.mark.slow
def test_persons_and_groups_are_part_of_what_it_is_made_of(tree, blobs, tmp_path):
    gl.audit(tree, *blobs, references=0, folder=tmp_path / "a")
    store = open_store(tmp_path / "a")
    names = np.arange(440).astype(str).astype(object)
    made = {
        baseline_module._digest(store, *parts)
        for parts in (({}, None), ({}, names), ({"sex": names}, None), ({"age": names}, None))
        for parts in (({}, None), ({}, names), ({"sex": names}, None), ({"age": names}, None))
    }
    assert len(made) == 4


@pytest.mark.slow
def test_it_can_be_omitted_and_the_results_record_it(years):
    results = gl.audit(*years, references=0, attacks=["loss"], baseline=False)
    assert results.baseline is None
    assert results.check("GL119").state == "not run"
    assert "sources" in results.untested
    assert verdict_text(results).startswith("Yes")


@pytest.mark.slow
def test_it_does_not_apply_where_members_were_drawn(blobs, tmp_path):
    (x, y), _ = blobs
    results = gl.play(gl.games.Sides(100, 100), DecisionTreeClassifier(), (x, y), references=0, folder=tmp_path / "a")
    assert (results.baseline, results.check("GL119").state) == (None, "not applicable")
    assert "sources" not in results.untested
    assert evaluate_case(gl.read_case(tmp_path / "a")).check("GL119").state == "not applicable"


@pytest.mark.slow
def test_no_attack_is_given_it(years):
    """It knows who is a member; what attacks see is the same with it and without."""
    with_baseline, other = (gl.audit(*years, references=0, baseline=baseline).records for baseline in (True, False))
    scores = [name for name in with_baseline if name.startswith("score_")]
    assert scores
    assert with_baseline[scores].equals(other[scores])


@pytest.mark.slow
def test_predictions_are_inputs_by_label_and_group(tmp_path):
    rng = np.random.default_rng(0)
    member = np.arange(200) < 100
    labels = np.where(rng.random(200) < 0.5, rng.integers(2, size=200), member)
    outputs = rng.dirichlet([2, 2], size=200)
    results = gl.audit_predictions(gl.Predictions(outputs, labels, member))
    assert results.baseline.inputs == ("label",)
    assert results.baseline.significant
    assert "a model-free baseline" in summary(results).replace("\n    ", " ")
    np.savez(tmp_path / "a.npz", probabilities=outputs, labels=labels, member=member)
    options = ["audit", "--predictions", str(tmp_path / "a.npz"), "--out", str(tmp_path / "out")]
    assert CliRunner().invoke(main, options).exit_code == 0
    assert gl.read_results(tmp_path / "out").baseline == results.baseline
    assert CliRunner().invoke(main, [*options, "--no-baseline"]).exit_code == 0
    assert gl.read_results(tmp_path / "out").check("GL119").state == "not run"


def test_a_case_made_by_hand_has_none():
    results = evaluate_case(leaking_case())
    assert (results.baseline, results.check("GL119").state) == (None, "not run")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["women against men", pytest.param("age <= 30 against others, column excluded", marks=pytest.mark.long)]
)
def test_a_model_that_saw_neither_sex_nor_age_group_does_not_leak(name, real_data, monkeypatch):
    monkeypatch.setenv("GUESTLIST_DATA", str(real_data("adult.parquet").parent))
    result = baseline_simulations.two_populations(name, repeats=4, each=100)
    assert result["verdict_yes"] == 0
    assert result["flagged"] == 1
    assert result["detectable_auc"] > 0.55
