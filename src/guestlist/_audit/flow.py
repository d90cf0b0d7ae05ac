"""The audit in five verbs: prepare, collect, score, evaluate, report. Read this first.

:func:`audit` prepares the inputs and calls :func:`run_audit`; :func:`_run` shows the other four verbs.

model, members, non-members
       │
    prepare    validate inputs, wrap the model, draw the split
       │
    collect    train reference models and query them (slow; resumable)
       │
  audit folder two matrices, both (models, records): signals and membership
       │
     score     attacks: the adversary's view → one score per record
       │
   evaluate    metrics with confidence intervals, findings, diagnostics
       │
    report     results in the folder, then page, terminal, exports, gate
"""

import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from math import isfinite
from pathlib import Path
from time import monotonic
from typing import Any, Literal, TypeVar

from guestlist._audit import REFERENCES, AuditConfig, References, claim_about
from guestlist._audit.evaluate import evaluate
from guestlist._baseline.baseline import Baseline, cached_baseline
from guestlist._case import PRIOR, About, Case, Check, Origin, Scores, score
from guestlist._collect import (
    EVALUATION_SHARE,
    NO_STAND_INS,
    CollectContext,
    Engine,
    Inputs,
    Progress,
    TimeSpent,
    WithinMinutes,
    check_rare_categories,
    evaluation_progress,
    grow_references,
    jobs_of,
    open_context,
    prepare,
    query_target,
    replan_references,
    store_of_inputs,
    train_references,
    train_within,
)
from guestlist._diagnostics.table import (
    CHECKS,
    of_baseline,
    of_consistency,
    of_duplicate_counts,
    of_duplicates,
    of_repeats,
    of_stored_members,
)
from guestlist._findings import Results, case_in, write_results
from guestlist._store import Store, audit_folder, folder_lock, to_json
from guestlist._util import collect_notes, one_thread
from guestlist.attacks import select_attacks
from guestlist.defences import Recipe
from guestlist.errors import AuditWarning, InputError
from guestlist.evidence import (
    EVIDENCE,
    collect_evidence,
    collected_types,
    default_plans,
    evidence_from_target,
    missing_evidence,
    owner_evidence,
    read_evidence,
    resume_plans,
)
from guestlist.evidence.table import AnyPlan
from guestlist.games import hidden_columns
from guestlist.models import Target, as_target, check_fit, numpy_defaults
from guestlist.models.stored_records import search_estimator
from guestlist.privacy import Claim
from guestlist.selfcheck.contract import try_custom_attacks

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
    references: References | None = None,
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
    about: About | None = None,
    train: Recipe | Callable | None = None,
    fit_params: Mapping[str, Any] | None = None,
    name: str | None = None,
) -> Results:
    """Audit a model for membership leakage.

    Args:
        model: Fitted scikit-learn-style classifier or regressor; a target made by ``torch_target``, ``function_target`` or
            ``onnx_target``; or the path of an ``.onnx`` or ``.skops`` file.
        members: Training records: ``(x, y)``, a table with a ``label`` column, or a path to one.
        nonmembers: Records of the same source that the model was not trained on.
        population: More records of the same source to train reference models on; they are not evaluated.
        label: Label column of the tables.
        group: Group column, or several.
        id: Column with record ids.
        person: Column with person identifiers, if people have several records. Intervals then count persons, and reference
            models train on all records of a person or none.
        references: Number of reference models; by default 32, or 0 if the training recipe is unknown. 0 runs only the attacks
            that need none; ``UntilWidth(0.05)`` trains until the interval of the recipe's AUC is that narrow;
            ``WithinMinutes(10)`` trains those that fit into this time.
        attacks: Names from ``ATTACKS``, combinations such as ``union(loss,lira)``, or functions ``(signals) -> scores``; by
            default all that can run.
        evidence: Evidence that some attacks need besides reference models, such as ``Distilled(models=64)``; see ``guestlist
            show evidence``.
        folder: Audit folder; run again with the same folder to resume or to add reference models.
        seed: Random seed.
        jobs: Number of processes; by default -1, one per core. Short for ``engine=Local(jobs)``.
        engine: Engine that trains the models: ``Local(jobs)``, ``Here()`` or ``Ray(address)``. Results do not depend on it.
        duplicates: ``drop`` removes non-members that equal a member or belong to a person among the members.
        prior: Share of members among the records that an attacker tests; determines the positive predictive value.
        ignore: Codes of checks to ignore, such as ``GL104``; the report lists them.
        baseline: Whether to test if members and non-members can be distinguished without the model; takes a few seconds.
        claimed: Claimed differential privacy, ``Claim(epsilon=2, delta=1e-5)``, to compare with the attacks; by default the
            guarantee of the training recipe, if it has one (for example ``DpSgd`` with noise).
        progress: ``True`` shows progress in a terminal or a notebook after a few seconds, ``False`` never; or a function that
            wraps an iterable and takes ``total=``, as ``tqdm`` does.
        about: Cover of the report, ``gl.Cover(title=…, owner=…, dataset=…, purpose=…, date=…)``; or a dict of notes that the
            manifest of the folder keeps, with the cover, if any, under ``cover``.
        train: Training recipe of the reference models, if it is not ``clone(model).fit(x, y)``: a function ``(data, rng) ->
            model`` that trains on ``data.x`` and ``data.y`` and draws all randomness from ``rng``. It returns a fitted
            estimator, or a function from features to outputs like those of ``model``.
        fit_params: Arguments of ``model.fit`` besides features and labels; reference models get them too. A tuple holds one
            array per set of records, cut to the records of each reference model:
            ``{"sample_weight": (members_weight, nonmembers_weight)}``, with a third for ``population``. Other values are passed
            unchanged, such as a list ``eval_set=[(x, y)]``. A function given as ``train`` reads them from
            ``data.fit_params.arguments``.
        name: Name of the model in the report; by default that of its class, for a search that of the best estimator.

    Returns:
        Results with ``.attacks`` and ``.records`` (DataFrames), ``.summary()`` and ``.to_html(path)``.

    Raises:
        InputError: If the model, the records and the labels do not fit together, or an attack cannot run on them.
        FolderError: If ``folder`` holds a different audit, or is damaged.
        MissingEvidenceError: If a named attack reads evidence that is not in ``evidence``.
        AuditError: If a reference model cannot be trained.
        ValueError: If an option is out of range.

    Examples:
        >>> model, members, nonmembers = gl.testing.small_model()
        >>> results = gl.audit(model, members, nonmembers, references=8, jobs=1, progress=False)
        >>> auc = results.attack(results.headline.name).auc
        >>> print(f"AUC {auc.value:.2f} (95% CI {auc.low:.2f} to {auc.high:.2f})")
        AUC 0.6... (95% CI 0.5... to 0.6...)
        >>> len(results.records)
        400
        >>> results.to_html("report.html").name
        'report.html'
    """
    target = as_target(model, train, name)
    config = AuditConfig.from_options(
        label=label,
        group=group,
        id=id,
        person=person,
        references=choose_references(target, references),
        attacks=attacks,
        evidence=evidence,
        folder=folder,
        seed=seed,
        jobs=jobs,
        engine=engine,
        duplicates=duplicates,
        prior=prior,
        ignore=ignore,
        baseline=baseline,
        claimed=claimed,
        progress=progress,
        about=about,
        fit_params=fit_params,
    )
    origin = _origin(
        config, trains="train" in target.can, has_recipe=train is not None, population=population is not None
    )
    config = replace(config, about={"origin": to_json(origin), **config.about})
    inputs = prepare(target, members, nonmembers, population, **config.input_options)
    return run_audit(inputs, config)


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
    references: int | WithinMinutes | None = None,
    evidence: Sequence[AnyPlan] = (),
    seed: int = 0,
    jobs: int | None = None,
    engine: Engine | None = None,
    duplicates: Literal["warn", "drop"] = "warn",
    baseline: bool = True,
    progress: Progress | bool = True,
    about: About | None = None,
    train: Recipe | Callable | None = None,
    fit_params: Mapping[str, Any] | None = None,
    name: str | None = None,
) -> Case:
    """Collect an audit without evaluating it: query the target, train reference models, gather evidence.

    ``audit`` with the same inputs and folder then trains no models, and evaluates the collected data.

    Args:
        model, members, nonmembers, population: As for ``audit``.
        folder: Folder that the collected data is written to.
        label, group, id, person, evidence, seed: As for ``audit``.
        references: Number of reference models; by default 32, or 0 if the training recipe is unknown. ``WithinMinutes(10)``
            trains those that fit into this time.
        jobs, engine, duplicates, baseline, progress: As for ``audit``.
        about, train, fit_params, name: As for ``audit``.

    Returns:
        The case: ``.view`` is the adversary's view, which attacks take; ``.scores`` their scores; ``.truth`` the membership;
        ``.records`` the table of records; ``.stand_ins`` the reference models, each in turn as a stand-in target.

    Raises:
        InputError: If the model, the records and the labels do not fit together.
        FolderError: If ``folder`` holds a different audit, or is damaged.
        ValueError: If an option is out of range, or ``references`` is ``UntilWidth``.

    Examples:
        >>> model, members, nonmembers = gl.testing.small_model()
        >>> case = gl.collect(model, members, nonmembers, folder="audits/tree", references=4, jobs=1, progress=False)
        >>> case.view.values["loss"].shape  # the target and four reference models, 400 records
        (5, 400)
    """
    target = as_target(model, train, name)
    config = AuditConfig.from_options(
        label=label,
        group=group,
        id=id,
        person=person,
        references=choose_references(target, references),
        evidence=evidence,
        folder=folder,
        seed=seed,
        jobs=jobs,
        engine=engine,
        duplicates=duplicates,
        baseline=baseline,
        progress=progress,
        about=about,
        fit_params=fit_params,
    )
    if config.until is not None:
        raise ValueError(
            f"Expected references={references} to be an integer: gl.collect does not support UntilWidth, only gl.audit does."
        )
    inputs = prepare(target, members, nonmembers, population, **config.input_options)
    return collect_case(inputs, config, lambda case: case.scored())


