"""Estimated runtime of trying defences, reported before it begins."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import joblib

from guestlist.collecting.engines.engine import Engine, Progress
from guestlist.collecting.engines.local import Local
from guestlist.collecting.inputs import Inputs
from guestlist.defending.candidates import Candidate
from guestlist.defending.trying import DefenceRunner, trained
from guestlist.store.files import read_json, write_json
from guestlist.store.jsonable import from_json, to_json
from guestlist.targets import Target

TIMES = "times.json"


@dataclass(frozen=True)
class Times:
    """Seconds of one plain training with one thread, and of judging one audit; None where none was at hand to time."""

    training: float
    judging: float | None


@dataclass(frozen=True)
class Forecast:
    """Work that remains.

    Args:
        models: to train: targets and references.
        trainings: the same, those that take longer than plain training counted as often as they take longer.
        audits: to judge.
        times: of one training and of one audit.
        jobs: models trained side by side; 1 where only the engine knows.
    """

    models: int
    trainings: float
    audits: int
    times: Times
    jobs: int

    @property
    def seconds(self) -> float:
        return self.trainings * self.times.training / self.jobs + self.audits * (self.times.judging or 0.0)


def forecast(pending: Sequence[Candidate], references: int, times: Times, engine: Engine, plain: int = 0) -> Forecast:
    """Estimate the remaining work.

    Args:
        left: what is still to be tried.
        references: of each audit.
        plain: models that the audit of the plain model still lacks.
    """
    each = 1 + references
    trainings = plain + each * sum(candidate.times for candidate in pending)
    return Forecast(
        models=plain + each * len(pending),
        trainings=trainings,
        audits=len(pending) + (plain > 0),
        times=times,
        jobs=jobs_of(engine),
    )


def jobs_of(engine: Engine) -> int:
    """Return the number of models that an engine trains in parallel; 1 if only the engine knows."""
    return int(joblib.effective_n_jobs(engine.jobs)) if isinstance(engine, Local) else 1


class Clock:
    """A progress that looks at the time: how many models were trained, and for how long."""

    def __init__(self, progress: Progress | None):
        self.inner = progress
        self.models = 0
        self.seconds = 0.0

    def progress(self, items: Iterable, *, total: int, **options) -> Iterable:
        start = time.perf_counter()
        yield from items if self.inner is None else self.inner(items, total=total, **options)
        self.models += total
        self.seconds += time.perf_counter() - start


def timed(bench: DefenceRunner, clock: Clock, judge: Callable[[], object]) -> tuple[Times, Target | None]:
    """Measure training and evaluation: read from this folder, from the plain audit, or by one training.

    That one training is the target's own, which is tried anyway: it is handed on.

    Args:
        clock: of the audit of the plain model.
        judge: judges that audit once more; the first time libraries are loaded, and more.
    """
    path = bench.root / TIMES
    again = None
    if path.exists():
        return from_json(Times, read_json(path)), None
    if clock.models:
        training = clock.seconds * min(jobs_of(bench.settings.engine), clock.models) / clock.models
    else:
        training, again = time_of_training(bench.plain.inputs, bench.settings.seed)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # all was said the first time
        judge()
    times = Times(training, time.perf_counter() - start)
    write_json(path, to_json(times))
    return times, again


def time_of_training(given: Inputs, seed: int) -> tuple[float, Target | None]:
    """Return seconds of training the target again, and that target; 0 and None if nothing trains it."""
    if "retrain" not in given.target.can:
        return 0.0, None
    start = time.perf_counter()
    target = trained(given.target, None, given.pool.copied(given.split.members), seed)
    return time.perf_counter() - start, target
