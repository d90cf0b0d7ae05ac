"""The same tasks on a real Ray cluster: two nodes on this machine, one of which is killed."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from click.testing import CliRunner
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer

import guestlist as gl
from engine_tasks import NUMBERS, POOL, contents, interrupted, make_task, run
from guestlist import AuditError, Here, Ray
from guestlist._collect.engines.engine import WORK
from guestlist.cli import main


@pytest.fixture(scope="module")
def ray():
    return pytest.importorskip("ray", reason='needs Ray: pip install ".[ray]"')


@pytest.fixture(scope="module")
def cluster(ray):
    """Two nodes of one core each; the death of one is noticed within seconds."""
    from ray.cluster_utils import Cluster

    folder = tempfile.mkdtemp(dir="/tmp")
    notice = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 3}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_TMPDIR", folder)
        cluster = Cluster()
        try:
            cluster.add_node(num_cpus=1, include_dashboard=False, _system_config=notice)
            cluster.add_node(num_cpus=1)
            yield cluster
        finally:
            ray.shutdown()
            cluster.shutdown()
            shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.slow
@pytest.mark.long
def test_a_node_that_is_killed_costs_only_its_own_numbers(ray, cluster, expected, tmp_path):
    node = cluster.add_node(num_cpus=1)
    lost = node.node_id

    def before(k):
        here = ray.get_runtime_context().get_node_id()
        (tmp_path / f"{k}-on-{here}").touch()
        while here == lost:
            time.sleep(0.05)  # whatever that node begins, it does not finish

    def progress(items, total):
        for item in items:
            yield item
            if len(contents(tmp_path)) == 3:
                while not list(tmp_path.glob(f"*-on-{lost}")):
                    time.sleep(0.05)
                cluster.remove_node(node, allow_graceful=False)

    run(make_task(tmp_path, before), tmp_path, Ray(cluster.address), progress=progress)
    assert contents(tmp_path) == expected
    begun = {path.name.partition("-")[0] for path in tmp_path.glob(f"*-on-{lost}")}
    assert begun
    assert all(len(list(tmp_path.glob(f"{k}-on-*"))) >= 2 for k in begun)


@pytest.mark.slow
@pytest.mark.long
def test_an_audit_from_the_command_line_is_the_same_bytes(cluster, tree, blobs, tmp_path):
    skops.io.dump(tree, tmp_path / "model.skops")
    for name, (x, y) in zip(("train", "holdout"), blobs, strict=True):
        pd.DataFrame(x).rename(columns=str).assign(y=y).to_parquet(tmp_path / f"{name}.parquet")

    def audit(out, *engine):
        arguments = ["audit", "--model", tmp_path / "model.skops", "--members", tmp_path / "train.parquet"]
        arguments += ["--nonmembers", tmp_path / "holdout.parquet", "--label", "y", "--references", 4, "--out", out]
        result = CliRunner().invoke(main, [str(a) for a in [*arguments, "--attack", "loss", *engine]])
        assert result.exit_code == 0, result.output
        return result.stderr, {path.name: path.read_bytes() for path in out.glob("signals/*.npz")}

    _, here = audit(tmp_path / "here", "--engine", "here")
    progress, on_ray = audit(tmp_path / "ray", "--engine", "ray", "--address", cluster.address)
    assert len(here) == 5
    assert on_ray == here
    assert "Training: 4/4" in progress


@pytest.fixture
def connected(ray, cluster):
    """A connection of the user's own."""
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    yield
    assert ray.is_initialized()
    ray.shutdown()


@pytest.mark.slow
@pytest.mark.usefixtures("connected")
def test_a_killed_worker_repeats_only_its_number_with_identical_results(expected, tmp_path):
    def before(k):
        if k == 3 and not (tmp_path / "killed").exists():
            (tmp_path / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)

    run(make_task(tmp_path, before), tmp_path, Ray())
    assert contents(tmp_path) == expected
    assert (tmp_path / "killed").exists()
    assert len(list(tmp_path.glob("done_by/*"))) == len(NUMBERS) + 1
    assert not list(tmp_path.glob(f"done_by/*-{os.getpid()}"))


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.usefixtures("connected")
def test_a_model_that_writes_on_its_input_gets_a_copy(blobs, tmp_path):
    """Records lie in memory that all workers of a node share, and that none may write on."""
    members, others = ((np.abs(x), y) for x, y in blobs)
    contents_by_engine = {}
    for copy, engine in ((True, Here()), (False, Ray())):
        model = make_pipeline(PowerTransformer(copy=copy), KNeighborsClassifier(5)).fit(members[0].copy(), members[1])
        folder = tmp_path / str(copy)
        gl.audit(model, members, others, references=2, engine=engine, folder=folder, attacks=["loss"], baseline=False)
        for path in folder.glob("signals/*.npz"):
            with np.load(path) as arrays:
                contents_by_engine[copy, path.name] = {name: arrays[name].tobytes() for name in arrays.files}
    assert len(contents_by_engine) == 6
    assert all(contents_by_engine[True, name] == arrays for (_, name), arrays in contents_by_engine.items())