def run_audit(inputs: Inputs, config: AuditConfig) -> Results:
    """Collect, score, evaluate and report; work that the folder already holds is not repeated."""
    with numpy_defaults(), open_session(inputs, config) as session:
        if config.until is not None:
            return grow_references(partial(_run, session), _recipe_interval_width, config.until)
        return _run(session, session.references)


def _run(session: "AuditSession", n_references: int) -> Results:
    """Audit with a number of reference models: collect, score, evaluate and report."""
    progress = session.config.progress
    case = session.collect(n_references)
    scores = score(case.view, case.attacks, evaluation_progress(progress, "Scoring"))
    results = evaluate(case, scores, evaluation_progress(progress))
    del case  # The outputs of all models are large for many records, and the tables have yet to be written.
    return report(results, scores, session.context.store.folder, session.config.folder)


def report(results: Results, scores: Scores, folder: Path, user_folder: str | Path | None) -> Results:
    """Write the results into the audit folder; pages, texts and exports are rendered from them.

    Args:
        results: from :func:`evaluate`.
        scores: from :func:`score`.
        folder: the audit folder, which may be temporary.
        user_folder: the folder that the user named, if any; the results returned refer to it.
    """
    write_results(folder, results, scores)
    if user_folder is None:
        return results
    return replace(results, folder=Path(user_folder))


