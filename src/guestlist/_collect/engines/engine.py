"""Protocol of engines: an engine computes the files of many numbers, and the driver writes them.

An engine is a value: ``Here()`` works in this process, ``Local(jobs)`` in local processes, ``Ray(address)`` on a cluster.
Workers only compute and send arrays back. The driver writes each file atomically, so a killed audit resumes from the files
that were finished. Every model is trained with one thread and its own random stream: results are bitwise identical for any
engine, any number of workers and any interruption.
"""

import pickle
import shutil
import sys
import traceback
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import cloudpickle
import numpy as np

from guestlist._store import write_npz
from guestlist._util import Notes, collect_notes, reason, short_repr
from guestlist.data import Data
from guestlist.errors import AuditError
from guestlist.models import unchanged

Progress = Callable[..., Iterable]
Files = Mapping[Path, Mapping[str, np.ndarray]]

# Private folder in which an engine may put the records while it runs.
WORK = ".work"

# Environment in which libraries that are loaded later use one thread, and CUDA results are identical in every run.
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
) | {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}

# Entry of the files of a number that holds the notes of its task; the driver does not write it as a file.
NOTES = Path("notes")


class Task(Protocol):
    """Computation of the files of number ``k``. It is sent to the workers, so it should be small."""

    def files(self, k: int, pool: Data) -> Files: ...


@runtime_checkable
class Engine(Protocol):
    """Runner of tasks."""

    def run(self, task: Task, numbers: Sequence[int], pool: Data, work: Path) -> Generator[Files]:
        """Yield the files of every number, in any order. Closing the generator ends all processes that it started.

        Args:
            work: Folder that the engine may make while it runs.
        """
        ...


@dataclass(frozen=True)
class Here:
    """Engine that trains models in this process, one after the other.

    Use it for models that cannot be pickled, and for debugging.

    Examples:
        >>> model, members, nonmembers = gl.testing.small_model()
        >>> options = {"references": 4, "attacks": ["reference"], "baseline": False}
        >>> here = gl.audit(model, members, nonmembers, engine=gl.Here(), **options)
        >>> here.references.count
        4
    """

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
    notes: Callable[[str, Notes], None] = lambda _folder, _notes: None,
) -> None:
    """Compute and write the files of every number.

    Args:
        folder: Audit folder; an engine may put the records there while it runs.
        write: Writes one file atomically.
        notes: Receives the name of the folder of a task's files, and its notes, such as the device that it used.
        progress: Wraps an iterable and takes ``total=``, as ``tqdm`` does.
    """
    if not numbers:
        return
    # Closed at once, also if the progress fails: otherwise processes run as long as the traceback exists.
    with (
        closing(engine.run(task, numbers, pool, folder / WORK)) as computed,
        closing(_written(computed, write, notes)) as finished,
    ):
        for _ in progress(finished, total=len(numbers)) if progress else finished:
            pass


def clear_work(folder: Path) -> None:
    """Remove the records that an engine of a killed audit left behind."""
    shutil.rmtree(folder / WORK, ignore_errors=True)


def compute_files(task: Task, k: int, pool: Data) -> Files:
    """Compute the files of one number; an unexpected error gets a note with the number."""
    try:
        with unchanged(pool, f"Model {k}"), collect_notes() as notes:
            files = task.files(k, pool)
        if not notes:
            return files
        return {**files, NOTES: {topic: np.array(sorted(texts)) for topic, texts in notes.items()}}
    except AuditError:
        raise
    except Exception as error:
        error.add_note(f"This was number {k} of {type(task).__name__}. What was collected before it is kept.")
        raise


def compute_or_error(task: Task, k: int, pool: Data) -> Files | Exception:
    """Compute the files of one number in a worker; an error is returned instead of raised."""
    try:
        return compute_files(task, k, pool)
    except Exception as error:
        return _picklable_error(error, k)


# Options of scikit-learn that change how models are trained, with their defaults.
SKLEARN_OPTIONS: Mapping[str, Any] = {
    "assume_finite": False,
    "enable_metadata_routing": False,
    "skip_parameter_validation": False,
    "transform_output": "default",
}


@dataclass(frozen=True)
class ConfiguredTask:
    """Task with the options of scikit-learn that the user set, which another process does not inherit."""

    task: Task
    options: Mapping[str, Any]

    def files(self, k: int, pool: Data) -> Files:
        from sklearn import config_context

        with config_context(**self.options):
            return self.task.files(k, pool)


def _with_sklearn_options(task: Task) -> Task:
    if "sklearn" not in sys.modules:
        return task
    config = sys.modules["sklearn"].get_config()
    options = {name: config[name] for name, default in SKLEARN_OPTIONS.items() if config.get(name, default) != default}
    if not options:
        return task
    return ConfiguredTask(task, options)


def pickle_task(task: Task) -> bytes:
    """Pickle a task, also with lambdas and functions of a script."""
    try:
        return cloudpickle.dumps(_with_sklearn_options(task))
    except Exception as error:
        raise AuditError(
            f"Cannot send the task to other processes ({reason(error)}). Run it in this process: engine=gl.Here() "
            "(--engine here)."
        ) from error


def load_error(error: Exception) -> AuditError:
    """Return the error for a task that a worker cannot load."""
    return AuditError(
        f"Cannot load the task in another process ({reason(error)}). Run it in this process: engine=gl.Here() (--engine "
        "here)."
    )


def _picklable_error(error: Exception, k: int) -> Exception:
    """Return the error with its traceback as a note, or one with the same message if it cannot be pickled."""
    text = "".join(traceback.format_exception(error))
    try:
        pickle.loads(cloudpickle.dumps(error))
    except Exception:
        return AuditError(f"Task {k} failed ({reason(error)}). Results of earlier tasks are kept; run again to resume.")
    error.add_note(f"It happened in another process:\n{text}")
    return error


def _written(
    computed: Iterable[Files],
    write: Callable[[Path, Mapping[str, np.ndarray]], None],
    notes: Callable[[str, Notes], None],
) -> Generator[Files]:
    for files in computed:
        paths = [path for path in files if path != NOTES]
        for path in paths:
            write(path, files[path])
        if NOTES in files:
            notes(paths[0].parent.name, {topic: set(texts.tolist()) for topic, texts in files[NOTES].items()})
        yield files


def resolve_engine(engine: Engine | None, jobs: int | None) -> Engine:
    """Return the engine that a user chose, by itself or by a number of processes."""
    if engine is None:
        from guestlist._collect.engines.local import ALL_CORES, Local

        if jobs is None:
            return ALL_CORES
        return Local(jobs)
    if jobs is not None:
        raise ValueError(
            f"jobs={short_repr(jobs)} and engine={short_repr(engine)} cannot be combined: jobs is short for "
            f"engine=gl.Local({short_repr(jobs)}). Remove one of them."
        )
    if isinstance(engine, type) or not isinstance(engine, Engine):
        raise ValueError(f"Expected engine={short_repr(engine)} to be gl.Local(), gl.Here() or gl.Ray().")
    return engine
