"""Processes of one's own: started for one piece of work, and gone when it ends, however it ends.

Each process is a fresh interpreter. A fork would inherit the locks of threads that it does not inherit (torch, BLAS and
OpenMP have such), and ``multiprocessing`` would run the user's script again. Tasks travel by cloudpickle, so they may
hold functions of that script. The records go through one file that all processes map into memory.

A process gets one number at a time, so it is known which one is lost when it dies. The end of the pipe from the driver
ends it: a driver that is killed leaves no process behind.
"""

from __future__ import annotations

import gc
import os
import pickle
import shutil
import signal
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.spawn import get_executable
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import IO

import cloudpickle
import joblib
import numpy as np

from guestlist.arguments import shown
from guestlist.collecting.engines.engine import (
    ONE_THREAD,
    Files,
    Here,
    Task,
    compute_files,
    load_error,
    picklable_error,
    pickle_task,
)
from guestlist.data import Data
from guestlist.errors import AuditError, unwritten

# How often a number is tried whose process dies: once more, in a fresh one.
TRIES = 2
MOST_JOBS = 1024
# How long a process that has nothing left to do may take to end, in seconds.
PATIENCE = 5.0
# How often to look whether a process has died without a word, in seconds.
LOOK = 1.0

# What a process runs. The paths come first: they say where guestlist, and whatever the task holds, is imported from.
# No garbage is looked for while modules are loaded: there is none, and the search takes time. Where all went well the process
# ends at once, after whatever else was to be done at the end: to take every module apart would take a fifth of its start.
_START = (
    "import atexit, gc, os, pickle, sys; well = []; "
    "atexit.register(lambda: well and (sys.stdout.flush(), os._exit(0))); gc.disable(); "
    "order = open(sys.argv[1], 'rb'); sys.path[:], sys.argv = pickle.load(order); "
    f"from {__name__} import serve; serve(order); well.append(True)"
)
_ORDER, _POOL = "order.pickle", "pool.joblib"
_END = b"end\n"
LISTENER = "guestlist-listener"


@dataclass(frozen=True)
class Local:
    """Processes on this machine.

    Args:
        jobs: how many; -1 for one per core. One is this process itself.
    """

    jobs: int = -1

    def __post_init__(self):
        whole = isinstance(self.jobs, int | np.integer) and not isinstance(self.jobs, bool)
        if not whole or self.jobs == 0 or self.jobs > MOST_JOBS:
            raise ValueError(
                f"Expected jobs={shown(self.jobs)} to be a number of processes, {MOST_JOBS} at most, or -1 for one per core."
            )

    def run(self, task: Task, numbers: Sequence[int], pool: Data, work: Path) -> Generator[Files]:
        count = min(joblib.effective_n_jobs(self.jobs), len(numbers))
        if count <= 1:
            yield from Here().run(task, numbers, pool, work)
            return
        work = work.absolute()
        crew = _Crew(work / _ORDER)
        try:
            with _written(work):
                work.mkdir(mode=0o700, parents=True)
                _write_order(task, work / _ORDER)
            crew.start(count)  # they load what they need while the records are written
            with _written(work / _POOL):
                joblib.dump(pool, work / _POOL)
            yield from _results(crew, numbers)
        finally:
            try:
                crew.end()
            finally:
                shutil.rmtree(work, ignore_errors=True)


ALL_CORES = Local()