def collect_case(inputs: Inputs, config: AuditConfig, use: Callable[[Case], T]) -> T:
    """Collect a case and return the result of ``use(case)``; a temporary folder exists only until then."""
    with numpy_defaults(), open_session(inputs, config) as session:
        return use(session.collect(session.references))


@dataclass(frozen=True)
class AuditSession:
    """An audit in an open folder whose target has been queried; reference models can be collected.

    Args:
        context: the folder, the target and the records.
        config: the options of the audit.
        plans: evidence to collect, including the evidence that an earlier run began.
        target_evidence: evidence read directly from the target.
        evidence_names: names of all evidence that the case will hold.
        baseline: result of the model-free baseline.
        checks: diagnostics of the inputs and of the target's outputs.
        spent: outcome of a budget of minutes; None without one, or before it is spent.
    """

    context: CollectContext
    config: AuditConfig
    plans: Sequence[Any]
    target_evidence: Mapping[str, Any]
    evidence_names: frozenset[str]
    baseline: Baseline | None
    checks: tuple[Check, ...] = ()
    spent: TimeSpent | None = None

    @property
    def references(self) -> int:
        """Number of reference models to train: the requested number, or those that the minutes allow."""
        if self.spent is not None:
            return self.spent.references
        return self.config.min_references

    def collect(self, n_references: int) -> Case:
        """Collect everything that is missing and return the case with this number of reference models."""
        signal_names = self.context.target.scale.signal_names
        attacks = select_attacks(
            self.config.attacks, n_references, self.evidence_names, missing_evidence(), signal_names
        )
        self.train(n_references)
        return case_in(
            self.context.store,
            attacks,
            references=n_references,
            prior=self.config.prior,
            evidence=read_evidence(self.context.store, self.evidence_names, self.target_evidence),
            checks=self.checks,
            ignore=tuple(self.config.ignore),
            until=self.config.until,
            spent=self.spent,
            baseline=self.baseline,
        )

    def train(self, n_references: int) -> int:
        """Collect missing evidence and train missing reference models; return the number of models trained."""
        context = self.context.with_references(n_references)
        before = len(context.store.models())
        # Evidence comes before the references: some plans train them and store more of their outputs.
        collect_evidence(self.plans, context)
        train_references(context)
        return len(context.store.models()) - before

    def spend(self, inputs: Inputs, budget: WithinMinutes, start: float) -> "AuditSession":
        """Train the reference models that fit into the minutes since ``start``, and return the session with the outcome."""
        store = self.context.store
        existing = _trained_in_order(store)
        self.train(existing)  # Evidence that needs no reference models is not part of the time of one of them.

        def replan(references: int) -> int:
            # Evidence that holds outputs of reference models keeps them.
            if "full_outputs" not in self.evidence_names:
                replan_references(store, inputs, references)
            return _trained_in_order(store)

        spent = train_within(
            budget,
            self.train,
            replan,
            existing=existing,
            jobs=jobs_of(self.config.engine),
            elapsed=lambda: monotonic() - start,
        )
        if not spent.references:
            warnings.warn(
                f"No reference model fits into {budget.minutes:g} minutes: one takes {budget.seconds_per_model:g} s, and "
                f"{EVALUATION_SHARE:.0%} of the time is kept for the evaluation. Only attacks that need no reference models "
                "run. Increase minutes= (--minutes).",
                AuditWarning,
                stacklevel=6,
            )
        return replace(self, spent=spent)


