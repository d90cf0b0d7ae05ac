"""The whole flow, in order: ask, collect, judge, write. Read this first.

games ─────► Split ──┐
defences ─► Recipe ──┼─► collect ─► Store ─► View ─► attacks, risks ─► findings ─► report
Data ────────────────┘    slow      disk     no truth   scores          Results     pages
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any, Literal, TypeVar

from guestlist.arguments import flag, number, whole
from guestlist.arrays.threads import one_thread
from guestlist.attacks import Attack, named
from guestlist.blind.baseline import Baseline
from guestlist.blind.kept import cached_baseline
from guestlist.calling import numpy_defaults
from guestlist.case import PRIOR, Case, Check, Origin
from guestlist.collecting.asking import query_target
from guestlist.collecting.engines.chosen import resolve_engine
from guestlist.collecting.engines.engine import Engine, Progress
from guestlist.collecting.evidence.gathering import (
    AnyPlan,
    check_plans,
    collect_evidence,
    collected_types,
    default_plans,
    from_target,
    read_evidence,
    resume_plans,
)
from guestlist.collecting.evidence.table import EVIDENCE, missing_evidence, owner_evidence
from guestlist.collecting.inputs import Columns, Inputs, check_about, check_folder, prepare, store_of_inputs
from guestlist.collecting.progress import evaluation_progress, progress_of
from guestlist.collecting.rare_categories import check_rare_categories
from guestlist.collecting.references import train_references
from guestlist.collecting.site import CollectContext, open_context
from guestlist.collecting.until import NO_MOCKS, UntilWidth, grow_references
from guestlist.cover import Cover, noted
from guestlist.defences import Recipe
from guestlist.errors import AuditWarning, InputError
from guestlist.findings.checks import (
    CHECKS,
    check_codes,
    of_baseline,
    of_consistency,
    of_duplicates,
    of_repeats,
    of_twins,
)
from guestlist.findings.folder import case_in
from guestlist.findings.results import write_results
from guestlist.findings.table import judge
from guestlist.games import hidden_by
from guestlist.privacy import Claim
from guestlist.privacy.claim import claim_about
from guestlist.report.checks import sentence
from guestlist.report.readable import Results
from guestlist.selfcheck.try_out import try_out
from guestlist.store import Store, folder_lock
from guestlist.store.jsonable import to_json
from guestlist.store.passing import audit_folder
from guestlist.targets import Target, as_target
from guestlist.targets.estimators import check_fit

REFERENCES = 32
# More than anybody means: who trains on what is a table of models and records, which must fit into memory.
MOST_REFERENCES = 100_000
logger = logging.getLogger(__name__)
T = TypeVar("T")


def audit(
    model,
    members,
    nonmembers,
    population=None,
    *,
    label: str | None = None,
    group: str | Sequence[str] = (),
    id: str | None = None,
    person: str | None = None,
    references: int | UntilWidth | None = None,
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
    claimed: Claim | None = None,
    progress: Progress | bool = True,
    about: Mapping[str, Any] | None = None,
    cover: Cover | None = None,
    train: Recipe | Callable | None = None,
    fit_params: Mapping[str, Any] | None = None,
) -> Results:
    """Could anyone tell who was in the training set of ``model``?

    Args:
        model: a fitted scikit-learn-style classifier or regressor; a target made by ``torch_target``, ``function_target`` or
            ``onnx_target``; or the path of an ``.onnx`` or ``.skops`` file.
        members: the records it was trained on: ``(x, y)``, a table with a ``label`` column, or a path to one.
        nonmembers: records of the same source that it was not trained on.
        population: more records of the same source, for references to train on; they are not asked about.
        label, group, id: columns of tables; ``group`` may be several.
        person: the column that says whose record each is, where people have several: intervals then count persons, and
            references train on whole persons.
        references: how many models to train for comparison; by default 32, or none where nothing says how. 0 runs only the
            attacks that need none; ``UntilWidth(0.05)`` trains until the recipe's AUC is known that well.
        attacks: names from ``ATTACKS``, combinations such as ``union(loss,lira)``, or functions ``(signals) -> scores``;
            all that can run by default.
        evidence: what some attacks need beyond references, such as ``Distilled(models=64)``; see ``guestlist show
            evidence``.
        folder: keeps all that was collected; run again with the same folder to resume or to add references.
        seed: of everything random.
        jobs: processes; -1, one per core, by default. Short for ``engine=Local(jobs)``.
        engine: where models are trained: ``Local(jobs)``, ``Here()`` or ``Ray(address)``. The results do not depend on
            it.
        duplicates: ``drop`` leaves out non-members that are equal to a member, or of a person among the members.
        prior: share of members among the people an attacker asks about; decides what share of its calls is right.
        ignore: codes of checks, such as ``GL104``, that you do not want to hear about; the report says which ones were
            ignored.
        baseline: whether to look if members can be told from non-members without the model; a few seconds.
        claimed: a promise of differential privacy, ``Claim(epsilon=2, delta=1e-5)``: what it allows is drawn beside what
            attacks reach. By default what the recipe promises, if it does, as ``DpSgd`` with noise.
        progress: ``True`` shows it in a terminal or a notebook once the work takes seconds, ``False`` never; or what wraps an
            iterable and takes ``total=``, as ``tqdm`` does.
        about: kept in the folder's manifest, for people and for later commands.
        cover: what stands on the cover of the report: ``gl.Cover(title=…, owner=…, dataset=…, purpose=…, date=…)``.
        train: how references are trained, if that is not ``clone(model).fit(x, y)``: a function ``(data, rng) -> model`` that
            trains on ``data.x`` and ``data.y`` with all its randomness from ``rng``. It returns a fitted estimator, or a
            function from features to outputs like those of ``model``.
        fit_params: arguments with which ``model.fit`` was called beyond features and labels; references get them too. A tuple
            holds one array per set of records, cut to the records of each reference:
            ``{"sample_weight": (members_weight, nonmembers_weight)}``, with a third for ``population``. All else is passed as
            it is. A function given as ``train`` finds them in ``data.fit_params.arguments``.

    Returns:
        Results: ``.attacks`` and ``.records`` are DataFrames, ``.summary()`` and ``.to_html(path)`` are to read.
    """
    target = as_target(model, train)
    arguments = _arguments(
        {"label": label, "group": group, "id": id, "person": person, "seed": seed, "duplicates": duplicates},
        variables={"train": train, "fit_params": fit_params},
    )
    origin = Origin(
        "python",
        arguments=arguments,
        population=population is not None,
        trains="train" in target.can,
    )
    check_about(about)
    settings = settings_of(
        _usual(target) if references is None else references,
        attacks=attacks,
        evidence=evidence,
        folder=folder,
        seed=seed,
        jobs=jobs,
        engine=engine,
        prior=prior,
        ignore=ignore,
        progress=progress,
        about={"origin": to_json(_with_source(origin, about)), **(about or {})},
        cover=cover,
        baseline=baseline,
        claimed=claimed,
    )
    columns: Columns = {"label": label, "group": group, "id": id, "person": person}
    given = prepare(
        target, members, nonmembers, population, **columns, duplicates=duplicates, seed=seed, fit_params=fit_params
    )
    return audited(given, settings)


def collect(
    model,
    members,
    nonmembers,
    population=None,
    *,
    folder: str | Path,
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
    baseline: bool = True,
    progress: Progress | bool = True,
    about: Mapping[str, Any] | None = None,
    cover: Cover | None = None,
    train: Recipe | Callable | None = None,
    fit_params: Mapping[str, Any] | None = None,
) -> Case:
    """The slow part of an audit alone: what the target, its references and all evidence say, brought into ``folder``.

    Arguments are those of ``audit``, which in the same folder then trains nothing.

    Returns:
        The case as it stands: ``.view`` is what an adversary sees and what attacks take, ``.truth`` who was a member,
        ``.records`` who they are, ``.mocks`` the references, each in turn as a target of the others.
    """
    target = as_target(model, train)
    settings = settings_of(
        _usual(target) if references is None else references,
        evidence=evidence,
        folder=folder,
        seed=seed,
        jobs=jobs,
        engine=engine,
        progress=progress,
        about=about,
        cover=cover,
        baseline=baseline,
    )
    if settings.until is not None:
        raise ValueError(
            f"Expected references={references} to be a whole number: what grows is an audit, which judges."
        )
    columns: Columns = {"label": label, "group": group, "id": id, "person": person}
    given = prepare(
        target, members, nonmembers, population, **columns, duplicates=duplicates, seed=seed, fit_params=fit_params
    )
    return gathered(given, settings, lambda case: case)


def _arguments(given: Mapping[str, Any], variables: Mapping[str, Any]) -> tuple[str, ...]:
    """Return arguments that are not the defaults of :func:`audit`, as source text."""
    written = tuple(f"{name}={value!r}" for name, value in given.items() if not _is_default(value))
    return written + tuple(f"{name}={name}" for name, value in variables.items() if value is not None)


def _is_default(value: Any) -> bool:
    """Whether an argument is a default. Wrong arguments, which are refused later, may not be comparable."""
    if isinstance(value, str):
        return value == "warn"
    if isinstance(value, list | tuple | int):
        return not value
    return value is None


def _with_source(origin: Origin, about: Mapping[str, Any] | None) -> Origin:
    """Return the origin as a command, or the demo, notes it."""
    request, demo = (about or {}).get("request"), (about or {}).get("demo")
    if demo:
        return replace(origin, source="demo", arguments=())
    if request is None:
        return origin
    safe = str(request["model"]).endswith((".skops", ".onnx"))
    return replace(origin, source="command", flags=() if safe else ("--allow-pickle",))


def _usual(target: Target) -> int:
    """How many references are trained where nobody says; none, and the user hears of it, where nothing says how."""
    if "train" in target.can:
        return REFERENCES
    why = f" ({target.cannot['train']})" if target.cannot.get("train") else ""
    warnings.warn(
        f"{target.name} has no recipe to train reference models by{why}. Only attacks that need no references run, which usually "
        "identify fewer records. Pass train=, a function (data, rng) -> model, to gl.audit in Python; or references=0 "
        "(--references 0) to silence this warning.",
        AuditWarning,
        stacklevel=3,
    )
    return 0


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What is asked of an audit beside its inputs; see :func:`audit`."""

    references: int | UntilWidth
    engine: Engine
    attacks: Sequence[str | Callable] | None = None
    evidence: Sequence[AnyPlan] = ()
    folder: str | Path | None = None
    seed: int = 0
    prior: float = PRIOR
    ignore: Sequence[str] = ()
    progress: Progress | None = None
    about: Mapping[str, Any] | None = None
    baseline: bool = True
    claimed: Claim | None = None

    def __post_init__(self):
        claim_about(self.claimed)
        whole("references", self.fewest, high=MOST_REFERENCES)
        whole("seed", self.seed)
        number("prior", self.prior, 0, 1)
        flag("baseline", self.baseline)
        check_about(self.about)
        check_folder(self.folder)
        check_plans(self.evidence)
        check_codes(self.ignore)

    @property
    def fewest(self) -> int:
        """References that there will be at least."""
        return self.references.start if isinstance(self.references, UntilWidth) else self.references

    @property
    def until(self) -> UntilWidth | None:
        return self.references if isinstance(self.references, UntilWidth) else None


