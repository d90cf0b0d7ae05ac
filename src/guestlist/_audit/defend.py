"""Test defences: audit the plain model, estimate the time, run every compatible defence, compare."""

import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from guestlist._audit import (
    FPR,
    PLAIN,
    REFERENCES,
    AuditConfig,
    Candidate,
    DefenceRunner,
    Defended,
    Situation,
    candidates,
    compare_defences,
    run_audit,
    trained,
)
from guestlist._case import PRIOR, About, notes_of
from guestlist._collect import Engine, Inputs, Progress, jobs_of, prepare
from guestlist._store import audit_folder, folder_lock, from_json, open_store, read_json, to_json, write_json
from guestlist.data import as_data
from guestlist.defences import Recipe
from guestlist.errors import InputError
from guestlist.evidence.table import AnyPlan
from guestlist.models import Target, as_target

ONE_NUMBER = "all audits of gl.defend have the same number of reference models"


@dataclass(frozen=True)
class Times:
    """Seconds of one plain training with one thread, and of evaluating one audit; None if it was not measured."""

    training: float
    evaluation: float | None


@dataclass(frozen=True)
class Forecast:
    """Work that remains.

    Args:
        models: number of models to train: targets and references.
        trainings: their cost in plain trainings.
        audits: number of audits to evaluate.
        times: of one training and of one audit.
        jobs: number of models trained in parallel; 1 if only the engine knows.
    """

    models: int
    trainings: float
    audits: int
    times: Times
    jobs: int

    @property
    def seconds(self) -> float:
        return self.trainings * self.times.training / self.jobs + self.audits * (self.times.evaluation or 0.0)


def forecast(pending: Sequence[Candidate], references: int, times: Times, engine: Engine, plain: int = 0) -> Forecast:
    """Estimate the remaining work.

    Args:
        pending: candidates that have not been tried yet.
        references: number of reference models of each audit.
        engine: engine that trains the models.
        times: of one training and of one audit.
        plain: number of models that the audit of the plain model still lacks.
    """
    each = 1 + references
    return Forecast(
        models=plain + each * len(pending),
        trainings=plain + each * sum(candidate.times for candidate in pending),
        audits=len(pending) + (plain > 0),
        times=times,
        jobs=jobs_of(engine),
    )


class Clock:
    """Progress wrapper that measures the number of trained models and their time."""

    def __init__(self, progress: Progress | None):
        self.inner = progress
        self.models = 0
        self.seconds = 0.0

    def progress(self, items: Iterable, *, total: int, **options) -> Iterable:
        start = time.perf_counter()
        if self.inner is not None:
            items = self.inner(items, total=total, **options)
        yield from items
        self.models += total
        self.seconds += time.perf_counter() - start


def timed(runner: DefenceRunner, clock: Clock, evaluate_again: Callable[[], object]) -> tuple[Times, Target | None]:
    """Measure training and evaluation: read from this folder, from the plain audit, or by one training.

    That training is the target's own, which is a candidate anyway, so the trained target is returned too.

    Args:
        runner: folder and options of the defences.
        clock: times of the audit of the plain model.
        evaluate_again: evaluates that audit again; the first evaluation also loads libraries.
    """
    path = runner.root / "times.json"
    if path.exists():
        return from_json(Times, read_json(path)), None
    retrained_target = None
    if clock.models:
        training = clock.seconds * min(jobs_of(runner.config.engine), clock.models) / clock.models
    else:
        training, retrained_target = time_of_training(runner.inputs, runner.config.seed)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the first run has warned already
        evaluate_again()
    times = Times(training, time.perf_counter() - start)
    write_json(path, to_json(times))
    return times, retrained_target


def time_of_training(inputs: Inputs, seed: int) -> tuple[float, Target | None]:
    """Return seconds of training the target again, and that target; 0 and None without a training recipe."""
    if "retrain" not in inputs.target.can:
        return 0.0, None
    start = time.perf_counter()
    target = trained(inputs.target, None, inputs.pool.copied(inputs.split.members), seed)
    return time.perf_counter() - start, target


@dataclass(frozen=True)
class DefenceStarted:
    """Event: a defence is about to be audited; its number and the total."""

    name: str
    number: int
    total: int


EventHandler = Callable[[Forecast | DefenceStarted], None]