@contextmanager
def open_session(inputs: Inputs, config: AuditConfig) -> Iterator[AuditSession]:
    """Validate the plan, query the target, and open or create the audit folder; spend a budget of minutes, if any.

    All validation happens before a folder is created.
    """
    start = monotonic()
    target = inputs.target
    input_checks = _check_inputs(inputs, config)
    check_plan(inputs, config)
    plans = default_plans(config.evidence, target, inputs.pool, inputs.split)
    _check_attacks(inputs, config, plans)
    with collect_notes() as notes:
        outputs, consistency = query_target(target, inputs.pool)
    if config.folder is None or not (Path(config.folder) / "manifest.json").exists():
        check_rare_categories(inputs, config.checked_references, config.seed)
    with audit_folder(config.folder) as path, folder_lock(path):
        about = {**_claimed(target, config), **config.about}
        store = store_of_inputs(inputs, path, references=config.min_references, seed=config.seed, about=about)
        store.add_devices("target", notes.get("devices", ()))
        context = open_context(
            store,
            target,
            inputs.pool,
            outputs,
            engine=config.engine,
            progress=config.progress,
            changing=consistency is not None and not consistency.deterministic,
        )
        del outputs  # They are large for many classes, and the folder holds them.
        output_checks = of_consistency(consistency)
        session = AuditSession(
            context=context,
            config=config,
            plans=resume_plans(store, plans),
            target_evidence=evidence_from_target(plans, target, inputs.pool, inputs.split),
            evidence_names=frozenset(collected_types(store) | {plan.name for plan in plans}),
            baseline=_run_baseline(inputs, config, store),
            checks=(*input_checks, *output_checks),
        )
        _warn_issues(output_checks, config, stacklevel=6)
        if config.budget is not None:
            session = session.spend(inputs, config.budget, start)
        yield session


