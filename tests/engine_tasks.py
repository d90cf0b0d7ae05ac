"""Small tasks for engines, and checks of the files and processes that they leave. Tasks are local, as a user's often are."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

from guestlist import Data, Here
from guestlist._collect.engines.engine import WORK, run_all
from guestlist._collect.engines.local import LISTENER

POOL = Data(
    np.random.default_rng(0).normal(size=(50, 3)),
    np.zeros(50, dtype=int),
    np.array([f"r{i}" for i in range(50)], dtype=object),
)
NUMBERS = range(1, 9)


def make_task(folder: Path, before=lambda k: None, look=lambda k, pool: None):
    """A task that notes its process, calls ``before(k)`` and ``look(k, pool)``, and writes random numbers about the pool."""

    class Errand:
        def files(self, k, pool):
            done_by = folder / "done_by"
            done_by.mkdir(parents=True, exist_ok=True)
            (done_by / f"{k}-{os.getpid()}").touch()
            before(k)
            look(k, pool)
            noise = np.random.default_rng(k).normal(size=len(pool))
            return {folder / f"{k}.npz": {"sum": pool.x.sum(axis=1) + noise, "y": pool.y}}

    return Errand()


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.npz")}


def workers(folder: Path) -> set[int]:
    """The processes that did something for the task, this one aside."""
    return {int(path.name.split("-")[1]) for path in folder.glob("done_by/*")} - {os.getpid()}


def alive(processes: set[int]) -> set[int]:
    return {process for process in processes if _alive(process)}


def _alive(process: int) -> bool:
    """Return whether a process runs; an orphan that has ended and was not reaped yet does not."""
    try:
        os.kill(process, 0)
        status = Path(f"/proc/{process}/status").read_text() if Path("/proc/self").exists() else ""
    except (ProcessLookupError, FileNotFoundError):
        return False
    return "State:\tZ" not in status


def run(task, folder, engine, numbers=NUMBERS, progress=None):
    run_all(task, numbers, POOL, folder, engine=engine, progress=progress)


def check_nothing_is_left(folder):
    assert not alive(workers(folder))
    assert not (folder / WORK).exists()
    assert not list(folder.rglob("*.part"))
    assert not [thread for thread in threading.enumerate() if thread.name == LISTENER]


SCRIPT = """
import signal, sys, time
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for commands in the background
sys.path.insert(0, {tests!r})
from engine_tasks import POOL, make_task
from guestlist._collect.engines.engine import Here, run_all
from guestlist._collect.engines.local import Local
from guestlist._collect.engines.on_ray import Ray

folder = Path(sys.argv[1])
def slow(k):  # of the script itself, which has no guard against being imported
    if "ray" in sys.modules:
        (folder / "address").write_text(sys.modules["ray"].util.get_node_ip_address())
    if k > 3:
        while True:
            time.sleep(0.05)

run_all(make_task(folder, slow), range(1, 9), POOL, folder, engine=eval(sys.argv[2]))
"""


def start(folder: Path, engine: str) -> subprocess.Popen:
    """Work in a process of its own, as far as three numbers are written and another is being done."""
    path = folder.with_suffix(".py")
    path.write_text(SCRIPT.format(tests=str(Path(__file__).parent)))
    command = [sys.executable, path, folder, engine]
    process = subprocess.Popen(command, start_new_session=True, stderr=subprocess.PIPE, text=True)
    while len(contents(folder)) < 3 or not list(folder.glob("done_by/[4-8]-*")):
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)
    return process


def interrupted(folder: Path, engine: str) -> dict[str, bytes]:
    """Return the files of a task that was interrupted by Ctrl-C, sent to the whole process group, and then resumed."""
    process = start(folder, engine)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == -signal.SIGINT, errors
    assert errors.count("Traceback") == 1, errors  # the driver's own; workers say nothing
    assert "KeyboardInterrupt" in errors
    assert set(contents(folder)) == {"1.npz", "2.npz", "3.npz"}
    check_nothing_is_left(folder)
    run(make_task(folder), folder, Here(), numbers=range(4, 9))
    return contents(folder)