@contextmanager
def _written(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise unwritten(path, error) from error


def _write_order(task: Task, path: Path) -> None:
    with open(path, "wb") as file:
        pickle.dump((sys.path, sys.argv), file)
        file.write(pickle_task(task))


def _results(crew: _Crew, numbers: Sequence[int]) -> Generator[Files]:
    waiting, died = deque(numbers), Counter[int]()
    for process in crew.processes:
        process.give(waiting.popleft())
    while any(process.number is not None for process in crew.processes):
        process, message = crew.next_message()
        k, process.number = process.number, None
        if k is None:  # it had nothing left to do, and ended
            crew.dismiss(process)
            continue
        if message is None:
            died[k] += 1
            if died[k] == TRIES:
                raise AuditError(_lost(k, process.status()))
            crew.replace(process).give(k)
            continue
        outcome = pickle.loads(message)
        if isinstance(outcome, Exception):
            raise outcome
        # Before its files are written, so that the process need not wait for the disk.
        process.give(waiting.popleft() if waiting else None)
        yield outcome


def _lost(k: int, status: int) -> str:
    how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
    return (
        f"The process that worked on number {k} {how}, {TRIES} times over; a full memory is the usual cause. Number {k} is "
        "lost, what was collected is kept: run again, with fewer jobs."
    )


class _Crew:
    """The processes of one piece of work, and what they say: ``inbox`` holds (process, message), None when it died."""

    def __init__(self, order: Path):
        self.processes: list[_Process] = []
        self.inbox: SimpleQueue[tuple[_Process, bytes | None]] = SimpleQueue()
        self._order = order

    def start(self, count: int) -> None:
        for _ in range(count):  # one by one: if one cannot be started, those before it are ended
            self.processes.append(_Process(self._order, self.inbox))

    def next_message(self) -> tuple[_Process, bytes | None]:
        while True:
            with suppress(Empty):
                return self.inbox.get(timeout=LOOK)
            for process in self.processes:
                if process.number is not None:
                    process.bury()

    def dismiss(self, process: _Process) -> None:
        self.processes.remove(process)
        process.close()

    def replace(self, dead: _Process) -> _Process:
        self.dismiss(dead)
        self.start(1)
        return self.processes[-1]

    def end(self) -> None:
        for process in self.processes:
            process.kill_if_at_work()
        for process in self.processes:
            process.close()


class _Process:
    """An interpreter that computes the files of one number at a time. It has a life of its own."""

    def __init__(self, order: Path, inbox: SimpleQueue):
        self.number: int | None = None
        self._leaving = False
        self._child = subprocess.Popen(
            [get_executable(), "-c", _START, str(order)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **ONE_THREAD},
            # A group of its own: Ctrl-C reaches the driver alone, and whatever a model has started ends with it.
            process_group=0 if os.name == "posix" else None,
        )
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._commands, self._answers = self._child.stdin, self._child.stdout
        self._listener = Thread(target=self._listen, args=(inbox,), name=LISTENER, daemon=True)
        self._listener.start()

    def give(self, number: int | None) -> None:
        """The next number; None: there is nothing left to do."""
        self.number, self._leaving = number, number is None
        with suppress(BrokenPipeError):  # it is dead, and the listener says so
            self._commands.write(_END if number is None else b"%d\n" % number)
            self._commands.flush()

    def status(self) -> int:
        """How it ended."""
        return self._child.wait()

    def bury(self) -> None:
        """If it is dead, end what it has started: that may hold the pipe open, and then nobody hears of the death."""
        if self._child.poll() is not None:
            self._kill()

    def kill_if_at_work(self) -> None:
        if not self._leaving:
            self._kill()

    def close(self) -> None:
        """Wait for its end, within reason."""
        try:
            self._child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._kill()
            self._child.wait()
        self._listener.join(LOOK)
        if self._listener.is_alive():
            self.bury()
            self._listener.join()
        self._answers.close()
        with suppress(BrokenPipeError):
            self._commands.close()

    def _kill(self) -> None:
        if os.name != "posix":
            self._child.kill()
            return
        with suppress(ProcessLookupError, PermissionError):  # there is nobody left in the group
            os.killpg(self._child.pid, signal.SIGKILL)

    def _listen(self, inbox: SimpleQueue) -> None:
        while (message := _receive(self._answers)) is not None:
            inbox.put((self, message))
        inbox.put((self, None))


def _receive(pipe: IO[bytes]) -> bytes | None:
    """One message; None where the pipe ends, within a message or before it."""
    head = pipe.read(8)
    size = int.from_bytes(head, "big")
    message = pipe.read(size)
    return message if len(head) == 8 and len(message) == size else None


def serve(order: IO[bytes]) -> None:
    """What a process does: load the task, then compute the files of every number that it is given."""
    work, numbers = Path(order.name).parent, SimpleQueue[int | None]()
    # The pipes are taken away from the task: what it prints goes to stderr, and there is nothing for it to read.
    given, said = os.dup(0), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    Thread(target=_hear, args=(os.fdopen(given, "rb"), numbers), daemon=True).start()
    try:
        with order:
            task = pickle.load(order)
    except Exception as error:
        _say(said, load_error(error))
        return
    gc.freeze()  # what was loaded stays: no search for garbage need pass over it again
    gc.enable()
    pool = None
    for k in iter(numbers.get, None):
        if pool is None:
            pool = joblib.load(work / _POOL, mmap_mode="r")  # no model can leave anything on its pages
        _say(said, _outcome(task, k, pool))


def _hear(given: IO[bytes], numbers: SimpleQueue) -> None:
    """Pass on numbers; where the pipe ends before all is done, so does the process, whatever it is doing."""
    for line in given:
        if line == _END:
            numbers.put(None)
            return
        numbers.put(int(line))
    os._exit(1)


def _say(said: IO[bytes], outcome: Files | Exception) -> None:
    message = cloudpickle.dumps(outcome)
    said.write(len(message).to_bytes(8, "big"))
    said.write(message)
    said.flush()


def _outcome(task: Task, k: int, pool: Data) -> Files | Exception:
    try:
        return compute_files(task, k, pool)
    except Exception as error:
        return picklable_error(error, k)
