"""Train, ask, write: one task at a time, in as many processes as asked.

Each worker writes the files of its own task, whole or not at all, so whatever was finished when an audit is killed is
there when it runs again. Every model is trained with one thread and its own random stream: the bits depend
neither on how many run side by side nor on which were there before.
"""

from __future__ import annotations

import shutil
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import joblib
import numpy as np
from threadpoolctl import threadpool_limits

from guestlist.data import Data
from guestlist.errors import AuditError
from guestlist.randomness import global_generators
from guestlist.store.files import write_npz
from guestlist.targets.scales import Scale
from guestlist.targets.target import Predict, answers

Progress = Callable[..., Iterable]
Files = Mapping[Path, Mapping[str, np.ndarray]]

# Where the records wait for the workers while models are trained; nobody else may read it.
WORK = ".work"


class Task(Protocol):
    """How the files of number ``k`` come to be. It travels to the workers, so it should be light."""

    def files(self, k: int, pool: Data) -> Files: ...


@dataclass(frozen=True)
class Question:
    """How a model is asked about the records of the pool, and what is kept of its answers.

    Args:
        labels: (records,) what answers are judged by: positions of the true classes, or true values.
        columns: of the answers.
        scale: of the answers, with what was learnt from the target's.
    """

    labels: np.ndarray
    columns: int
    scale: Scale

    def answers(self, name: str, train: Callable[[], Predict], x, rng: np.random.Generator) -> np.ndarray:
        """(records, columns) what the model that ``train`` makes says about ``x``.

        Args:
            name: of the model, for messages.
            rng: also seeds the generators that some libraries read behind our back.
        """
        # What the recipe has to warn of, the user heard when the target was trained.
        with _one_thread(), global_generators(rng), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return answers(train(), x, self.columns, self.scale)
            except AuditError as error:
                raise AuditError(f"{name}: {error}") from error
            except Exception as error:
                raise AuditError(
                    f"{name} could not be trained or asked ({type(error).__name__}: {error}). What was collected before "
                    "it is kept."
                ) from error

    def take(self, records: np.ndarray) -> Question:
        """The same about some of the records."""
        return replace(self, labels=self.labels[records])

    def signals(self, answers: np.ndarray) -> dict[str, np.ndarray]:
        """Name to (records,) signals of answers about all the records that are asked about."""
        return self.scale.signals(answers, self.labels)


def run_all(
    task: Task, numbers: Sequence[int], pool: Data, folder: Path, *, jobs: int, progress: Progress | None = None
) -> None:
    """Write the files of every number.

    Args:
        folder: of the audit; the records wait there while several processes work.
        jobs: processes; -1 for one per core.
        progress: wraps an iterable and takes ``total=``, as ``tqdm`` does.
    """
    if not numbers:
        return
    finished = _each(task, numbers, pool, folder / WORK, joblib.effective_n_jobs(jobs))
    for _ in progress(finished, total=len(numbers)) if progress else finished:
        pass


def clear_work(folder: Path) -> None:
    """Remove what an audit that was killed left behind; it holds records."""
    shutil.rmtree(folder / WORK, ignore_errors=True)


def _each(task: Task, numbers: Sequence[int], pool: Data, work: Path, jobs: int):
    if jobs == 1 or len(numbers) == 1:
        for k in numbers:
            _write(task.files(k, pool))
            yield k
        return
    work.mkdir(mode=0o700)
    try:
        # The records go through a file that the workers map into memory: once, not once per model.
        joblib.dump(pool, work / "pool.joblib")
        with joblib.parallel_config("loky", n_jobs=min(jobs, len(numbers)), inner_max_num_threads=1):
            run = joblib.Parallel(return_as="generator_unordered", pre_dispatch="4*n_jobs", batch_size=1)
            yield from run(joblib.delayed(_in_worker)(work / "pool.joblib", task, k) for k in numbers)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _in_worker(pool: Path, task: Task, k: int) -> int:
    _write(task.files(k, _mapped(pool, pool.stat().st_mtime_ns)))
    return k


def _write(files: Files) -> None:
    for path, arrays in files.items():
        write_npz(path, **arrays)


@lru_cache(maxsize=1)
def _mapped(path: Path, _changed: int) -> Data:
    return joblib.load(path, mmap_mode="c")


@contextmanager
def _one_thread():
    torch = sys.modules.get("torch")
    before = torch and torch.get_num_threads()
    if torch:
        torch.set_num_threads(1)
    try:
        with threadpool_limits(limits=1):
            yield
    finally:
        if torch:
            torch.set_num_threads(before)
