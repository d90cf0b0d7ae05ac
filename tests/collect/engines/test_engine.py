"""Engines: identical results on each, and no process or file stays behind, however the work ends."""

import json
import os
import signal
import sys
import threading
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import guestlist as gl
from engine_tasks import (
    NUMBERS,
    POOL,
    alive,
    check_nothing_is_left,
    contents,
    interrupted,
    make_task,
    run,
    start,
    workers,
)
from guestlist import AuditError, Here, InputError, Local
from guestlist._collect.engines.engine import WORK
from guestlist._collect.engines.local import TRIES
from guestlist._util import DEVICE, reproducibility

pytestmark = pytest.mark.slow  # processes are started, or networks trained


@dataclass(frozen=True)
class Run:
    """A run on three processes: its folder, and after each number how many files there were and how many are expected."""

    folder: Path
    progress: list[tuple[int, int]]
    notes: list[dict]  # by the process that did a number


@pytest.fixture(scope="module")
def three_processes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("processes")
    calls = []

    def look(k, pool):
        from threadpoolctl import threadpool_info

        print("chatter" * 1000)
        note = {
            "mode": (folder / WORK).stat().st_mode & 0o777,
            "mapped": isinstance(pool.x, np.memmap),
            "threads": [library["num_threads"] for library in threadpool_info()],
            "read": sys.stdin.read(),
        }
        (folder / f"process-{k}.json").write_text(json.dumps(note))

    def progress(items, total):
        for item in items:
            calls.append((len(contents(folder)), total))
            yield item

    run(make_task(folder, look=look), folder, Local(3), progress=progress)
    notes = [json.loads((folder / f"process-{k}.json").read_text()) for k in NUMBERS]
    return Run(folder, calls, notes)


def test_three_processes_write_the_same_bits_and_leave_nothing_behind(three_processes, expected):
    assert contents(three_processes.folder) == expected
    assert len(workers(three_processes.folder)) == 3
    check_nothing_is_left(three_processes.folder)


def test_progress_counts_what_is_written(three_processes):
    assert three_processes.progress == [(k, len(NUMBERS)) for k in range(1, 1 + len(NUMBERS))]


def test_the_records_are_passed_in_a_private_folder_and_mapped(three_processes):
    assert {note["mode"] for note in three_processes.notes} == {0o700}
    assert all(note["mapped"] for note in three_processes.notes)


def test_a_process_works_with_one_thread_and_keeps_its_pipes_to_itself(three_processes):
    assert all(note["threads"] for note in three_processes.notes)
    assert {threads for note in three_processes.notes for threads in note["threads"]} == {1}
    assert {note["read"] for note in three_processes.notes} == {""}


def test_one_job_works_in_this_process(expected, tmp_path):
    run(make_task(tmp_path), tmp_path, Local(1))
    assert contents(tmp_path) == expected
    assert workers(tmp_path) == set()


def test_a_task_is_repeated_on_the_same_device_after_its_process_was_killed(expected, tmp_path):
    folder = tmp_path / "devices"
    folder.mkdir()

    def before(k):
        (folder / f"{os.environ[DEVICE]}-{os.getpid()}").touch()
        if k == 3 and not (tmp_path / "killed").exists():
            (tmp_path / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)

    run(make_task(tmp_path, before), tmp_path, Local(devices=["cuda:0", "cuda:1"]))
    assert contents(tmp_path) == expected
    assert len(workers(tmp_path)) == 3
    names = sorted(path.name.partition("-")[0] for path in folder.iterdir())
    assert len(names) == 3
    assert set(names) == {"cuda:0", "cuda:1"}
    assert DEVICE not in os.environ
    check_nothing_is_left(tmp_path)


def test_one_number_is_done_here(tmp_path):
    run(make_task(tmp_path), tmp_path, Local(2), numbers=[1])
    assert workers(tmp_path) == set()
    run(make_task(tmp_path), tmp_path / "none", Local(2), numbers=[])
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("engine", [Here(), Local(2)], ids=repr)
def test_an_error_names_the_failed_number_and_keeps_the_others(engine, tmp_path):
    def before(k):
        if k == 5:
            raise KeyError("out of luck")

    with pytest.raises(KeyError, match="out of luck") as caught:
        run(make_task(tmp_path, before), tmp_path, engine)
    assert any("number 5 of Errand" in note for note in caught.value.__notes__)
    assert engine == Here() or any("in before" in note for note in caught.value.__notes__)  # where in the code
    names = set(contents(tmp_path))
    assert len(names) >= 3
    assert names <= {f"{k}.npz" for k in NUMBERS if k != 5}
    check_nothing_is_left(tmp_path)