def check_plan(inputs: Inputs, config: AuditConfig) -> None:
    """Raise if the target cannot train the reference models, or the planned evidence does not fit the target."""
    target = inputs.target
    if config.min_references:
        target.needs(
            "train",
            "guestlist cannot train reference models, because {name} has no training recipe{why}. Pass train=, a function (data, "
            "rng) -> model, to gl.audit in Python; or set references=0 (--references 0).",
        )
        check_fit(target, inputs.pool.fit_params)
    for plan in config.evidence:
        plan.check(target, inputs.pool, inputs.split)


def _check_attacks(inputs: Inputs, config: AuditConfig, plans: Sequence[AnyPlan]) -> None:
    """Raise for a misspelt or faulty attack before a folder is created."""
    planned = {plan.name for plan in plans}
    # The folder may already hold evidence of any stored type.
    possible = planned | {name for name, kind in EVIDENCE.items() if kind.stored}
    signal_names = inputs.target.scale.signal_names
    n_references = config.checked_references
    attacks = select_attacks(config.attacks, n_references, possible, missing_evidence(), signal_names)
    if config.until is not None and not any(attack.on_stand_ins and not attack.oracle for attack in attacks.values()):
        raise InputError(NO_STAND_INS)
    try_custom_attacks(
        attacks,
        inputs.target.classes_of(inputs.pool.y),
        n_references,
        signal_names,
        inputs.split.population,
        unmade=any(EVIDENCE[name].simulate is None for name in planned - owner_evidence()),
    )


def _trained_in_order(store: Store) -> int:
    """Return the number of reference models that were trained without a gap in their numbers."""
    trained = set(store.models())
    return next(k for k in count() if k + 1 not in trained)


def choose_references(target: Target, requested: References | None) -> References:
    """Return the requested number of reference models, or the default; warn if the target has no training recipe."""
    if requested is not None:
        return requested
    if "train" in target.can:
        return REFERENCES
    why = f" ({target.cannot['train']})" if target.cannot.get("train") else ""
    warnings.warn(
        f"guestlist cannot train reference models, because {target.name} has no training recipe{why}. Only attacks that "
        "need none run, and they usually identify fewer records. Pass train=, a function (data, rng) -> model, to gl.audit "
        "in Python; or references=0 (--references 0) to silence this warning.",
        AuditWarning,
        stacklevel=3,
    )
    return 0