def settings_of(
    references: int | UntilWidth,
    *,
    jobs: int | None,
    engine: Engine | None,
    progress: Progress | bool = True,
    about: Mapping[str, Any] | None = None,
    cover: Cover | None = None,
    **more: Any,
) -> Settings:
    """Settings from the arguments as :func:`audit` and others take them."""
    return Settings(
        references=references,
        engine=resolve_engine(engine, jobs),
        progress=progress_of(progress),
        about=noted(about, cover),
        **more,
    )


def audited(inputs: Inputs, settings: Settings) -> Results:
    """Collect, judge and write; whatever is in the folder already is not done again."""
    checks = _checks(inputs, settings)
    with numpy_defaults(), _begun(inputs, settings) as work:
        _tell_issues(work.checks, settings)

        def run(count: int) -> Results:
            case = work.case(count, checks)
            results, scores = judge(case, Results, progress=evaluation_progress(settings.progress)), case.scores
            del case  # what models say of very many records is large, and tables are to be written
            write_results(work.context.store.folder, results, scores)
            return results if settings.folder is None else replace(results, folder=Path(settings.folder))

        return run(settings.fewest) if settings.until is None else grow_references(run, _width, settings.until)


def gathered(inputs: Inputs, settings: Settings, then: Callable[[Case], T]) -> T:
    """Collect, and do something with the case as long as it is there."""
    checks = _checks(inputs, settings)
    with numpy_defaults(), _begun(inputs, settings) as work:
        _tell_issues(work.checks, settings)
        return then(work.case(settings.fewest, checks))


