"""Estimates of the duration of an audit."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import guestlist as gl
from guestlist._audit.estimate import evaluation_seconds
from guestlist.evidence import Distilled, FullOutputs, LeftOut, Perturbed, Quantiles

LOAD = Path(__file__).parents[2] / "benchmarks" / "load" / "results.json"


@pytest.fixture(scope="module")
def linear(blobs):
    return LogisticRegression().fit(*blobs[0])


def test_models_share_the_jobs(linear, blobs):
    two = gl.estimate(linear, *blobs, references=8, jobs=2, seconds_per_model=60)
    assert (two.references, two.seconds_per_model, two.jobs) == (8, 60, 2)
    assert two.seconds == pytest.approx(two.queries + 240 + two.evaluation + sum(two.evidence.values()))
    estimate = gl.estimate(linear, *blobs, references=1, jobs=2, seconds_per_model=60)
    assert estimate.forecast.seconds - estimate.evaluation == pytest.approx(60)  # one model is trained by one process


def test_evidence_is_counted_in_trainings_and_queries(linear, blobs):
    plans = [Distilled(models=3), LeftOut(records=2, models=5), FullOutputs(), Perturbed(10), Quantiles(level=0.5)]
    estimated = gl.estimate(linear, *blobs, references=4, evidence=plans, jobs=1, seconds_per_model=10)
    assert estimated.evidence["distilled"] == 30
    assert estimated.evidence["left_out"] == 2 * 2 * 5 * 10  # two members and two non-members
    assert estimated.evidence["full_outputs"] == 0  # its reference models are trained anyway
    assert estimated.evidence["perturbed"] == pytest.approx(10 * estimated.queries)
    assert "leverage" in estimated.evidence  # collected by default


def test_one_model_is_trained_and_nothing_is_stored(linear, blobs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sizes = []

    def train(data, rng):
        sizes.append(len(data))
        return LogisticRegression().fit(data.x, data.y)

    estimated = gl.estimate(linear, *blobs, references=16, train=train, jobs=1)
    assert len(sizes) == 1
    assert abs(sizes[0] - len(blobs[0][1])) < 50
    assert estimated.seconds_per_model > 0
    gl.estimate(linear, *blobs, references=16, train=train, jobs=1, seconds_per_model=1)
    gl.estimate(linear, *blobs, references=0, train=train, jobs=1)
    assert len(sizes) == 1  # known, or not needed
    assert list(tmp_path.iterdir()) == []


def test_the_text_lists_every_part(linear, blobs):
    text = str(gl.estimate(linear, *blobs, references=32, jobs=2, seconds_per_model=600, evidence=[Perturbed(2)]))
    assert text.startswith("Estimated time: about 2.7 h.\n  Queries of the model: ")
    assert "\n  32 reference models: 2.7 h (10 min each, 2 in parallel)\n  Evidence perturbed: " in text
    assert text.endswith("\n  Evaluation: 5 s, from a benchmark")


def test_the_evaluation_is_that_of_the_benchmark():
    measured = json.loads(LOAD.read_text("utf-8"))
    rows = [row for name in ("references", "records") for row in measured[name]]
    estimated = [evaluation_seconds(row["records"], row["references"]) for row in rows]
    np.testing.assert_allclose(estimated, [row["CPU seconds"] for row in rows], rtol=0.2)


@pytest.fixture(scope="module")
def begun(linear, blobs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("audit")
    gl.collect(linear, *blobs, folder=folder, references=3, evidence=[Distilled(models=2)], jobs=1, baseline=False)
    return folder


def test_models_and_evidence_in_the_folder_are_not_counted(linear, blobs, begun):
    before = {path: path.read_bytes() for path in begun.rglob("*") if path.is_file()}
    plans = [Distilled(models=2), Perturbed(10)]
    options = {"folder": begun, "evidence": plans, "jobs": 1, "seconds_per_model": 10}
    estimated = gl.estimate(linear, *blobs, references=8, **options)
    assert (estimated.references, estimated.existing) == (8, 3)
    assert estimated.forecast.seconds - estimated.evaluation == 50
    assert "perturbed" in estimated.evidence
    assert "distilled" not in estimated.evidence
    assert "\n  5 more reference models: 50 s (10 s each, one at a time); the folder holds 3\n" in str(estimated)
    complete = gl.estimate(linear, *blobs, references=2, folder=begun, jobs=1)
    assert (complete.existing, complete.seconds_per_model) == (2, 0)  # nothing to train, so nothing is timed
    assert "\n  2 reference models: already in the folder\n" in str(complete)
    assert {path: path.read_bytes() for path in begun.rglob("*") if path.is_file()} == before


def test_evidence_that_was_partly_collected_counts_with_the_missing_part(linear, blobs, tmp_path):
    plans = [Distilled(models=3), Perturbed(4), LeftOut(records=2, models=2), Quantiles(level=0.5)]
    gl.collect(linear, *blobs, folder=tmp_path, references=2, evidence=plans, jobs=1, baseline=False)
    options = {"folder": tmp_path, "references": 2, "jobs": 1, "seconds_per_model": 10}
    assert set(gl.estimate(linear, *blobs, evidence=plans, **options).evidence) == set()
    evidence = tmp_path / "evidence"
    for name in ("distilled/model-0002.npz", "perturbed/copy-0001.npz", "quantiles/regression.npz"):
        (evidence / name).unlink()
    min((evidence / "left_out").glob("*.npz")).unlink()
    # Stored plans are resumed by every later run.
    interrupted = gl.estimate(linear, *blobs, **options)
    assert interrupted.evidence["distilled"] == 10
    assert interrupted.evidence["left_out"] == 20
    assert interrupted.evidence["perturbed"] == pytest.approx(interrupted.queries)
    assert interrupted.evidence["quantiles"] == 5
    larger = gl.estimate(linear, *blobs, evidence=[Distilled(models=5), LeftOut(records=2, models=3)], **options)
    assert larger.evidence["distilled"] == 30
    assert larger.evidence["left_out"] == (3 + 3 * 1) * 10  # one record lacks three models, three records lack one
    full = gl.estimate(linear, *blobs, evidence=[FullOutputs()], **options)
    assert full.evidence["full_outputs"] == 20  # both references are trained again
    with pytest.raises(gl.errors.FolderError, match="collected with records='auto'"):
        gl.estimate(linear, *blobs, evidence=[Distilled(records="pool")], **options)
    # A budget of minutes completes the evidence too, before it trains more reference models.
    minutes = gl.WithinMinutes(0.001, seconds_per_model=60)
    gl.collect(linear, *blobs, folder=tmp_path, references=minutes, jobs=1, baseline=False)
    assert (evidence / "distilled/model-0002.npz").exists()
    assert set(gl.estimate(linear, *blobs, **options).evidence) == set()


def test_a_folder_of_a_different_audit_is_refused(linear, blobs, begun):
    with pytest.raises(gl.errors.FolderError, match="holds a different audit"):
        gl.estimate(linear, *blobs, folder=begun, seed=1, seconds_per_model=1)


def test_options_are_those_of_an_audit(linear, blobs, tmp_path):
    options = {"attacks": ["loss"], "prior": 0.1, "ignore": ["GL104"], "name": "model", "progress": False}
    assert gl.estimate(linear, *blobs, folder=tmp_path / "new", seconds_per_model=1, **options).existing == 0
    assert not (tmp_path / "new").exists()
    with pytest.raises(TypeError, match="found attack"):
        gl.estimate(linear, *blobs, attack=["loss"])


@pytest.mark.parametrize(
    "wrong",
    [{"references": gl.WithinMinutes(1)}, {"references": -1}, {"seconds_per_model": 0}, {"seconds_per_model": "1"}],
)
def test_wrong_options_are_refused(linear, blobs, wrong):
    with pytest.raises(ValueError, match=r"references=|seconds_per_model="):
        gl.estimate(linear, *blobs, **wrong)


def test_a_model_without_a_recipe_is_refused(blobs):
    target = gl.function_target(lambda x: np.full((len(x), 3), 1 / 3), classes=[0, 1, 2])
    with pytest.raises(gl.InputError, match="no training recipe"):
        gl.estimate(target, *blobs, references=4)
