"""Ctrl-C and polite signals: nothing stays behind, and the user hears how to go on."""

import os
import signal
import subprocess
import sys
import threading
import time

import click
import pytest
from click.testing import CliRunner

from engine_tasks import alive
from guestlist._store import audit_folder
from guestlist._util import Stopped, preserve_handlers, stoppable
from guestlist._util.environment import SIGNALS
from guestlist.cli.common import Commands
from guestlist.models import model_code

posix = pytest.mark.skipif(os.name != "posix", reason="there are no such signals on Windows")


@pytest.mark.parametrize(
    ("stop", "status"),
    [(KeyboardInterrupt(), 130), (Stopped(signal.SIGTERM), 143), (Stopped(getattr(signal, "SIGHUP", 1)), 129)],
    ids=repr,
)
def test_a_command_ends_with_the_usual_status_and_explains_how_to_resume(stop, status):
    @click.group(cls=Commands)
    @click.pass_context
    def main(context):
        context.with_resource(stoppable())

    @main.command()
    def audit():
        with audit_folder("somewhere"), audit_folder("somewhere/inside"):
            raise stop

    result = CliRunner().invoke(main, ["audit"])
    assert result.exit_code == status
    assert result.stderr == "Stopped. Finished work is saved in somewhere. Run it again to resume.\n"


@posix
def test_handlers_are_set_where_there_is_none_and_restored():
    before = [signal.getsignal(number) for number in SIGNALS]
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a library that was imported may have set its own
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as under nohup
    try:
        with stoppable():
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
            with pytest.raises(Stopped) as caught:
                signal.raise_signal(signal.SIGTERM)
            assert caught.value.code == 143
            with preserve_handlers():
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
            assert signal.getsignal(signal.SIGTERM) not in (signal.SIG_IGN, signal.SIG_DFL)
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    finally:
        for number, handler in zip(SIGNALS, before, strict=True):
            signal.signal(number, handler)


def test_in_another_thread_it_does_nothing():
    entered = []

    def work():
        with stoppable(), preserve_handlers():
            entered.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert entered == [True]


SCRIPT = """
import signal, sys, time
from pathlib import Path
import numpy as np
import guestlist as gl

folder = Path(sys.argv[1])
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for commands in the background

def train(data, rng):
    import os
    (folder / f"worker-{os.getpid()}").touch()
    if len(list(folder.glob("audit/signals/model-000[1-9].npz"))) >= 2:
        (folder / "stuck").touch()
        time.sleep(600)
    return predict

def predict(x):
    return np.column_stack([x[:, 0] > 0, x[:, 0] <= 0]).astype(float)

x, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
target = gl.function_target(predict, classes=[0, 1], train=train)
sides = (x[:30], y[:30]), (x[30:], y[30:])
options = {"references": 8, "attacks": ["loss"], "progress": None, "baseline": False}
gl.audit(target, *sides, folder=folder / "audit", jobs=int(sys.argv[2]), **options)
"""


@posix
@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "jobs"),
    [(signal.SIGTERM, 2), (signal.SIGINT, 1), pytest.param(signal.SIGINT, 2, marks=pytest.mark.long)],
)
def test_an_interrupted_audit_leaves_no_files_and_reports_how_to_resume(number, jobs, tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    process = subprocess.Popen(
        [sys.executable, tmp_path / "script.py", tmp_path, str(jobs)],
        start_new_session=True,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (tmp_path / "stuck").exists():
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)
    assert (tmp_path / "audit" / ".work").exists() == (jobs > 1)
    os.kill(process.pid, number)
    _, errors = process.communicate()
    assert process.returncode == (-number if number == signal.SIGINT else 128 + number)
    assert f"Finished work is saved in {tmp_path / 'audit'}. Run it again to resume." in errors
    workers = {int(path.name.split("-")[1]) for path in tmp_path.glob("worker-*")}
    assert workers
    assert not alive(workers)
    assert not (tmp_path / "audit" / ".work").exists()
    assert not list(tmp_path.rglob("*.part"))


def test_a_signal_while_a_model_trains_is_no_exit_of_the_model():
    with pytest.raises(Stopped), model_code():
        raise Stopped(signal.SIGTERM)
    with pytest.raises(RuntimeError, match=r"sys\.exit\(3\)"), model_code():
        sys.exit(3)
