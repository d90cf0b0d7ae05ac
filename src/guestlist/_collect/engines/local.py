"""Worker processes for one piece of work, and the choice of an engine."""

import gc
import math
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
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

from guestlist._collect.engines.engine import (
    ONE_THREAD,
    Engine,
    Files,
    Here,
    Task,
    compute_files,
    compute_or_error,
    load_error,
    pickle_task,
)
from guestlist._util import DEVICE, short_repr
from guestlist.data import Data
from guestlist.errors import AuditError, write_error
from guestlist.models import loaded_frameworks

# Number of attempts if the process of a number dies.
TRIES = 2
MOST_JOBS = 1024
# Largest number of processes that share an accelerator if the user does not choose it: each needs its own memory there.
SHARED = 4
# CPU seconds in which a process starts and loads modules.
START_SECONDS = 3.0
# Seconds that a process without work may take to end.
PATIENCE = 5.0
# Seconds between two checks for processes that died without a message.
CHECK_INTERVAL = 1.0

# Code of a process. It first sets the paths from which guestlist and the modules of the task are imported. It disables
# garbage collection while modules are loaded, because there is no garbage and the search takes time. After success it
# ends at once when other exit handlers have run: unloading every module would take a fifth of the start-up time.
_START = (
    "import atexit, gc, os, pickle, sys; well = []; "
    "atexit.register(lambda: well and (sys.stdout.flush(), os._exit(0))); gc.disable(); "
    "order = open(sys.argv[1], 'rb'); sys.path[:], sys.argv = pickle.load(order); "
    f"from {__name__} import serve; serve(order); well.append(True)"
)
_ORDER = "order.pickle"
_POOL = "pool.joblib"
_END = b"end\n"
LISTENER = "guestlist-listener"


@dataclass(frozen=True)
class Local:
    """Engine that trains models in processes on this machine; the default.

    Attributes:
        jobs: Number of processes; -1 for one per core, or for one per device. With 1, the work runs in this process. With -1,
            cheap models of scikit-learn and small networks are trained in this process, if processes would save no time.
        devices: Names of the torch devices of the processes, such as ``["cuda:0", "cuda:1"]``, assigned in turn. By default all
            accelerators, each shared by at most 4 processes.

    Raises:
        ValueError: If ``jobs`` is not a number of processes, or ``devices`` are not names.

    Examples:
        >>> gl.Local(jobs=2)  # pass it as engine=; jobs=2 is short for it
        Local(jobs=2, devices=())
        >>> gl.Local(devices=["cuda:0", "cuda:1"], jobs=4)  # two processes on each device
        Local(jobs=4, devices=('cuda:0', 'cuda:1'))
    """

    jobs: int = -1
    devices: Sequence[str] = ()

    def __post_init__(self):
        is_integer = isinstance(self.jobs, int | np.integer) and not isinstance(self.jobs, bool)
        if not is_integer or self.jobs == 0 or self.jobs > MOST_JOBS:
            raise ValueError(
                f"Expected jobs={short_repr(self.jobs)} to be a number of processes, at most {MOST_JOBS}, or -1 for one "
                "per core."
            )
        if isinstance(self.devices, str) or not all(isinstance(name, str) for name in self.devices):
            raise ValueError(
                f"Expected devices={short_repr(self.devices)} to be a list of names, such as ['cuda:0', 'cuda:1']."
            )
        object.__setattr__(self, "devices", tuple(self.devices))

    def run(self, task: Task, numbers: Sequence[int], pool: Data, work: Path) -> Generator[Files]:
        """Yield the files of every number."""
        devices, count = self._devices_and_count(task)
        count = min(count, len(numbers))
        if count <= 1 and not self.devices:
            yield from Here().run(task, numbers, pool, work)
            return
        if self.jobs < 0 and not devices and getattr(task, "is_robust", False):
            # Processes start only where they save time.
            computed = 0
            for files in _while_cheap(task, numbers, pool, count):
                computed += 1
                yield files
            numbers = numbers[computed:]
            count = min(count, len(numbers))
            if not numbers:
                return
        work = work.absolute()
        crew = _Crew(work / _ORDER, devices)
        try:
            with _explained(work):
                work.mkdir(mode=0o700, parents=True)
                (work / _ORDER).write_bytes(pickle.dumps((sys.path, sys.argv)) + pickle_task(task))
            crew.start(count)  # They load modules while the records are written.
            with _explained(work / _POOL):
                joblib.dump(pool, work / _POOL)
            yield from _results(crew, numbers)
        finally:
            try:
                crew.end()
            finally:
                shutil.rmtree(work, ignore_errors=True)

    def _devices_and_count(self, task: Task) -> tuple[Sequence[str], int]:
        """Return the devices that processes use in turn, and the number of processes."""
        jobs = joblib.effective_n_jobs(self.jobs)
        if self.devices:
            return self.devices, len(self.devices) if self.jobs < 0 else jobs
        if not getattr(getattr(task, "train", None), "uses_accelerator", False):
            return (), jobs
        devices = [name for row in loaded_frameworks() if row.accelerators is not None for name in row.accelerators()]
        return devices, min(jobs, SHARED * len(devices)) if self.jobs < 0 else jobs


