"""Estimate how long an audit takes, before anything is stored."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from guestlist._audit import AuditConfig, Forecast, References, Times, check_plan, choose_references
from guestlist._collect import Engine, Inputs, SignalExtractor, jobs_of, planned_split, prepare, query_target
from guestlist._util import duration, number, stream
from guestlist.defences import Recipe
from guestlist.evidence import EVIDENCE, default_plans
from guestlist.evidence.table import AnyPlan
from guestlist.models import as_target, numpy_defaults

# Seconds of scoring and evaluating one audit, fitted to benchmarks/load/results.json: a constant, and more for each record and
# each output of a model.
EVALUATION = 4.0
EVALUATION_OF_RECORD = 38e-6
EVALUATION_OF_OUTPUT = 0.2e-6


@dataclass(frozen=True)
class RuntimeEstimate:
    """Estimated duration of an audit, in seconds.

    Attributes:
        queries: Seconds to query the target for all records.
        references: Number of reference models.
        seconds_per_model: Seconds to train and query one reference model in one process.
        evidence: Seconds of each type of evidence, by name.
        evaluation: Seconds to score and evaluate; from a benchmark, not measured on this machine.
        jobs: Number of models that are trained in parallel.
    """

    queries: float
    references: int
    seconds_per_model: float
    evidence: Mapping[str, float]
    evaluation: float
    jobs: int

    @property
    def forecast(self) -> Forecast:
        """Return the work on reference models and the evaluation."""
        return Forecast(
            models=self.references,
            trainings=self.references,
            audits=1,
            times=Times(self.seconds_per_model, self.evaluation),
            jobs=min(self.jobs, max(self.references, 1)),
        )

    @property
    def seconds(self) -> float:
        """Seconds of the whole audit."""
        return self.queries + self.forecast.seconds + sum(self.evidence.values())

    def __str__(self) -> str:
        schedule = "one at a time"
        if self.forecast.jobs > 1:
            schedule = f"{self.forecast.jobs} in parallel"
        training = self.forecast.seconds - self.evaluation
        lines = [
            f"Estimated time: about {duration(self.seconds)}.",
            f"  Queries of the model: {_seconds(self.queries)}",
            f"  Evaluation: {_seconds(self.evaluation)}, from a benchmark",
        ]
        if self.references:
            each = f"{_seconds(self.seconds_per_model)} each, {schedule}"
            lines.insert(2, f"  {self.references} reference models: {_seconds(training)} ({each})")
        for name, seconds in self.evidence.items():
            lines.insert(-1, f"  Evidence {name}: {_seconds(seconds)}")
        return "\n".join(lines)


def _seconds(seconds: float) -> str:
    """Format a duration; short ones have two digits.

    >>> _seconds(0.034), _seconds(40)
    ('0.034 s', '40 s')
    """
    if seconds < 10:
        return f"{seconds:.2g} s"
    return duration(seconds)


def estimate(
    model,
    members,
    nonmembers,
    population=None,
    *,
    label: str | None = None,
    group: str | Sequence[str] = (),
    id: str | None = None,
    person: str | None = None,
    references: int | None = None,
    evidence: Sequence[AnyPlan] = (),
    seed: int = 0,
    jobs: int | None = None,
    engine: Engine | None = None,
    duplicates: Literal["warn", "drop"] = "warn",
    train: Recipe | Callable | None = None,
    fit_params: Mapping[str, Any] | None = None,
    seconds_per_model: float | None = None,
) -> RuntimeEstimate:
    """Estimate how long ``audit`` with these arguments takes; nothing is stored.

    guestlist queries the model and trains one reference model, and measures the time of both.

    Args:
        model, members, nonmembers, population: As for ``audit``.
        label, group, id, person, evidence, seed: As for ``audit``.
        references: Number of reference models; by default 32, or 0 if the training recipe is unknown.
        jobs, engine, duplicates, train, fit_params: As for ``audit``.
        seconds_per_model: Seconds of one training, if you know them. Then no model is trained.

    Returns:
        The estimate: ``.seconds`` for the whole audit, its parts as attributes, and ``print`` shows a text.

    Raises:
        InputError: If the model, the records and the labels do not fit together.
        AuditError: If the reference model cannot be trained.
        ValueError: If an option is out of range, or ``references`` is not a number.

    Examples:
        >>> model, members, nonmembers = gl.testing.small_model()
        >>> estimated = gl.estimate(model, members, nonmembers, references=32, jobs=2, seconds_per_model=60)
        >>> 16 * 60 < estimated.seconds < 17 * 60
        True
        >>> print(estimated)
        Estimated time: about 16 min.
          Queries of the model: ...
          32 reference models: 16 min (60 s each, 2 in parallel)
          Evidence leaves: ...
          Evaluation: 4 s, from a benchmark
    """
    target = as_target(model, train)
    config = AuditConfig.from_options(
        label=label,
        group=group,
        id=id,
        person=person,
        references=choose_references(target, references),
        evidence=evidence,
        seed=seed,
        jobs=jobs,
        engine=engine,
        duplicates=duplicates,
        fit_params=fit_params,
    )
    n_references = _fixed_number(config.references)
    if seconds_per_model is not None:
        number("seconds_per_model", seconds_per_model, 0)
    inputs = prepare(target, members, nonmembers, population, **config.input_options)
    check_plan(inputs, config)
    with numpy_defaults():
        return _measure(inputs, config, n_references, seconds_per_model)


def _fixed_number(references: References) -> int:
    if not isinstance(references, int):
        raise ValueError(f"references={references} must be an integer: gl.estimate reports the time of a fixed number.")
    return references


def _measure(
    inputs: Inputs, config: AuditConfig, n_references: int, seconds_per_model: float | None
) -> RuntimeEstimate:
    """Query the target and train one reference model, and measure the time of both."""
    target = inputs.target
    pool = inputs.pool
    start = time.perf_counter()
    outputs, _ = query_target(target, pool)
    queries = time.perf_counter() - start
    plans = default_plans(config.evidence, target, pool, inputs.split)
    work = {plan.name: EVIDENCE[plan.name].work(plan, inputs.split) for plan in plans}
    training = 0.0
    if seconds_per_model is not None:
        training = seconds_per_model
    elif n_references or any(part.trainings for part in work.values()):
        labels = target.labels_of(pool.y)
        extractor = SignalExtractor(labels, target.columns, target.scale.resolved(outputs, labels))
        training = _time_reference(inputs, extractor, max(n_references, 1), config.seed)
    jobs = jobs_of(config.engine)
    return RuntimeEstimate(
        queries=queries,
        references=n_references,
        seconds_per_model=training,
        evidence={
            name: part.trainings * training / jobs + part.queries * queries + part.seconds
            for name, part in work.items()
        },
        evaluation=evaluation_seconds(len(pool), n_references),
        jobs=jobs,
    )


def _time_reference(inputs: Inputs, extractor: SignalExtractor, n_references: int, seed: int) -> float:
    """Train the first of the planned reference models, query it, and return the seconds."""
    pool = inputs.pool
    rows = planned_split(inputs, n_references, seed).member[1]
    train = inputs.target.needs("train")
    rng = stream(seed, "training", 1)
    start = time.perf_counter()
    extractor.train_and_query("Reference 1", lambda: train(pool.copied(rows), rng), pool.x, rng)
    return time.perf_counter() - start


def evaluation_seconds(records: int, references: int) -> float:
    """Return the seconds of scoring and evaluating an audit of this size, from a benchmark."""
    return EVALUATION + records * (EVALUATION_OF_RECORD + references * EVALUATION_OF_OUTPUT)