@dataclass(frozen=True)
class Work:
    """An audit whose target has been asked: what remains is to collect, as often as more is wanted, and to judge.

    Args:
        plans: evidence to collect, with what was begun before.
        given: evidence that the target gives at once.
        kinds: of evidence that there will be.
        baseline: how well members are told without the model.
        checks: of the target's outputs.
    """

    context: CollectContext
    settings: Settings
    attacks: Mapping[str, Attack]
    plans: Sequence[Any]
    given: Mapping[str, Any]
    kinds: frozenset[str]
    baseline: Baseline | None
    checks: tuple[Check, ...] = ()

    def case(self, references: int, checks: tuple[Check, ...]) -> Case:
        """Collect whatever is missing; the case with so many references."""
        context, settings = self.context.with_references(references), self.settings
        # Evidence comes first: some plans train references themselves, and keep more of their outputs.
        collect_evidence(self.plans, context)
        train_references(context)
        return case_in(
            context.store,
            self.attacks,
            references=references,
            prior=settings.prior,
            evidence=read_evidence(context.store, self.kinds, self.given),
            checks=(*checks, *self.checks),
            ignore=tuple(settings.ignore),
            until=settings.until,
            baseline=self.baseline,
        )


@contextmanager
def _begun(inputs: Inputs, settings: Settings) -> Iterator[Work]:
    """Check everything that can be checked, ask the target, and make or open the folder."""
    target, pool, split = inputs.target, inputs.pool, inputs.split
    if settings.fewest:
        target.needs(
            "train",
            "{name} has no recipe to train reference models by{why}. Pass train=, a function (data, rng) -> model, to gl.audit "
            "in Python; or set references=0 (--references 0).",
        )
        check_fit(target, pool.fit_params)
    for plan in settings.evidence:
        plan.check(target, pool, split)
    plans, says = default_plans(settings.evidence, target, pool, split), target.scale.signal_names
    now, missing = {plan.name for plan in plans}, missing_evidence()
    # A misspelt name, or a faulty attack of the user's own, is found before a folder is made.
    possible = now | {name for name, kind in EVIDENCE.items() if kind.kept}  # it may be in the folder already
    every = named(settings.attacks, settings.fewest, possible, missing, says)
    if settings.until is not None and not any(attack.on_mocks and not attack.oracle for attack in every.values()):
        raise InputError(NO_MOCKS)
    unmade = any(EVIDENCE[name].simulate is None for name in now - owner_evidence())
    try_out(every, target.classes_of(pool.y), settings.fewest, says, split.population, unmade=unmade)
    said, consistent = query_target(target, pool)  # unreadable outputs raise before a folder is created
    if settings.folder is None or not (Path(settings.folder) / "manifest.json").exists():
        check_rare_categories(inputs, settings.fewest, settings.seed)
    with audit_folder(settings.folder) as place, folder_lock(place):
        about = {**_claimed(target, settings), **(settings.about or {})}
        store = store_of_inputs(inputs, place, references=settings.fewest, seed=settings.seed, about=about)
        kinds = frozenset(collected_types(store) | now)
        changing = consistent is not None and not consistent.deterministic
        options: dict[str, Any] = {"engine": settings.engine, "progress": settings.progress, "changing": changing}
        context = open_context(store, target, pool, said, **options)
        del said  # with many classes it is large, and it is in the folder
        yield Work(
            context=context,
            settings=settings,
            attacks=named(settings.attacks, settings.fewest, kinds, missing, says),
            plans=resume_plans(store, plans),
            given=from_target(plans, target, pool, split),
            kinds=kinds,
            baseline=_baseline(inputs, settings, store),
            checks=of_consistency(consistent),
        )


