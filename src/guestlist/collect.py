"""Train, query, write: one file per model, in as many processes as asked.

Each worker writes its own model's file, whole or not at all, so whatever was finished when an audit is killed is
there when it runs again. Every model is trained with one thread and its own random stream: the bits depend
neither on how many run side by side nor on which were there before.
"""

from __future__ import annotations

import shutil
import sys
import warnings
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import joblib
import numpy as np
from threadpoolctl import threadpool_limits

from guestlist.data import Data, encode
from guestlist.errors import AuditError, FolderError
from guestlist.files import remove_parts, write_npz
from guestlist.games import Design
from guestlist.randomness import global_generators, training_stream
from guestlist.store import Store, model_path
from guestlist.targets.target import Target, answers, resolution_of, signals_of

Progress = Callable[..., Iterable]

# Where the records wait for the workers while models are trained; nobody else may read it.
WORK = ".work"
# Two answers of one fitted model differ by rounding only (threads add up in any order); another model's
# differ by more than this somewhere.
SAME_ANSWER = 1e-6


def collect(
    store: Store,
    target: Target,
    pool: Data,
    *,
    references: int,
    jobs: int = -1,
    progress: Progress | None = None,
) -> None:
    """Bring the store to hold the target's signals and those of ``references`` reference models.

    Args:
        pool: all records, in the order of ``store.pool()``, in the form the target reads.
        jobs: processes; -1 for one per core.
        progress: wraps an iterable and takes ``total=``, as ``tqdm`` does.
    """
    remove_parts(store.folder)
    work = store.folder / WORK
    shutil.rmtree(work, ignore_errors=True)  # left by an audit that was killed; it holds records
    labels = encode(pool.y, target.classes)
    smallest = ask_target(store, target, pool, labels)
    design = store.design()
    store.write_split(design.rows(1 + max(references, *store.models())))
    missing = sorted(set(range(1, 1 + references)) - set(store.models()))
    if not missing:
        return
    if target.train is None:
        raise AuditError(f"{len(missing)} references are to be trained, but the target has no recipe.")
    reference = Reference(target, design, labels, smallest)
    finished = _in_processes(store, reference, pool, missing, joblib.effective_n_jobs(jobs), work)
    for _ in progress(finished, total=len(missing)) if progress else finished:
        pass


def ask_target(store: Store, target: Target, pool: Data, labels: np.ndarray) -> float:
    """Write what the target says, or check that it still says it; returns the smallest probability it tells apart."""
    found = answers(target.predict, pool.x, len(target.classes), target.scale)
    kept = store.answers()
    if kept is None:
        _check_same_signals(store, target, found, labels)
        store.write_answers(found)
    elif kept.shape != found.shape or np.abs(kept - found).max() > SAME_ANSWER * max(1.0, np.abs(kept).max()):
        raise FolderError(_ANOTHER.format(store.folder))
    else:
        found = kept
    smallest = resolution_of(found, target.scale)
    if 0 not in store.models():
        store.write_model(0, signals_of(found, labels, target.scale, smallest))
    return smallest


_ANOTHER = "{} holds an audit of another fitted model: its answers differ. Choose another folder."


def _check_same_signals(store: Store, target: Target, found: np.ndarray, labels: np.ndarray) -> None:
    """Where the answers are gone but the target's signals are there, they must be this target's."""
    if 0 not in store.models():
        return
    now, then = signals_of(found, labels, target.scale, resolution_of(found, target.scale)), store.model(0)
    if any(np.abs(now[name] - then[name]).max() > SAME_ANSWER * max(1.0, np.abs(then[name]).max()) for name in then):
        raise FolderError(_ANOTHER.format(store.folder))


class Reference:
    """How one reference comes to be: everything about it but the records and its number."""

    def __init__(self, target: Target, design: Design, labels: np.ndarray, smallest: float):
        self.train, self.scale, self.classes = target.train, target.scale, len(target.classes)
        self.design, self.labels, self.smallest = design, labels, smallest

    def signals(self, k: int, pool: Data) -> dict[str, np.ndarray]:
        """Train reference ``k`` and return what it says about every record of the pool."""
        rng = training_stream(self.design.seed, k)
        # What the recipe has to warn of, the user heard when the target was trained.
        with _one_thread(), global_generators(rng), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                predict = self.train(pool.take(self.design.row(k)), rng)
                found = answers(predict, pool.x, self.classes, self.scale)
            except AuditError as error:
                raise AuditError(f"Reference {k}: {error}") from error
            except Exception as error:
                rarest = np.bincount(self.labels[self.design.row(k)], minlength=self.classes).min()
                raise AuditError(
                    f"Reference {k} could not be trained or asked ({type(error).__name__}: {error}). Its rarest class had "
                    f"{rarest} records. What was collected before it is kept."
                ) from error
        return signals_of(found, self.labels, self.scale, self.smallest)


def _in_processes(store: Store, reference: Reference, pool: Data, missing: list[int], jobs: int, work: Path):
    if jobs == 1 or len(missing) == 1:
        for k in missing:
            store.write_model(k, reference.signals(k, pool))
            yield k
        return
    work.mkdir(mode=0o700)
    try:
        # The records go through a file that the workers map into memory: once, not once per model.
        joblib.dump(pool, work / "pool.joblib")
        with joblib.parallel_config("loky", n_jobs=min(jobs, len(missing)), inner_max_num_threads=1):
            run = joblib.Parallel(return_as="generator_unordered", pre_dispatch="4*n_jobs", batch_size=1)
            yield from run(
                joblib.delayed(_write_one)(store.folder, work / "pool.joblib", reference, k) for k in missing
            )
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _write_one(folder: Path, pool: Path, reference: Reference, k: int) -> int:
    write_npz(model_path(folder, k), **reference.signals(k, _mapped(pool, pool.stat().st_mtime_ns)))
    return k


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