def test_an_error_about_the_input_travels_as_it_is(tmp_path):
    def before(k):
        raise InputError(f"Reference {k} has no records.")

    with pytest.raises(InputError) as caught:
        run(make_task(tmp_path, before), tmp_path, Local(2))
    assert str(caught.value) in {f"Reference {k} has no records." for k in NUMBERS}


def test_an_error_that_cannot_be_pickled_is_reported(tmp_path):
    def before(k):
        class OddError(Exception):
            def __init__(self, first, two):
                super().__init__(f"{first} {two}")

        raise OddError("out of", "luck")

    with pytest.raises(AuditError, match=r"Task \d failed \(OddError: out of luck\)"):
        run(make_task(tmp_path, before), tmp_path, Local(2))
    check_nothing_is_left(tmp_path)


def test_a_number_that_kills_every_process_is_named(tmp_path):
    def before(k):
        if k == 5:
            os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(
        AuditError, match=r"number 5 was killed by signal 9.*Number 5 is lost, what was collected is kept"
    ):
        run(make_task(tmp_path, before), tmp_path, Local(2))
    assert len(list(tmp_path.glob("done_by/5-*"))) == TRIES
    assert len(contents(tmp_path)) >= 3
    check_nothing_is_left(tmp_path)


def test_an_exit_is_distinguished_from_a_kill(tmp_path):
    with pytest.raises(AuditError, match="ended with status 7"):
        run(make_task(tmp_path, lambda k: os._exit(7)), tmp_path, Local(2))


def test_what_was_to_be_done_at_the_end_is_done(tmp_path, capfd):
    def before(k):
        import atexit

        if k < 3:
            atexit.register((tmp_path / f"end-{os.getpid()}").touch)
            print(f"said by {os.getpid()}", end="")  # not flushed

    run(make_task(tmp_path, before), tmp_path, Local(2))
    ended = {int(path.name.split("-")[1]) for path in tmp_path.glob("end-*")}
    assert ended
    errors = capfd.readouterr().err
    assert all(f"said by {process}" in errors for process in ended)


def test_what_a_dead_process_had_started_does_not_hold_anyone_up(tmp_path):
    """A child of a worker inherits its pipe: the pipe stays open when the worker dies."""

    def before(k):
        if k == 2:
            child = os.fork()
            if child == 0:
                signal.pause()
            (tmp_path / "done_by" / f"child-{child}").touch()
            os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(AuditError, match="number 2"):
        run(make_task(tmp_path, before), tmp_path, Local(2))
    assert len(list(tmp_path.glob("done_by/child-*"))) == TRIES
    while alive(workers(tmp_path)):  # the process that adopts orphans reaps them later
        time.sleep(0.01)


@pytest.mark.parametrize("engine", [Here(), Local(2)], ids=repr)
def test_closed_early_it_leaves_nothing_behind(engine, tmp_path):
    result = engine.run(make_task(tmp_path), NUMBERS, POOL, tmp_path / WORK)
    next(result)
    result.close()
    check_nothing_is_left(tmp_path)


def test_progress_that_fails_ends_the_processes_though_its_traceback_lives_on(tmp_path):
    def progress(items, total):
        for item in items:
            yield item
            raise RuntimeError("no terminal")

    with pytest.raises(RuntimeError, match="no terminal") as caught:
        run(make_task(tmp_path), tmp_path, Local(2), progress=progress)
    assert caught.tb
    assert len(contents(tmp_path)) == 1
    check_nothing_is_left(tmp_path)


def test_unpicklable_tasks_are_reported_before_anything_starts(tmp_path):
    lock = threading.Lock()
    with pytest.raises(AuditError, match=r"to other processes \(.*lock.*Here\(\)"):
        run(make_task(tmp_path, lambda k: lock), tmp_path, Local(2))
    assert not (tmp_path / WORK).exists()


def test_tasks_that_cannot_be_loaded_elsewhere_are_reported(tmp_path):
    def refuse():
        raise ImportError("not on this machine")

    class Unloadable:
        def __reduce__(self):
            return refuse, ()

    with pytest.raises(AuditError, match=r"in another process \(ImportError: not on this machine"):
        run(Unloadable(), tmp_path, Local(2))
    check_nothing_is_left(tmp_path)


