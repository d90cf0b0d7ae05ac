"""Estimate how long an audit takes, before anything is stored."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any

from guestlist import _report  # its names are loaded when an estimate is printed
from guestlist._audit import AuditConfig, Forecast, Times, audit, check_plan, choose_references
from guestlist._collect import Inputs, SignalExtractor, existing_store, jobs_of, planned_split, prepare, query_target
from guestlist._util import number, stream
from guestlist.evidence import EVIDENCE, default_plans, resume_plans
from guestlist.models import as_target, numpy_defaults

# Seconds of scoring and evaluating one audit, fitted to benchmarks/load/results.json: a constant, and more for each record and
# each output of a model.
EVALUATION = 5.0
EVALUATION_OF_RECORD = 17e-6
EVALUATION_OF_OUTPUT = 0.25e-6


@dataclass(frozen=True)
class RuntimeEstimate:
    """Estimated duration of an audit, in seconds.

    Attributes:
        queries: Seconds to query the target for all records.
        references: Number of reference models of the audit.
        existing: Number of them that the folder already holds.
        seconds_per_model: Seconds to train and query one reference model in one process.
        evidence: Seconds of each type of evidence, by name.
        evaluation: Seconds to score and evaluate; from a benchmark, not measured on this machine.
        jobs: Number of models that are trained in parallel.
    """

    queries: float
    references: int
    existing: int
    seconds_per_model: float
    evidence: Mapping[str, float]
    evaluation: float
    jobs: int

    @property
    def forecast(self) -> Forecast:
        """Return the work on missing reference models and the evaluation."""
        missing = self.references - self.existing
        return Forecast(
            models=missing,
            trainings=missing,
            audits=1,
            times=Times(self.seconds_per_model, self.evaluation),
            jobs=min(self.jobs, max(missing, 1)),
        )

    @property
    def seconds(self) -> float:
        """Seconds of the whole audit."""
        return self.queries + self.forecast.seconds + sum(self.evidence.values())

    def __str__(self) -> str:
        return _report.render("estimate.txt", estimate=self)


def estimate(
    model,
    members,
    nonmembers,
    population=None,
    *,
    references: int | None = None,
    seconds_per_model: float | None = None,
    **options: Any,
) -> RuntimeEstimate:
    """Estimate how long ``audit`` with these arguments takes; nothing is stored.

    guestlist queries the model and trains one reference model, and measures the time of both. Reference models and evidence that
    ``folder`` already holds are not counted.

    Args:
        model, members, nonmembers, population: As for ``audit``.
        references: Number of reference models; by default 32, or 0 if the training recipe is unknown.
        seconds_per_model: Seconds of one training, if you know them. Then no model is trained.
        options: Other options of ``audit``, such as ``label``, ``evidence``, ``folder``, ``jobs`` and ``train``.

    Returns:
        The estimate: ``.seconds`` for the whole audit, its parts as attributes, and ``print`` shows a text.

    Raises:
        InputError: If the model, the records and the labels do not fit together.
        FolderError: If ``folder`` holds a different audit.
        AuditError: If the reference model cannot be trained.
        TypeError: If ``audit`` has no such option.
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
          Evaluation: ... s, from a benchmark
    """
    unknown = sorted(set(options) - set(signature(audit).parameters))
    if unknown:
        raise TypeError(f"gl.estimate takes the options of gl.audit; found {', '.join(unknown)}. Check the spelling.")
    if seconds_per_model is not None:
        number("seconds_per_model", seconds_per_model, 0)
    target = as_target(model, options.pop("train", None), options.pop("name", None))
    config = AuditConfig.from_options(references=choose_references(target, references), **options)
    n_references = config.fixed_references("gl.estimate reports the time of a fixed number")
    inputs = prepare(target, members, nonmembers, population, **config.input_options)
    check_plan(inputs, config)
    with numpy_defaults():
        return _measure(inputs, config, n_references, seconds_per_model)


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
    store = existing_store(inputs, config.folder, config.seed)
    existing = 0
    if store is not None:
        existing = len(set(store.models()) & set(range(1, 1 + n_references)))
        unstored = [plan for plan in plans if not EVIDENCE[plan.name].stored]
        plans = [*resume_plans(store, plans), *unstored]
    work = {plan.name: EVIDENCE[plan.name].work(plan, inputs.split, store) for plan in plans}
    work = {name: part for name, part in work.items() if store is None or any(part)}
    training = 0.0
    if seconds_per_model is not None:
        training = seconds_per_model
    elif existing < n_references or any(part.trainings for part in work.values()):
        labels = target.labels_of(pool.y)
        extractor = SignalExtractor(labels, target.columns, target.scale.resolved(outputs, labels))
        # Train and query the first of the planned reference models.
        rows = planned_split(inputs, max(n_references, 1), config.seed).member[1]
        train = target.needs("train")
        rng = stream(config.seed, "training", 1)
        start = time.perf_counter()
        extractor.train_and_query("Reference 1", lambda: train(pool.copied(rows), rng), pool.x, rng)
        training = time.perf_counter() - start
    jobs = jobs_of(config.engine)
    return RuntimeEstimate(
        queries=queries,
        references=n_references,
        existing=existing,
        seconds_per_model=training,
        evidence={
            name: part.trainings * training / jobs + part.queries * queries + part.seconds
            for name, part in work.items()
        },
        evaluation=evaluation_seconds(len(pool), n_references),
        jobs=jobs,
    )


def evaluation_seconds(records: int, references: int) -> float:
    """Return the seconds of scoring and evaluating an audit of this size, from a benchmark."""
    return EVALUATION + records * (EVALUATION_OF_RECORD + references * EVALUATION_OF_OUTPUT)
