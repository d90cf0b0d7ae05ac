"""Complete experiment: draw members, train the target and its references, and audit the target."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from guestlist._audit import REFERENCES, AuditConfig, References, collect_case, run_audit
from guestlist._case import PRIOR, About, Case, Origin, with_progress
from guestlist._collect import Engine, Inputs, Progress, repeated_ids, with_description
from guestlist._findings import DELTA, Epsilon, Results, epsilon_bound
from guestlist._store import to_json
from guestlist._util import global_generators, one_thread, reason, stream
from guestlist.attacks import select_attacks
from guestlist.data import Data, as_data, column_names, without_groups
from guestlist.defences import Recipe, Refit, as_recipe
from guestlist.errors import AuditError, InputError
from guestlist.evidence import EVIDENCE, LossTrace
from guestlist.evidence.table import AnyPlan
from guestlist.games import Game, Preparing, Trials, check_game, draw, hidden_columns
from guestlist.models import FRAMEWORKS, Target, framework_of, input_checks, model_code, numpy_defaults, predict_outputs
from guestlist.privacy import BayesianRuns, Bonferroni, Claim, ClopperPearson, GaussianRuns, HoldOut, Median


def play(
    game: Game,
    recipe: Recipe | Any,
    data,
    *,
    model=None,
    classes=None,
    scale: str = "logits",
    label: str | None = None,
    group: str | Sequence[str] = (),
    id: str | None = None,
    person: str | None = None,
    references: References = REFERENCES,
    attacks: Sequence[str | Callable] | None = None,
    evidence: Sequence[AnyPlan] = (),
    folder: str | Path | None = None,
    seed: int = 0,
    jobs: int | None = None,
    engine: Engine | None = None,
    prior: float = PRIOR,
    ignore: Sequence[str] = (),
    claimed: Claim | None = None,
    progress: Progress | bool = True,
    about: About | None = None,
) -> Results:
    """Draw members by the rules of a game, train a target and its reference models, and audit the target.

    guestlist draws the membership, so members and non-members differ only by chance and by the rules of the game. In games of
    dependent records (``Clusters``, ``Bias``, ``Sources``) the game makes them differ: play the i.i.d. control as well, with
    ``iid=True``. The target is trained again in every call, with identical results for the same seed; so are the models that
    choose canaries.

    Args:
        game: Rule that selects the members: ``Sides(1000, 1000)``, ``Bernoulli(0.5)``, ``Canaries(500)``; see ``guestlist show
            games``.
        recipe: Training recipe such as ``Fit(...)``, with ``model``, which it trains; or an unfitted scikit-learn-style
            estimator, which is its own recipe.
        data: Pool of records: ``(x, y)``, a table with a ``label`` column, or a path to one.
        model: Torch module or estimator that the recipe trains copies of; None if ``recipe`` is an estimator.
        classes: Labels that the outputs of a torch module refer to; by default 0, 1, ….
        scale: ``logits``, or ``values`` for a torch module that predicts a number.
        label, group, id, person, attacks, evidence, folder: As for ``audit``.
        references: Number of reference models, ``UntilWidth`` or ``WithinMinutes``, as for ``audit``.
        seed, jobs, engine, prior, ignore, claimed, progress, about: As for ``audit``.

    Returns:
        Results, as those of ``audit``.

    Raises:
        InputError: If the game draws no members or no non-members, has no single target (use ``play_many``), or the recipe and
            the records do not fit together.
        FolderError: If ``folder`` holds a different audit, or is damaged.
        AuditError: If a model cannot be trained.
        ValueError: If an option is out of range.

    Examples:
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> _, (x, y), _ = gl.testing.small_model()
        >>> results = gl.play(
        ...     gl.games.Bernoulli(0.5), DecisionTreeClassifier(), (x, y), references=4, attacks=["loss"], jobs=1
        ... )
        >>> results.subject.members + results.subject.nonmembers
        200
    """
    config = AuditConfig.from_options(
        references=references,
        attacks=attacks,
        evidence=evidence,
        folder=folder,
        seed=seed,
        jobs=jobs,
        engine=engine,
        prior=prior,
        ignore=ignore,
        progress=progress,
        about=about,
        claimed=claimed,
    )
    config = replace(config, about={"origin": to_json(Origin("game")), **config.about})
    check_game(game)
    if isinstance(game, Trials):
        raise InputError(
            f"{type(game).__name__} trains many models, each a separate trial. Use gl.play_many instead of gl.play."
        )
    select_attacks(attacks, config.checked_references, EVIDENCE)  # a misspelt name is found before anything is trained
    needed = tuple(dict.fromkeys((*column_names("group", group), *hidden_columns(game))))
    records = without_groups(
        as_data(data, side="data", label=label, group=needed, id=id, person=person), hidden_columns(game)
    )
    checkpoints = any(isinstance(plan, LossTrace) for plan in evidence)
    make = _target_maker(recipe, model, classes=classes, scale=scale, checkpoints=checkpoints)
    inputs = _draw_inputs(game, make, records, seed, config.progress)
    if id is not None and person is None:
        inputs = replace(inputs, repeats=repeated_ids(records.ids))
    return run_audit(inputs, config)


def play_many(
    game: Trials,
    recipe: Recipe | Any,
    data,
    *,
    model=None,
    classes=None,
    scale: str = "logits",
    label: str | None = None,
    id: str | None = None,
    runs: int = 200,
    folder: str | Path | None = None,
    seed: int = 0,
    jobs: int | None = None,
    engine: Engine | None = None,
    claimed: Claim | None = None,
    delta: float = DELTA,
    method: ClopperPearson | GaussianRuns | BayesianRuns | None = None,
    threshold: Bonferroni | HoldOut | Median | None = None,
    confidence: float = 0.95,
    progress: Progress | bool = True,
    about: About | None = None,
) -> Epsilon:
    """Train many models with randomised inclusion, and compute a lower bound on epsilon from their scores.

    The score of a run is its fit to the first record minus its fit to the second, or its fit to the only record.

    Args:
        game: ``Strong()``, one record or another in addition to records that are always included; or ``Exchangeable(1000)``.
        recipe, data, model, classes, scale, label, id: As for ``play``.
        runs: Number of models; at least 2.
        folder: Folder that stores every run; run again with the same folder to resume or to add runs.
        seed, jobs, engine: As for ``audit``.
        claimed: Claimed privacy with respect to adding or removing one record; by default the guarantee of the recipe, if any.
        delta: Delta of the bound, if nothing is claimed.
        method: ``ClopperPearson()`` by default, ``GaussianRuns()`` or ``BayesianRuns()``.
        threshold: Correction for the choice of a threshold; see ``epsilon_bound``.
        confidence: Confidence level of the bound.
        progress, about: As for ``audit``.

    Returns:
        The claim, the largest advantage that it allows, and the lower bound on epsilon in ``.bound``.

    Raises:
        InputError: If the game has one target (use ``play``), or the recipe and the records do not fit together.
        FolderError: If ``folder`` holds a different audit, or is damaged.
        AuditError: If a model cannot be trained.
        ValueError: If ``runs`` is less than 2, or another option is out of range.

    Examples:
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> _, (x, y), _ = gl.testing.small_model()
        >>> proven = gl.play_many(gl.games.Strong(), DecisionTreeClassifier(), (x[:50], y[:50]), runs=20, jobs=1)
        >>> proven.bound.epsilon > 0  # training a tree is not differentially private
        True
    """
    check_game(game)
    if not isinstance(game, Trials):
        raise InputError(f"{type(game).__name__} has one target. Use gl.play instead of gl.play_many.")
    if runs < 2:
        raise ValueError(f"Expected runs={runs} to be 2 or more.")
    config = AuditConfig.from_options(
        references=runs - 1,
        attacks=["loss"],
        folder=folder,
        seed=seed,
        jobs=jobs,
        engine=engine,
        progress=progress,
        about=about,
        claimed=claimed,
    )
    records = as_data(data, side="data", label=label, id=id)
    make = _target_maker(recipe, model, classes=classes, scale=scale, checkpoints=False)
    inputs = _draw_inputs(game, make, records, seed, config.progress)

    def bound(case: Case) -> Epsilon:
        return epsilon_bound(
            case.scored(),
            delta=delta,
            claimed=case.setting.claimed,
            method=method,
            threshold=threshold,
            confidence=confidence,
        )

    return collect_case(inputs, config, bound)


# Function from all records, a mask of the training records, and a random generator, to a target.
TargetMaker = Callable[[Data, np.ndarray, np.random.Generator], Target]


def _target_maker(recipe, model, **options) -> TargetMaker:
    """Return a function that trains a target of the game.

    Args:
        recipe, model: As for ``play``.
        options: Options of the framework: ``classes``, ``scale`` and ``checkpoints``.
    """
    for part in (recipe, model):
        if isinstance(part, type):
            raise InputError(f"{part.__name__} is a class. Pass an object with its options: {part.__name__}(…).")
    if model is None:
        if not FRAMEWORKS["scikit-learn"].recognises(recipe):
            raise InputError("The recipe has no model to train. Pass model=, or an unfitted estimator as the recipe.")
        recipe, model = Refit(), recipe
    framework = framework_of(model) or FRAMEWORKS["scikit-learn"]
    train = as_recipe(recipe)

    def make(data: Data, members: np.ndarray, rng: np.random.Generator) -> Target:
        return framework.retrain(model, train, data, members, partial(_train_target, rng), **options)

    return make


@numpy_defaults()
def _draw_inputs(game: Game | Trials, make: TargetMaker, data: Data, seed: int, progress: Progress | None) -> Inputs:
    """Draw the members and train a target on them."""
    if isinstance(game, Preparing):
        data = game.prepared(data, partial(_losses, make, seed, progress), seed)
    split = draw(game, data, 1, seed)
    if not isinstance(game, Trials) and not (split.members.any() and split.nonmembers.any()):
        raise InputError(
            f"{game} produced no members (or no non-members) from {len(data)} records. Provide more records."
        )
    target = make(data, split.members, stream(seed, "training", 0))
    pool = target.fitting(data, "data")
    input_checks.check_sides({"members": pool}, target.classes)
    input_checks.check_finite("data", pool, target.predict)
    input_checks.check_first_records({"data": pool}, target.predict)
    return Inputs(target, pool, split, game=game)


def _losses(
    make: TargetMaker, seed: int, progress: Progress | None, train: Data, about: Data, models: int
) -> np.ndarray:
    """Return (models, records) losses, on some records, of models that are trained on others."""
    losses = []
    for k in with_progress(range(models), with_description(progress, "Choosing canaries")):
        target = make(train, np.ones(len(train), dtype=bool), stream(seed, "canaries", 1 + k))
        pool = target.fitting(about, "data")
        labels = target.labels_of(pool.y)
        outputs = predict_outputs(target.predict, pool.x, target.columns, target.scale)
        losses.append(target.scale.resolved(outputs, labels).signals(outputs, labels)["loss"])
    return np.stack(losses)


def _train_target(rng: np.random.Generator, recipe: Callable, model, members: Data):
    """Train the target, model 0 of the game, like every reference: with one thread and its own random stream."""
    with one_thread(), global_generators(rng):
        try:
            with model_code():
                return recipe(model, members, rng)
        except AuditError:
            raise
        except Exception as error:
            raise AuditError(f"Cannot train the target ({reason(error)}). Check the recipe and the records.") from error