def _claimed(target: Target, settings: Settings) -> dict[str, Any]:
    """What is promised of the target: what somebody says, or what its recipe does, where that can be counted."""
    claim = settings.claimed
    # References of a naive attacker are trained by another recipe than the target was.
    own = target.can.get("retrain") or target.can.get("train")
    promise = getattr(getattr(own, "recipe", None), "privacy", None)
    if claim is None and promise is not None:
        try:
            counted = promise()
        except InputError:  # without Opacus nobody can say
            return {}
        claim = Claim(counted.epsilon, counted.delta) if isfinite(counted.epsilon) else None
    return claim_about(claim)


def _checks(inputs: Inputs, settings: Settings) -> tuple[Check, ...]:
    """What was found before the long work; the user hears of it now."""
    found = (() if inputs.duplicates is None else of_duplicates(inputs.duplicates)) + of_repeats(inputs.repeats)
    found += () if inputs.twins is None else of_twins(inputs.twins)
    notes = inputs.target.notes if settings.fewest else {}
    found += tuple(Check(code, "issue", figures) for code, figures in notes.items())
    for check in found:
        if check.state == "issue" and check.code not in settings.ignore:
            _tell(check)
    return found


def _tell_issues(checks: Sequence[Check], settings: Settings) -> None:
    for check in checks:
        if check.state == "issue" and check.code not in settings.ignore:
            _tell(check)