def defend(
    model,
    members,
    nonmembers,
    population=None,
    *,
    defences: Sequence[str] | Mapping[str, Any] | None = None,
    held_out=None,
    plain: str | Path | None = None,
    label: str | None = None,
    group: str | Sequence[str] = (),
    id: str | None = None,
    person: str | None = None,
    references: int = REFERENCES,
    attacks: Sequence[str | Callable] | None = None,
    evidence: Sequence[AnyPlan] = (),
    folder: str | Path | None = None,
    seed: int = 0,
    jobs: int | None = None,
    engine: Engine | None = None,
    duplicates: Literal["warn", "drop"] = "warn",
    prior: float = PRIOR,
    ignore: Sequence[str] = (),
    baseline: bool = True,
    fpr: float = FPR,
    progress: Progress | bool = True,
    on_event: EventHandler | None = None,
    about: About | None = None,
    train: Recipe | Callable | None = None,
    fit_params: Mapping[str, Any] | None = None,
) -> Defended:
    """Audit every defence that fits the model, and compare it with the undefended model.

    Each defence trains the target again on the members, or changes its outputs, and is audited with reference models that have
    the defence too. All audits have the same records, members and seed. A defence that fails is reported and does not stop the
    others.

    Args:
        model, members, nonmembers, population: As for ``audit``; without a training recipe only output defences can be tried.
        defences: Names from ``DEFENCES``, each with a few options; or a mapping of names to user-defined recipes, output
            defences and ``Removal(…)``. By default all that fit the model.
        held_out: Records of the same source that are neither trained on nor evaluated. Defences that are fitted on such records
            run only if they are passed.
        plain: Folder of an existing audit of the same model and records; by default the audit is made in ``folder``.
        label, group, id, person, attacks, evidence, seed: As for ``audit``.
        references: Number of reference models of each audit.
        folder: Folder with one audit per defence; run again with the same folder to resume.
        jobs, engine, duplicates, prior, ignore, baseline, progress: As for ``audit``.
        fpr: False positive rate at which TPRs are compared.
        on_event: Function called with a ``Forecast`` of the remaining work before the defences are tried, and with
            ``DefenceStarted`` before each of them.
        about: As for ``audit``; the audits of the defences have the cover too, except for its title.
        train, fit_params: As for ``audit``; a target that is trained again with a defence gets the same ``fit_params``.

    Returns:
        Defended: ``.table`` is a DataFrame with one row per defence, ``.helps`` the names of the defences with evidence of a
        smaller leak, ``.compared`` the comparison of all of them.

    Raises:
        InputError: If the inputs do not fit together, record ids repeat, a defence is unknown, or ``plain`` has more reference
            models than ``references``.
        FolderError: If ``folder`` or ``plain`` holds a different audit, or is damaged.
        ValueError: If an option is out of range.

    Examples:
        >>> model, members, nonmembers = gl.testing.small_model()
        >>> defended = gl.defend(
        ...     model, members, nonmembers, defences=["label_only"], references=4, attacks=["loss"], baseline=False, jobs=1
        ... )
        >>> defended.table["defence"].tolist()
        ['trained again', 'label_only']
    """
    config = AuditConfig.from_options(
        label=label,
        group=group,
        id=id,
        person=person,
        duplicates=duplicates,
        fit_params=fit_params,
        references=references,
        attacks=attacks,
        evidence=evidence,
        seed=seed,
        jobs=jobs,
        engine=engine,
        prior=prior,
        ignore=ignore,
        progress=progress,
        about=about,
        baseline=baseline,
    )
    config.fixed_references(ONE_NUMBER)
    inputs = prepare(as_target(model, train), members, nonmembers, population, **config.input_options)
    situation = _situation(inputs, held_out, config)
    candidates(situation, defences)  # raises for a misspelt name before anything is trained
    existing = 0 if plain is None else _reference_count(Path(plain))
    if references < existing:
        raise InputError(
            f"{plain} has {existing} reference models already. Pass references={existing} (--references {existing}) or "
            "more."
        )
    with audit_folder(folder) as root, folder_lock(root):
        plain_folder = root / PLAIN if plain is None else Path(plain)
        clock = Clock(config.progress)
        plain_config = replace(config, folder=plain_folder)
        results = run_audit(inputs, replace(plain_config, progress=clock.progress))
        assert results.records is not None, "an audit that was just made has its records"
        risks = [name.removeprefix("risk_") for name in results.records.columns.astype(str) if name.startswith("risk_")]
        plan = candidates(replace(situation, risks=risks), defences)
        notes = {}
        if results.cover is not None:
            notes = notes_of(replace(results.cover, title=""))
        runner = DefenceRunner(
            inputs=inputs,
            plain=results,
            plain_folder=plain_folder,
            root=root,
            config=replace(config, about=notes),
            fpr=fpr,
        )
        pending = [candidate for candidate in plan if not candidate.unfit and runner.finished(candidate) is None]
        retrained_target = None
        if on_event is not None and pending:
            times, retrained_target = timed(runner, clock, lambda: run_audit(inputs, plain_config))
            on_event(forecast(pending, references, times, config.engine))
        tried = []
        for candidate in plan:
            if on_event is not None and candidate in pending:
                on_event(DefenceStarted(candidate.name, pending.index(candidate) + 1, len(pending)))
            tried.append(runner.attempt(candidate, retrained_target))
        defended = compare_defences(results, tried, fpr)
        write_json(root / "defended.json", {"rows": defended.document()})
        return defended


def estimate_runtime(
    model,
    members,
    nonmembers,
    population=None,
    *,
    config: AuditConfig,
    defences: Sequence[str] | Mapping[str, Any] | None = None,
    held_out=None,
    plain: str | Path | None = None,
) -> Forecast:
    """Estimate how long ``defend`` with these arguments takes, by training and timing one model.

    The time of the evaluation is not included: no audit is made.
    """
    references = config.fixed_references(ONE_NUMBER)
    inputs = prepare(as_target(model), members, nonmembers, population, **config.input_options)
    plan = [
        candidate for candidate in candidates(_situation(inputs, held_out, config), defences) if not candidate.unfit
    ]
    seconds, _ = time_of_training(inputs, config.seed)
    existing = 0 if plain is None else _reference_count(Path(plain))
    return forecast(plan, references, Times(seconds, None), config.engine, plain=max(0, references - existing))


def _reference_count(folder: Path) -> int:
    """Return the number of reference models of an audit."""
    return max(open_store(folder).models(), default=0)


def _situation(inputs: Inputs, held_out, config: AuditConfig) -> Situation:
    """Collect the inputs of the choice of defences; reject repeated ids before the long work."""
    ids = inputs.pool.ids[inputs.split.evaluated[0]]
    if len(set(ids)) < len(ids):
        raise InputError(
            f"{len(ids)} records have {len(set(ids))} different ids, and defences are compared record by record. Use an "
            "id column with unique values, or none. To state which records belong to the same person, pass person= "
            "(--person)."
        )
    if held_out is not None:
        held_out = as_data(held_out, side="held_out", label=config.label, id=config.id, person=config.person)
        held_out = inputs.target.fitting(held_out, "held_out")
    return Situation(inputs.target, int(inputs.split.members.sum()), held_out)
