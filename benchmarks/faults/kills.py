"""``python -m benchmarks.faults.kills``: kill and resume audits.

An audit is killed at every call that makes a file durable, and at random times. A kill is SIGKILL, so no cleanup runs. Each trial
begins with an empty folder, kills the audit once (at random times: up to three times) and runs it again to its end. The folder is
then compared byte by byte with that of an undisturbed audit.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
from sklearn.tree import DecisionTreeClassifier

import guestlist as gl
from guestlist._store.files import LOCK

RESULTS = Path(__file__).with_suffix(".json")
# Calls that make a file durable.
CALLS = ("fsync", "replace")


def audit(folder: Path, jobs: int = 1) -> None:
    """Run a small audit with references and several types of evidence."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(80, 3)), rng.integers(2, size=80)
    model = DecisionTreeClassifier(max_features=1, random_state=0).fit(x[:40], y[:40])
    evidence = [gl.evidence.Perturbed(2), gl.evidence.LeftOut(records=2, models=2), gl.evidence.FullOutputs()]
    both_sets = (x[:40], y[:40]), (x[40:], y[40:])
    gl.audit(model, *both_sets, references=4, attacks=["loss", "lira"], evidence=evidence, folder=folder, jobs=jobs)


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file, including hidden ones; the lock is empty and stays."""
    paths = (path for path in folder.rglob("*") if path.is_file() and path.name != LOCK)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def forked(work: Callable[[], None]) -> int:
    """Run ``work`` in a forked child with all imports, and return the child's process id."""
    child = os.fork()
    if child:
        with suppress(OSError):  # it has its group already, or has ended
            os.setpgid(child, child)
        return child
    status = 1
    try:
        os.setpgid(0, 0)  # its own children are killed with it
        warnings.simplefilter("ignore")
        work()
        status = 0
    finally:
        sys.stderr.flush()
        os._exit(status)


def ended(child: int) -> int:
    """Return the exit status of a child, or minus the signal that killed it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def count_calls(folder: Path) -> int:
    """Return the number of these calls in an undisturbed audit, which writes to a folder."""
    note = folder.with_suffix(".calls")

    def work() -> None:
        calls = watched(lambda _: None)
        audit(folder)
        note.write_text(str(calls[0]))

    with tempfile.TemporaryDirectory() as warm, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        audit(Path(warm) / "audit")  # children then need no imports
    if ended(forked(work)):
        raise RuntimeError("The undisturbed audit failed.")
    return int(note.read_text())


def watched(callback: Callable[[int], None]) -> list[int]:
    """Call ``callback`` with a number before and after each of the calls; return the running count."""
    count = [0]

    def around(call: Callable) -> Callable:
        def watched_call(*arguments):
            for step in (lambda: None, lambda: call(*arguments)):
                step()
                count[0] += 1
                callback(count[0])

        return watched_call

    for name in CALLS:
        setattr(os, name, around(getattr(os, name)))
    return count


def killed_at(folder: Path, number: int) -> bool:
    """Kill an audit at one of its calls; return False if it ended by itself."""

    def kill(at: int) -> None:
        if at == number:
            os.kill(os.getpid(), signal.SIGKILL)

    def work() -> None:
        watched(kill)
        audit(folder)

    return ended(forked(work)) == -signal.SIGKILL


def killed_after(folder: Path, seconds: float) -> bool:
    """Kill an audit and its worker processes some time after the start."""
    child = forked(lambda: audit(folder, jobs=2))
    time.sleep(seconds)
    os.killpg(child, signal.SIGKILL)
    return ended(child) == -signal.SIGKILL


def resumed(folder: Path) -> dict[str, bytes]:
    """Return the files after the audit was run again to its end."""
    if ended(forked(lambda: audit(folder))):
        raise RuntimeError(f"The audit in {folder} could not be resumed.")
    return contents(folder)


def duration(folder: Path) -> float:
    """Return the seconds that an undisturbed audit with two jobs takes."""
    start = time.perf_counter()
    ended(forked(lambda: audit(folder, jobs=2)))
    seconds = time.perf_counter() - start
    shutil.rmtree(folder)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--random", type=int, default=40, help="number of trials that are killed at random times")
    parser.add_argument("--every", type=int, default=1, help="kill only at every n-th call")
    parser.add_argument("--write", action="store_true", help="write the results")
    options = parser.parse_args()
    start = time.perf_counter()
    rng = random.Random(0)
    unequal = list[str]()
    with tempfile.TemporaryDirectory() as root:
        undisturbed, folder = Path(root) / "undisturbed", Path(root) / "killed"
        calls, at_calls, at_random = count_calls(undisturbed), 0, 0
        expected = contents(undisturbed)

        def compare(name: str) -> None:
            if resumed(folder) != expected:
                unequal.append(name)
                print("unequal:", name, flush=True)
            shutil.rmtree(folder)

        for number in range(1, calls + 1, options.every):
            at_calls += killed_at(folder, number)
            compare(f"call {number}")
        takes = duration(folder) if options.random else 0.0
        for trial in range(options.random):
            for _ in range(rng.randint(1, 3)):
                at_random += killed_after(folder, rng.uniform(0, takes))
            compare(f"random {trial}")
    results = {
        "command": f"python -m benchmarks.faults.kills --every {options.every} --random {options.random}",
        "calls of an audit (before and after each fsync and rename)": calls,
        "kills at calls": at_calls,
        "kills at random, with two jobs": at_random,
        "resumed audits": len(range(0, calls, options.every)) + options.random,
        "unequal": unequal,
        "files compared": len(expected),
        "seconds": round(time.perf_counter() - start),
    }
    print(json.dumps(results, indent=1))
    if options.write:
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