def _while_cheap(task: Task, numbers: Sequence[int], pool: Data, count: int) -> Iterator[Files]:
    """Yield files computed in this process, until ``count`` processes would save more time than they take to start."""
    fastest = math.inf
    for computed, k in enumerate(numbers):
        if computed > 1 or (computed == 1 and fastest > START_SECONDS):  # The first number may load modules.
            saved = fastest * (len(numbers) - computed) * (1 - 1 / count)
            if saved > START_SECONDS:
                return
        start = time.process_time()  # CPU time: other programs may use the cores now
        files = compute_files(task, k, pool)
        fastest = min(fastest, time.process_time() - start)
        yield files


ALL_CORES = Local()


def jobs_of(engine: Engine) -> int:
    """Return the number of models that an engine trains in parallel; 1 if only the engine knows."""
    if isinstance(engine, Local):
        return int(joblib.effective_n_jobs(engine.jobs))
    return 1


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise write_error(path, error) from error


def _results(crew: "_Crew", numbers: Sequence[int]) -> Generator[Files]:
    waiting = deque(numbers)
    deaths = Counter[int]()
    for process in crew.processes:
        process.give(waiting.popleft())
    while any(process.number is not None for process in crew.processes):
        process, message = crew.next_message()
        k = process.number
        process.number = None
        if k is None:  # It had finished its work, and ended.
            crew.dismiss(process)
            continue
        if message is None:
            deaths[k] += 1
            if deaths[k] == TRIES:
                raise AuditError(_loss_message(k, process.status()))
            crew.replace(process).give(k)
            continue
        outcome = pickle.loads(message)
        if isinstance(outcome, Exception):
            raise outcome
        # The next number is sent before the files are written, so that the process need not wait for the disk.
        process.give(waiting.popleft() if waiting else None)
        yield outcome


def _loss_message(k: int, status: int) -> str:
    end = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
    return (
        f"The process that worked on number {k} {end}, {TRIES} times over; a full memory is the usual cause. Number {k} is "
        "lost, what was collected is kept: run again, with fewer jobs."
    )


class _Crew:
    """Processes of one run, and an inbox of pairs (process, message); a message of None: the process died."""

    def __init__(self, order: Path, devices: Sequence[str] = ()):
        self.processes: list[_Process] = []
        self.inbox: SimpleQueue[tuple[_Process, bytes | None]] = SimpleQueue()
        self._order = order
        self._devices = devices

    def start(self, count: int) -> None:
        for number in range(count):  # Started one by one: if one fails to start, the earlier ones are ended.
            self._start_on(self._devices[number % len(self._devices)] if self._devices else None)

    def _start_on(self, device: str | None) -> "_Process":
        self.processes.append(_Process(self._order, self.inbox, device))
        return self.processes[-1]

    def next_message(self) -> "tuple[_Process, bytes | None]":
        while True:
            with suppress(Empty):
                return self.inbox.get(timeout=CHECK_INTERVAL)
            for process in self.processes:
                if process.number is not None:
                    process.kill_children_if_dead()

    def dismiss(self, process: "_Process") -> None:
        self.processes.remove(process)
        process.close()

    def replace(self, dead: "_Process") -> "_Process":
        self.dismiss(dead)
        return self._start_on(dead.device)

    def end(self) -> None:
        for process in self.processes:
            process.kill_if_working()
        for process in self.processes:
            process.close()


