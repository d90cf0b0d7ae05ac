"""Where the long work runs: an engine computes the files of many numbers, and the driver writes them.

An engine is a value: ``Here()`` works in this process, ``Local(jobs)`` in processes of its own, ``Ray(address)`` on a
cluster. Workers only compute and send arrays back. The driver writes each file whole or not at all, so whatever was
finished when an audit is killed is there when it runs again. Every model is trained with one thread and its own random
stream: the bits depend neither on the engine, nor on how many run side by side, nor on which were there before.
"""

from __future__ import annotations

import pickle
import shutil
import traceback
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import cloudpickle
import numpy as np

from guestlist.calling import unchanged
from guestlist.data import Data
from guestlist.errors import AuditError
from guestlist.lines import reason
from guestlist.store.files import write_npz

Progress = Callable[..., Iterable]
Files = Mapping[Path, Mapping[str, np.ndarray]]

# Where an engine may put the records while it runs; nobody else may read it.
WORK = ".work"

# What makes a library that is loaded later work with one thread.
ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "NUMBA_NUM_THREADS",
    ),
    "1",
)


class Task(Protocol):
    """How the files of number ``k`` come to be. It travels to the workers, so it should be light."""

    def files(self, k: int, pool: Data) -> Files: ...


@runtime_checkable
class Engine(Protocol):
    """Where tasks run."""

    def run(self, task: Task, numbers: Sequence[int], pool: Data, work: Path) -> Generator[Files]:
        """The files of every number, in any order. Closing it ends whatever was started for it.

        Args:
            work: where the engine may make a folder for as long as it runs.
        """
        ...


@dataclass(frozen=True)
class Here:
    """In this process, one after the other: for models that cannot travel, and for debugging."""

    def run(self, task: Task, numbers: Sequence[int], pool: Data, work: Path) -> Generator[Files]:
        for k in numbers:
            yield compute_files(task, k, pool)


def run_all(
    task: Task,
    numbers: Sequence[int],
    pool: Data,
    folder: Path,
    *,
    engine: Engine,
    progress: Progress | None = None,
    write: Callable[[Path, Mapping[str, np.ndarray]], None] = lambda path, arrays: write_npz(path, **arrays),
) -> None:
    """Write the files of every number.

    Args:
        folder: of the audit; an engine may keep the records there while it runs.
        write: one file, whole or not at all.
        progress: wraps an iterable and takes ``total=``, as ``tqdm`` does.
    """
    if not numbers:
        return
    # Closed here and now, also where the progress is what fails: otherwise processes live on as long as the traceback.
    with (
        closing(engine.run(task, numbers, pool, folder / WORK)) as computed,
        closing(_written(computed, write)) as finished,
    ):
        for _ in progress(finished, total=len(numbers)) if progress else finished:
            pass


def clear_work(folder: Path) -> None:
    """Remove what an audit that was killed left behind; it holds records."""
    shutil.rmtree(folder / WORK, ignore_errors=True)


def compute_files(task: Task, k: int, pool: Data) -> Files:
    """The files of one number; an error that is not about the user's input says which number it was."""
    try:
        with unchanged(pool, f"Model {k}"):
            return task.files(k, pool)
    except AuditError:
        raise
    except Exception as error:
        error.add_note(f"This was number {k} of {type(task).__name__}. What was collected before it is kept.")
        raise


def pickle_task(task: Task) -> bytes:
    """The task, ready to travel: also functions of a script and lambdas."""
    try:
        return cloudpickle.dumps(task)
    except Exception as error:
        raise AuditError(
            f"What is to be done cannot be sent to other processes ({reason(error)}). Do it in this one: "
            "engine=gl.Here() (--engine here)."
        ) from error


def load_error(error: Exception) -> AuditError:
    """What to say where a task that came from elsewhere cannot be loaded."""
    return AuditError(
        f"What is to be done cannot be loaded in another process ({reason(error)}). Do it in this one: "
        "engine=gl.Here() (--engine here)."
    )


def picklable_error(error: Exception, k: int) -> Exception:
    """The error if it can travel, with a note of where it happened; otherwise one that says the same."""
    happened = "".join(traceback.format_exception(error))
    try:
        pickle.loads(cloudpickle.dumps(error))
    except Exception:
        return AuditError(f"Number {k} failed ({reason(error)}). What was collected before it is kept.")
    error.add_note(f"It happened in another process:\n{happened}")
    return error


def _written(computed: Iterable[Files], write: Callable[[Path, Mapping[str, np.ndarray]], None]) -> Generator[Files]:
    for files in computed:
        for path, arrays in files.items():
            write(path, arrays)
        yield files