@pytest.mark.slow
@pytest.mark.usefixtures("connected")
def test_a_number_that_cannot_be_done_is_named_and_the_users_own_connection_stays(ray, tmp_path):
    def fail(k):
        if k == 5:
            raise KeyError("out of luck")

    with pytest.raises(KeyError, match="out of luck") as caught:
        run(make_task(tmp_path / "a", fail), tmp_path / "a", Ray())
    assert any("number 5 of Errand" in note for note in caught.value.__notes__)

    def die(k):
        if k == 5:
            os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(AuditError, match=r"Task 5 failed on Ray .*results are kept"):
        run(make_task(tmp_path / "b", die), tmp_path / "b", Ray(retries=0))

    result = Ray().run(make_task(tmp_path), NUMBERS, POOL, tmp_path / WORK)
    next(result)
    result.close()
    assert ray.is_initialized()
    assert ray.get(ray.remote(lambda: os.environ.get("MKL_NUM_THREADS")).remote()) is None
    with pytest.raises(AuditError, match="already connected to a Ray cluster"):
        run(make_task(tmp_path), tmp_path, Ray("elsewhere:1"))


@pytest.mark.slow
@pytest.mark.long
def test_ctrl_c_ends_a_cluster_that_was_started_for_the_work(ray, expected, tmp_path, monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    before = set(Path("/tmp").glob("guestlist-ray-*"))
    assert interrupted(tmp_path / "work", "Ray()") == expected
    assert (tmp_path / "work" / "address").read_text() == "127.0.0.1"  # other machines cannot reach it
    assert set(Path("/tmp").glob("guestlist-ray-*")) <= before


HEADLESS = """
import os, signal, sys, time
from pathlib import Path
sys.path.insert(0, {tests!r})
from ray.cluster_utils import Cluster
from engine_tasks import POOL, make_task
from guestlist._collect.engines import on_ray
from guestlist._collect.engines.engine import run_all
from guestlist.errors import AuditError

on_ray.PATIENCE, folder = 1.0, Path(sys.argv[1])
cluster = Cluster()
head = cluster.add_node(num_cpus=1, include_dashboard=False)

def progress(items, total):
    for item in items:
        yield item
        for parts in head.all_processes.values():
            for part in parts:
                os.kill(part.process.pid, signal.SIGKILL)

def before(k):
    if k > 1:
        time.sleep(1000)

try:
    run_all(make_task(folder, before), range(1, 4), POOL, folder, engine=on_ray.Ray(cluster.address), progress=progress)
except AuditError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.long
def test_a_head_that_dies_is_reported_and_the_process_lives(ray, tmp_path):
    """Ray would end the process without a word of ours, 60 seconds later."""
    folder = tempfile.mkdtemp(dir="/tmp")
    script = HEADLESS.format(tests=str(Path(__file__).parents[2]))
    result = subprocess.run(
        [sys.executable, "-c", script, tmp_path],
        capture_output=True,
        text=True,
        timeout=150,
        env={**os.environ, "RAY_TMPDIR": folder},
    )
    shutil.rmtree(folder, ignore_errors=True)
    assert result.returncode == 0, result.stderr
    assert "has not answered for 1 seconds" in result.stdout
    assert set(contents(tmp_path)) == {"1.npz"}


def test_a_missing_cluster_is_reported(ray, tmp_path):
    with pytest.raises(AuditError, match=r"No Ray cluster answers at '127.0.0.1:1' .*ray start --head"):
        run(make_task(tmp_path), tmp_path, Ray("127.0.0.1:1"))


def test_a_failed_start_is_reported(ray, tmp_path, monkeypatch):
    def init(**options):
        raise Exception("The current node timed out during startup.")  # as Ray does

    monkeypatch.setattr(ray, "init", init)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with pytest.raises(AuditError, match=r"could not start on this machine .*timed out"):
        run(make_task(tmp_path), tmp_path, Ray())


def test_without_ray_the_error_names_the_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(AuditError, match=r'pip install "\.\[ray\]"'):
        run(make_task(tmp_path), tmp_path, Ray())


@pytest.mark.slow
def test_wrong_retries_are_refused():
    with pytest.raises(ValueError, match="retries=-1"):
        Ray(retries=-1)
