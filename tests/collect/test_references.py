"""Collection: identical results if resumed and in any number of processes; another model's signals are never reused."""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.neural_network import MLPClassifier

import guestlist as gl
from guestlist import AuditError
from guestlist._store import open_store
from guestlist._store.files import LOCK
from guestlist.errors import FolderError

RESULTS = ("results.json", "records.parquet", "attacks.parquet", "split.npz", "pool.parquet", "outputs.npz")


def run(model, blobs, folder, **options):
    members, nonmembers = blobs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gl.AuditWarning)
        return gl.audit(model, members, nonmembers, folder=folder, **{"references": 6, "jobs": 1, **options})


def contents(folder):
    """Every file that an audit leaves, by name; the lock and the manifest's folder-independent rest included."""
    paths = [folder / name for name in RESULTS] + sorted(folder.glob("signals/*")) + sorted(folder.glob("scores/*"))
    paths += sorted((folder / "evidence").rglob("*.npz"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["forest", pytest.param("network", marks=pytest.mark.long)])
def test_one_and_two_jobs_give_the_same_bytes(kind, tree, blobs, tmp_path):
    model = tree
    if kind == "network":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = MLPClassifier((16,), max_iter=30).fit(*blobs[0])
    for jobs in (1, 2):
        run(model, blobs, tmp_path / str(jobs), jobs=jobs, evidence=[gl.evidence.Perturbed(2)])
    assert len(list((tmp_path / "1" / "evidence").rglob("*.npz"))) > 0
    assert contents(tmp_path / "1") == contents(tmp_path / "2")


@pytest.mark.slow
def test_more_references_keep_the_first_ones(tree, blobs, tmp_path):
    run(tree, blobs, tmp_path / "a", references=3)
    before = contents(tmp_path / "a")
    run(tree, blobs, tmp_path / "a", references=6)
    after = contents(tmp_path / "a")
    assert all(after[name] == before[name] for name in before if name.startswith("signals"))
    # A folder that was made for three references keeps their rate, and so do the three that were added.
    rate = open_store(tmp_path / "a").manifest.make_game().rate
    run(tree, blobs, tmp_path / "b", references=3)
    assert open_store(tmp_path / "b").manifest.make_game().rate == rate


@pytest.mark.slow
def test_nothing_is_trained_twice(tree, blobs, tmp_path):
    run(tree, blobs, tmp_path)
    stamps = {p: p.stat().st_mtime_ns for p in tmp_path.glob("signals/*")}
    run(tree, blobs, tmp_path)
    assert {p: p.stat().st_mtime_ns for p in tmp_path.glob("signals/*")} == stamps


@pytest.mark.slow
def test_a_second_model_is_refused_by_its_outputs(tree, blobs, tmp_path):
    """A second fit of the same recipe has the same fingerprint: only its outputs differ."""
    run(tree, blobs, tmp_path)
    before = contents(tmp_path)
    other = clone(tree).set_params(random_state=1).fit(*blobs[0])
    with pytest.raises(FolderError, match="different fitted model"):
        run(other, blobs, tmp_path)
    assert contents(tmp_path) == before


@pytest.mark.slow
def test_another_recipe_or_other_records_are_refused(tree, blobs, tmp_path):
    run(tree, blobs, tmp_path)
    with pytest.raises(FolderError, match="a different model"):
        run(RandomForestClassifier(11, random_state=0).fit(*blobs[0]), blobs, tmp_path)
    (x, y), nonmembers = blobs
    with pytest.raises(FolderError, match="different records"):
        run(tree, ((x[:-1], y[:-1]), nonmembers), tmp_path)
    with pytest.raises(FolderError, match="a different seed"):
        run(tree, blobs, tmp_path, seed=1)


@pytest.mark.slow
def test_a_recipe_that_fails_keeps_what_was_collected(blobs, tmp_path):
    broken = []

    def train(data, rng):
        broken.append(1)
        if len(broken) == 3:
            raise RuntimeError("out of luck")
        return lambda x: np.full((len(x), 3), 1 / 3)

    target = gl.function_target(lambda x: np.full((len(x), 3), 1 / 3), classes=[0, 1, 2], train=train, recipe="r")
    with pytest.raises(AuditError, match=r"Reference 3 .* could not be trained or queried .*out of luck"):
        run(target, blobs, tmp_path)
    assert open_store(tmp_path).models() == [0, 1, 2]
    run(target, blobs, tmp_path)
    assert open_store(tmp_path).models() == list(range(7))


@pytest.mark.slow
def test_two_audits_do_not_write_to_one_folder_at_once(tree, blobs, tmp_path):
    fcntl = pytest.importorskip("fcntl")
    run(tree, blobs, tmp_path, references=1)
    with open(tmp_path / LOCK, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(FolderError, match="Another audit is writing"):
            run(tree, blobs, tmp_path)


@pytest.mark.slow
def test_global_generators_are_left_as_they_were(blobs, tmp_path):
    """Estimators that read numpy's global generator get one per reference, and the user's own is not moved."""

    class Noisy(RandomForestClassifier):
        def fit(self, x, y):
            self.noise_ = np.random.normal()  # noqa: NPY002
            return super().fit(x, y)

    np.random.seed(7)  # noqa: NPY002
    expected = np.random.RandomState(7).normal(size=2)[1]
    model = Noisy(5, random_state=0).fit(*blobs[0])
    run(model, blobs, None, references=2)
    assert np.random.normal() == expected  # noqa: NPY002


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL on Windows")
@pytest.mark.parametrize(
    "moments",
    [("--every", "120", "--random", "0"), pytest.param(("--every", "60", "--random", "2"), marks=pytest.mark.long)],
)
def test_killed_at_any_moment_and_resumed_it_ends_with_the_same_bytes(moments):
    """At some of its calls, and in ``make long`` at random; ``python -m benchmarks.faults.kills`` takes all calls."""
    command = [sys.executable, "-m", "benchmarks.faults.kills", *moments]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True)
    document = json.loads(done.stdout)
    assert document["kills at calls"] >= 1
    assert document["files compared"] > 20
    assert document["unequal"] == []