@pytest.mark.parametrize("engine", ["Here()", "Local(2)"])
def test_ctrl_c_in_the_middle(engine, expected, tmp_path):
    assert interrupted(tmp_path / "work", engine) == expected


def test_a_killed_driver_leaves_no_process_behind(tmp_path):
    process = start(tmp_path / "work", "Local(2)")
    assert workers(tmp_path / "work")  # or else the test could not fail
    process.kill()
    process.communicate()
    while alive(workers(tmp_path / "work")):  # until the suite's own time limit
        time.sleep(0.01)
    assert not alive(workers(tmp_path / "work"))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"engine": gl.Here(), "jobs": 1}, "jobs=1 and engine=Here()"),
        ({"engine": "ray"}, "engine='ray' to be gl.Local(), gl.Here() or gl.Ray()"),
        ({"engine": gl.Local}, "to be gl.Local(), gl.Here() or gl.Ray()"),
        ({"jobs": 0}, "jobs=0 to be a number of processes"),
        ({"jobs": 1.5}, "jobs=1.5 to be a number of processes"),
    ],
)
def test_a_wrong_engine_is_refused(wrong, message, tree, blobs):
    with pytest.raises(ValueError) as caught:
        gl.audit(tree, *blobs, references=0, **wrong)
    assert message in str(caught.value)


def test_libraries_that_are_loaded_later_get_one_thread_too(monkeypatch):
    scans = []
    monkeypatch.setattr(reproducibility, "ThreadpoolController", lambda: scans.append(1) or FakeLibraries())
    reproducibility._libraries.cache_clear()
    try:
        for _ in range(3):
            with reproducibility.one_thread():
                pass
        assert len(scans) == 1
        monkeypatch.setitem(sys.modules, "loaded_later", object())
        with reproducibility.one_thread():
            pass
        assert len(scans) == 2
    finally:
        reproducibility._libraries.cache_clear()


class FakeLibraries:
    def limit(self, *, limits):
        assert limits == 1
        return warnings.catch_warnings()


@dataclass(frozen=True)
class CountedTask:
    """Task that notes the process of every number, and takes some CPU time."""

    folder: Path
    seconds: float
    is_robust: bool = True

    def files(self, k, pool):
        end = time.process_time() + self.seconds
        while time.process_time() < end:
            pass
        return {self.folder / f"{k}.npz": {"process": np.array(os.getpid())}}


@pytest.mark.parametrize(
    ("task", "jobs", "in_this_process"),
    [
        ({"seconds": 0.0}, -1, 6),
        ({"seconds": 0.0, "is_robust": False}, -1, 0),
        ({"seconds": 0.0}, 2, 0),
        ({"seconds": 0.2}, -1, 2),
    ],
)
def test_processes_start_only_where_they_save_time(tmp_path, monkeypatch, task, jobs, in_this_process):
    from guestlist._collect.engines import local

    monkeypatch.setattr(local, "START_SECONDS", 0.3)
    monkeypatch.setattr(local.joblib, "effective_n_jobs", lambda jobs: 2)
    work = Local(jobs).run(CountedTask(tmp_path, **task), range(6), POOL, tmp_path / "work")
    files = {path.name: int(arrays["process"]) for written in work for path, arrays in written.items()}
    assert sorted(files) == [f"{k}.npz" for k in range(6)]
    assert list(files.values()).count(os.getpid()) == in_this_process


def test_a_model_with_code_of_the_user_is_trained_in_other_processes():
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, StandardScaler

    class Mine(LogisticRegression):
        pass

    _, members, _ = gl.testing.small_model()

    def is_robust(model, **options):
        return gl.estimator_target(model.fit(*members), **options).can["train"].is_robust

    assert is_robust(LogisticRegression())
    assert is_robust(make_pipeline(StandardScaler(), LogisticRegression()))
    assert not is_robust(Mine())
    assert not is_robust(make_pipeline(StandardScaler(), Mine()))
    assert not is_robust(make_pipeline(FunctionTransformer(np.abs), LogisticRegression()))
    assert not is_robust(LogisticRegression(), train=lambda data, rng: LogisticRegression().fit(data.x, data.y))