def _origin(config: AuditConfig, *, trains: bool, has_recipe: bool, population: bool) -> Origin:
    """Describe the call to repeat this audit: from Python, the command line or the demo."""
    defaults = {"label": None, "group": (), "id": None, "person": None, "seed": 0, "duplicates": "warn"}
    # Invalid arguments, which are rejected later, may not be comparable, but they have a text.
    written = {name: repr(getattr(config, name)) for name in defaults}
    arguments = [f"{name}={text}" for name, text in written.items() if text not in (repr(defaults[name]), "[]")]
    if has_recipe:
        arguments.append("train=train")
    if config.fit_params is not None:
        arguments.append("fit_params=fit_params")
    origin = Origin("python", arguments=tuple(arguments), population=population, trains=trains)
    if config.about.get("demo"):
        return replace(origin, source="demo", arguments=())
    request = config.about.get("request")
    if request is None:
        return origin
    if str(request["model"]).endswith((".skops", ".onnx")):
        return replace(origin, source="command")
    return replace(origin, source="command", flags=("--allow-pickle",))


def _claimed(target: Target, config: AuditConfig) -> dict[str, Any]:
    """Return the privacy claim about the target: the user's, or the guarantee of its training recipe."""
    claim = config.claimed
    # The references of an attacker without the recipe are trained differently from the target.
    train = target.can.get("retrain") or target.can.get("train")
    guarantee = getattr(getattr(train, "recipe", None), "privacy", None)
    if claim is None and guarantee is not None:
        try:
            spent = guarantee()
        except InputError:  # Opacus, which computes the privacy budget, is not installed.
            return {}
        if isfinite(spent.epsilon):
            claim = Claim(spent.epsilon, spent.delta)
    return claim_about(claim)


def _check_inputs(inputs: Inputs, config: AuditConfig) -> tuple[Check, ...]:
    """Return diagnostics of the inputs, and warn about issues before the slow work."""
    checks: tuple[Check, ...] = ()
    if inputs.duplicates is not None:
        checks += of_duplicates(inputs.duplicates)
    checks += of_repeats(inputs.repeats)
    if inputs.duplicate_counts is not None:
        checks += of_duplicate_counts(inputs.duplicate_counts)
    if config.min_references:
        checks += tuple(Check(code, "issue", values) for code, values in inputs.target.notes.items())
    _warn_issues(checks, config)
    model = getattr(inputs.target.predict, "model", None)
    if model is not None:  # the report shows members that an estimator stores, and the user gets no warning
        checks += (of_stored_members(search_estimator(model, inputs.pool.take(inputs.split.member[0]))),)
    return checks


def _run_baseline(inputs: Inputs, config: AuditConfig, store: Store) -> Baseline | None:
    """Run the model-free baseline while the records are in memory, and warn before the slow work.

    Members that guestlist drew from one pool need no baseline.
    """
    if inputs.drawn or not config.baseline:
        return None
    pool = inputs.pool
    hidden = () if inputs.game is None else hidden_columns(inputs.game)
    with one_thread():  # identical results on any number of cores
        baseline = cached_baseline(
            store,
            pool.x,
            pool.y,
            {name: values for name, values in pool.groups.items() if name not in hidden},
            pool.persons,
            values=not inputs.target.scale.has_classes,
            hashes=inputs.hashes,
        )
    if baseline is not None and baseline.significant:
        _warn_issues([of_baseline(baseline)], config)
    return baseline


def _warn_issues(checks: Sequence[Check], config: AuditConfig, stacklevel: int = 7) -> None:
    """Warn about every issue that the user does not ignore; ``stacklevel`` reaches the caller of ``audit``."""
    for check in checks:
        if check.state != "issue" or check.code in config.ignore:
            continue
        row = CHECKS[check.code]
        if row.by_chance:
            # A log message: as a warning it would fail some valid audits where warnings are errors.
            logger.warning("%s", row.text(check.values))
        else:
            warnings.warn(row.text(check.values), AuditWarning, stacklevel=stacklevel)


def _recipe_interval_width(results: Results) -> float | None:
    """Return the width of the interval that more reference models narrow."""
    if results.headline is None or results.headline.same_recipe is None:
        return None
    auc = results.headline.same_recipe.auc
    return auc.high - auc.low