def _baseline(inputs: Inputs, settings: Settings, store: Store) -> Baseline | None:
    """How well members are told without the model, while the records are at hand; the user hears of it before the long work.

    Where members were drawn by us from one pool there is nothing to look for.
    """
    game, pool = inputs.game, inputs.pool
    if inputs.drawn or not settings.baseline:
        return None
    hidden = () if game is None else hidden_by(game)
    groups = {name: values for name, values in pool.groups.items() if name not in hidden}
    with one_thread():  # the same bits on any number of cores
        found = cached_baseline(
            store,
            pool.x,
            pool.y,
            groups,
            pool.persons,
            values=not inputs.target.scale.has_classes,
            hashes=inputs.hashes,
        )
    if found is not None and found.significant and "GL119" not in settings.ignore:
        _tell(of_baseline(found))
    return found


def _tell(check: Check) -> None:
    if CHECKS[check.code].by_chance:
        # Not a warning: some honest audits would fail where warnings are errors.
        logger.warning("%s", sentence(check))
    else:
        warnings.warn(sentence(check), AuditWarning, stacklevel=5)


def _width(results: Results) -> float | None:
    """Of the interval that more references narrow."""
    place = None if results.headline is None else results.headline.same_recipe
    return None if place is None else place.auc.high - place.auc.low