class _Process:
    """An interpreter that computes the files of one number at a time."""

    def __init__(self, order: Path, inbox: SimpleQueue, device: str | None):
        self.number: int | None = None
        self.device = device
        environment = {**os.environ, **ONE_THREAD}
        if device is not None:
            environment[DEVICE] = device
        self._finishing = False
        self._child = subprocess.Popen(
            [get_executable(), "-c", _START, str(order)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            # A separate group: Ctrl-C reaches only the driver, and processes that a model has started end with it.
            process_group=0 if os.name == "posix" else None,
        )
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._commands = self._child.stdin
        self._results = self._child.stdout
        self._listener = Thread(target=self._listen, args=(inbox,), name=LISTENER, daemon=True)
        self._listener.start()

    def give(self, number: int | None) -> None:
        """Send the next number; None if there is no more work."""
        self.number = number
        self._finishing = number is None
        with suppress(BrokenPipeError):  # It is dead, and the listener reports it.
            self._commands.write(_END if number is None else b"%d\n" % number)
            self._commands.flush()

    def status(self) -> int:
        """Return the exit status."""
        return self._child.wait()

    def kill_children_if_dead(self) -> None:
        """End the processes that a dead process has started: they may hold the pipe open and hide its death."""
        if self._child.poll() is not None:
            self._kill()

    def kill_if_working(self) -> None:
        """End the process if it is still working."""
        if not self._finishing:
            self._kill()

    def close(self) -> None:
        """Wait for its end, and end it if it takes too long."""
        try:
            self._child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._kill()
            self._child.wait()
        self._listener.join(CHECK_INTERVAL)
        if self._listener.is_alive():
            self.kill_children_if_dead()
            self._listener.join()
        self._results.close()
        with suppress(BrokenPipeError):
            self._commands.close()

    def _kill(self) -> None:
        if os.name != "posix":
            self._child.kill()
            return
        with suppress(ProcessLookupError, PermissionError):  # The group has no processes.
            os.killpg(self._child.pid, signal.SIGKILL)

    def _listen(self, inbox: SimpleQueue) -> None:
        while (message := _receive(self._results)) is not None:
            inbox.put((self, message))
        inbox.put((self, None))


def _receive(pipe: IO[bytes]) -> bytes | None:
    """Read one message; None if the pipe ends within it or before it."""
    head = pipe.read(8)
    size = int.from_bytes(head, "big")
    message = pipe.read(size)
    if len(head) == 8 and len(message) == size:
        return message
    return None


def serve(order: IO[bytes]) -> None:
    """Run in a process: load the task, then compute the files of every number that arrives."""
    work = Path(order.name).parent
    numbers = SimpleQueue[int | None]()
    # The task has no access to the pipes: its output goes to stderr, and its input is empty.
    commands = os.dup(0)
    results = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    Thread(target=_read_numbers, args=(os.fdopen(commands, "rb"), numbers), daemon=True).start()
    try:
        with order:
            task = pickle.load(order)
    except Exception as error:
        _send(results, load_error(error))
        return
    gc.freeze()  # Loaded modules stay, so garbage collection can skip them.
    gc.enable()
    pool = None
    for k in iter(numbers.get, None):
        if pool is None:
            pool = joblib.load(work / _POOL, mmap_mode="r")  # Read-only: no model can change the records.
        _send(results, compute_or_error(task, k, pool))


def _read_numbers(commands: IO[bytes], numbers: SimpleQueue) -> None:
    """Pass on numbers; if the pipe ends early, end the process at once."""
    for line in commands:
        if line == _END:
            numbers.put(None)
            return
        numbers.put(int(line))
    os._exit(1)


def _send(results: IO[bytes], outcome: Files | Exception) -> None:
    message = cloudpickle.dumps(outcome)
    results.write(len(message).to_bytes(8, "big"))
    results.write(message)
    results.flush()
