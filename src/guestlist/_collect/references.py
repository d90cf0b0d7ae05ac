"""Query the target, check that its outputs are consistent, and train and query reference models."""

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from guestlist._collect.engines.engine import NOTES, Engine, Files, Progress, Task, clear_work, run_all
from guestlist._store import Store, model_path, remove_partial_files
from guestlist._util import Notes, global_generators, integer, number, one_thread, reason, stream
from guestlist.data import Data
from guestlist.errors import AuditError, AuditWarning, FolderError, InputError
from guestlist.games import draw
from guestlist.models import Predict, Scale, Target, Trainer, model_code, predict_outputs, row_blocks, unchanged
from guestlist.models.input_checks import query_records


@dataclass(frozen=True)
class SignalExtractor:
    """Conversion of a model's outputs for the pool to signals.

    Args:
        labels: (records,) positions of the true classes, or true values.
        columns: Number of columns of the outputs.
        scale: Scale of the outputs, with parameters estimated from the target's.
    """

    labels: np.ndarray
    columns: int
    scale: Scale

    def train_and_query(
        self,
        name: str,
        train: Callable[[], Predict],
        x,
        rng: np.random.Generator,
        details: Callable[[], str] = str,
    ) -> np.ndarray:
        """Train a model and return its (records, columns) outputs for ``x``.

        Args:
            name: Name of the model, for messages.
            train: Returns the fitted model's prediction function.
            x: Features.
            rng: Random stream of the model; also seeds the global generators that some libraries use.
            details: Returns more text for messages.
        """
        return self.train_and_query_all(name, lambda: [train()], x, [rng], details)[0]

    def train_and_query_all(
        self,
        name: str,
        train: Callable[[], list[Predict]],
        x,
        rngs: Sequence[np.random.Generator],
        details: Callable[[], str] = str,
    ) -> list[np.ndarray]:
        """Train several models together and return the outputs of each; see :meth:`train_and_query`."""
        with ExitStack() as stack:
            stack.enter_context(one_thread())
            for rng in rngs:  # Each draws seeds as if its model were trained alone.
                stack.enter_context(global_generators(rng))
            # The recipe already issued its warnings when the target was trained.
            stack.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore")
            try:
                with model_code():
                    predict_functions = train()
                return [predict_outputs(predict, x, self.columns, self.scale) for predict in predict_functions]
            except AuditError as error:
                raise AuditError(f"{name}{details()}: {error}") from error
            except Exception as error:
                raise AuditError(
                    f"{name}{details()} could not be trained or queried ({reason(error)}).{_remedy(error)} Results "
                    "collected before it are kept."
                ) from error

    def take(self, records: np.ndarray) -> "SignalExtractor":
        """Select records."""
        return replace(self, labels=self.labels[records])

    def signals(self, outputs: np.ndarray) -> dict[str, np.ndarray]:
        """Return (records,) signals by name from outputs for all the records."""
        return self.scale.signals(outputs, self.labels)


def is_unknown_category(error: Exception) -> bool:
    """Return whether an encoder of scikit-learn met an unknown category."""
    return isinstance(error, ValueError) and "unknown categories" in str(error)


def _remedy(error: Exception) -> str:
    if not is_unknown_category(error):
        return ""
    return (
        " Its encoder raises an error for a category that is not in its training records. Set handle_unknown='ignore' (for an "
        "OrdinalEncoder 'use_encoded_value') with model.set_params; no new fit is needed. Or train no reference models: "
        "references=0 (--references 0)."
    )


def query_target(target: Target, pool: Data) -> "tuple[np.ndarray, Consistency | None]":
    """Return the (records, columns) outputs of the target for the whole pool, and their consistency.

    An error names the first record that the target cannot read.
    """
    # One thread, as for references: the outputs do not depend on the number of cores.
    with one_thread(), unchanged(pool, target.name):
        outputs = query_records(
            pool, lambda records: predict_outputs(target.predict, records.x, target.columns, target.scale)
        )
        return outputs, consistency(target, pool, outputs)


# One record in EVERY is queried again, within these limits.
EVERY = 32
MIN_SAMPLE = 8
MAX_SAMPLE = 100
# Outputs of one batch that differ by more than this share of the largest output have changed; rounding is far smaller.
CHANGED = 1e-5
# Outputs of two batches differ by rounding too, which steps and ties enlarge for single records. They depend on the batch if
# at least the second number, a share of the records, differ by more than the first times the standard deviation.
OTHER_BATCH = 1e-3
RECORDS_OF_BATCH = 0.05
ALONE = 8  # records that are queried one by one if outputs seem to depend on the batch


@dataclass(frozen=True)
class Consistency:
    """Number of outputs of a sample that differ.

    Args:
        records: Number of records in the sample.
        changed: Number of records with outputs that differ between two queries of the same records.
        batched: Number with outputs that differ between the sample and the query of all records, if none has changed.
    """

    records: int
    changed: int = 0
    batched: int = 0

    @property
    def deterministic(self) -> bool:
        """True if two queries of the same records have the same outputs."""
        return not self.changed

    @property
    def depends_on_batch(self) -> bool:
        """True if outputs depend on the other records in a query."""
        return self.batched >= max(2, RECORDS_OF_BATCH * self.records)


def consistency(target: Target, pool: Data, outputs: np.ndarray) -> Consistency | None:
    """Query a sample of the records twice, and compare; None if the target cannot be queried on a sample.

    Args:
        outputs: (records, columns) for the whole pool.
    """
    count = min(len(pool), MAX_SAMPLE, max(MIN_SAMPLE, len(pool) // EVERY))
    rows = np.unique(np.linspace(0, len(pool) - 1, count).astype(np.int64))
    sample = pool.take(rows).x

    def query(x) -> np.ndarray:
        return predict_outputs(target.predict, x, target.columns, target.scale)

    try:
        first = query(sample)
        second = query(sample)
    except Exception:  # some models accept only a fixed number of records
        return None
    changed = _differ(first, second, CHANGED * max(1.0, float(np.abs(first).max())))
    if changed.any():
        _check_order(target, first, second, changed)
        return Consistency(len(rows), changed=int(changed.sum()))
    batched = _differ(first, outputs[rows], OTHER_BATCH * float(outputs.std()) + CHANGED * float(np.abs(outputs).max()))
    result = Consistency(len(rows), batched=int(batched.sum()))
    if not result.depends_on_batch:
        return result
    try:
        n_changed = _changed_since(target, pool, outputs, rows, query)
    except InputError:
        raise
    except Exception:  # some models cannot be queried on a single record
        return result
    if not n_changed:
        return result
    return Consistency(len(rows), changed=n_changed)


def _changed_since(
    target: Target, pool: Data, outputs: np.ndarray, rows: np.ndarray, query: Callable[[Any], np.ndarray]
) -> int:
    """Count outputs that change although the whole pool is queried again: the model has a state.

    Raises:
        InputError: The outputs are in a different order from the records.
    """
    few = rows[:ALONE]
    alone = np.concatenate([query(pool.take(few[k : k + 1]).x) for k in range(len(few))])
    together = query(pool.take(few).x)
    _check_order(target, alone, together, _differ(alone, together, CHANGED * max(1.0, float(np.abs(alone).max()))))
    again = query(pool.x)[rows]
    return int(_differ(outputs[rows], again, CHANGED * max(1.0, float(np.abs(again).max()))).sum())


def _differ(first: np.ndarray, second: np.ndarray, tolerance: float) -> np.ndarray:
    """Return (records,) true where two outputs differ."""
    return np.abs(first - second).max(axis=1) > tolerance


def _check_order(target: Target, first: np.ndarray, second: np.ndarray, differ: np.ndarray) -> None:
    """Raise if two outputs for the same records are the same rows in different orders."""
    if not differ.any() or 2 * len(np.unique(first, axis=0)) <= len(first):  # Few different rows are equal by chance.
        return
    first, second = (rows[np.lexsort(np.round(rows, 6).T)] for rows in (first, second))
    if np.allclose(first, second, rtol=1e-5, atol=1e-6):
        raise InputError(
            f"{target.name} returns its outputs in a different order from the records: queried about the same {len(first)} "
            "records, it returns the same rows in different places. Return one row per record, in the order given (for "
            "example, DataLoader(…, shuffle=False))."
        )


# Outputs of one fitted model differ only by rounding, since threads add up in any order. Those of a different model differ by
# more than this for some record.
TOLERANCE = 1e-6


@dataclass(frozen=True)
class CollectContext:
    """Inputs of a collection.

    Args:
        store: The audit folder.
        target: The target.
        pool: All records, in the order of ``store.pool``, in the form that the target reads.
        extractor: Converts outputs of models to signals.
        engine: Runs the long work.
        progress: Shows progress.
        references: Number of references that the audit uses; they may not be trained yet.
    """

    store: Store
    target: Target
    pool: Data
    extractor: SignalExtractor
    engine: Engine
    progress: Progress | None = None
    references: int = 0

    @property
    def seed(self) -> int:
        """Random seed of the audit."""
        return self.store.manifest.seed

    def run(self, task: Task, numbers: list[int]) -> None:
        """Run a task for these numbers and write its files."""
        store = self.store
        messages: set[str] = set()

        def add_notes(folder: str, notes: Notes) -> None:
            store.add_devices("references" if folder == "signals" else folder, notes.get("devices", ()))
            messages.update(notes.get("warnings", ()))

        run_all(
            task,
            numbers,
            self.pool,
            store.folder,
            engine=self.engine,
            progress=self.progress,
            write=store.write,
            notes=add_notes,
        )
        for message in sorted(messages):
            warnings.warn(message, AuditWarning, stacklevel=2)

    def with_references(self, count: int) -> "CollectContext":
        """Plan references: their training sets are drawn and written before they are trained."""
        split = self.store.split
        if len(split) <= count:
            game = self.store.manifest.make_game()
            self.store.write_split(draw(game, self.pool, 1 + count, self.store.manifest.rows_seed, start=split))
        return replace(self, references=count)


def open_context(
    store: Store,
    target: Target,
    pool: Data,
    outputs: np.ndarray,
    *,
    engine: Engine,
    progress: Progress | None = None,
    changing: bool = False,
) -> CollectContext:
    """Clean up after a killed audit, and write the target's outputs or compare them with the stored ones.

    Args:
        outputs: (records, columns) outputs of the target for the pool.
        changing: Whether the target's outputs change between queries, for the error message.
    """
    remove_partial_files(store.folder)
    clear_work(store.folder)
    labels = target.labels_of(pool.y)
    try:
        scale = _write_or_check_outputs(store, target, outputs, labels)
    except FolderError as error:
        if changing:
            raise FolderError(_CHANGING.format(store.folder)) from error
        raise
    return CollectContext(
        store=store,
        target=target,
        pool=pool,
        extractor=SignalExtractor(labels, target.columns, scale),
        engine=engine,
        progress=progress,
    )


def _write_or_check_outputs(store: Store, target: Target, outputs: np.ndarray, labels: np.ndarray) -> Scale:
    """Write the target's outputs, or compare them with the stored ones; return the scale fitted to them."""
    stored = store.outputs()
    if stored is not None:
        if stored.shape != outputs.shape or _differ_beyond_rounding(stored, outputs):
            raise FolderError(_ANOTHER.format(store.folder))
        outputs = stored
    scale = target.scale.resolved(outputs, labels)
    signals = scale.signals(outputs, labels)
    path = model_path(store.folder, 0)
    if 0 in store.models():
        _check_signals(store, signals)
    if stored is None:
        store.write_outputs(outputs)
        path.unlink(missing_ok=True)  # The signals depend on the exact outputs.
    if not path.exists():
        store.write_model(0, signals)
    return scale


def _differ_beyond_rounding(stored: np.ndarray, outputs: np.ndarray) -> bool:
    """Return whether outputs differ by more than rounding; block by block, as they may be large."""
    parts = [(np.abs(stored[rows] - outputs[rows]).max(), np.abs(stored[rows]).max()) for rows in row_blocks(stored)]
    furthest, largest = np.max(parts, axis=0)
    return bool(furthest > TOLERANCE * max(1.0, largest))


_ANOTHER = "{} holds an audit of a different fitted model, with different outputs. Choose another folder= (--out)."
_CHANGING = (
    "The model returns outputs that differ from those stored in {}, because it is not deterministic (GL130). Fix its random "
    "seed, or put it into evaluation mode. Then audit it in a new folder."
)


def _check_signals(store: Store, signals: Mapping[str, np.ndarray]) -> None:
    """Raise if the stored signals of the target are not those of its outputs, within rounding."""
    for name, values in store.model(0).items():
        if np.abs(signals[name] - values).max() > TOLERANCE * max(1.0, np.abs(values).max()):
            raise FolderError(_ANOTHER.format(store.folder))


def train_references(context: CollectContext) -> None:
    """Train the planned references that the folder does not hold yet."""
    collected = context.store.check_files({k: model_path(context.store.folder, k) for k in context.store.models()})
    missing = [k for k in range(1, 1 + context.references) if k not in collected]
    if missing:
        error = f"{len(missing)} reference models are missing, but {{name}} has no training recipe{{why}}. Pass train=."
        reference = train_reference(context, error)
        if reference.stacked:
            train_stacks(context, reference, missing)
        else:
            context.run(reference, missing)


def train_stacks(context: CollectContext, reference: "TrainReference", numbers: list[int]) -> None:
    """Train references in stacks; progress counts references."""
    slots = reference.train.slots  # type: ignore[attr-defined]
    stacks = {numbers[start]: tuple(numbers[start : start + slots]) for start in range(0, len(numbers), slots)}
    progress = context.progress
    if progress is not None:

        def per_model(files: Iterable[Files], *, total: int) -> Iterable:
            models = (path for stack in files for path in stack if path != NOTES)
            return context.progress(models, total=len(numbers))  # type: ignore[misc]

        progress = per_model
    replace(context, progress=progress).run(TrainStack(reference, stacks), list(stacks))


def train_reference(context: CollectContext, error: str = "") -> "TrainReference":
    """Return the task that trains any reference of a context.

    Args:
        error: Message if the target cannot be retrained.
    """
    train = context.target.needs("train", error)
    return TrainReference(
        train=train,
        rows=Rows.pack(context.store.split.member),
        seed=context.seed,
        extractor=context.extractor,
        folder=context.store.folder,
        stacked=_in_stacks(context, train),
    )


def _in_stacks(context: CollectContext, train: Trainer) -> bool:
    """Return whether references are trained in stacks; decide it before the first one, and write it in the manifest."""
    store = context.store
    begun = store.manifest.stacked or any(store.models())
    enough = context.references >= getattr(train, "slots", math.inf)
    if not begun and enough and not getattr(context.engine, "devices", ()):
        with one_thread():
            stacked = train.can_stack(context.pool)  # type: ignore[attr-defined]
        if stacked:
            store.change_manifest(stacked=True)  # references are trained in stacks
    return store.manifest.stacked


@dataclass(frozen=True)
class Rows:
    """Bit-packed (models, records) masks: every worker gets them, and they take an eighth of the memory."""

    packed: np.ndarray
    records: int

    @staticmethod
    def pack(member: np.ndarray) -> "Rows":
        return Rows(np.packbits(member, axis=1), member.shape[1])

    def __getitem__(self, k: int) -> np.ndarray:
        return np.unpackbits(self.packed[k], count=self.records).astype(bool)


@dataclass(frozen=True)
class TrainReference:
    """Task that trains one reference and writes its signals.

    Args:
        stacked: Train networks in stacks, with identical results for any stack.
    """

    train: Trainer
    rows: Rows
    seed: int
    extractor: SignalExtractor
    folder: Path
    stacked: bool = False

    @property
    def is_robust(self) -> bool:
        """True if training is known not to crash its process."""
        return getattr(self.train, "is_robust", False)

    def files(self, k: int, pool: Data) -> Files:
        return {model_path(self.folder, k): self.extractor.signals(self.outputs(k, pool))}

    def outputs(self, k: int, pool: Data) -> np.ndarray:
        """Train reference ``k`` and return its outputs for every record of the pool."""
        if self.stacked:
            return self.outputs_of_stack((k,), pool)[0]
        rng = stream(self.seed, "training", k)
        rows = self.rows[k]
        return self.extractor.train_and_query(
            f"Reference {k}",
            lambda: self.train(pool.copied(rows), rng),
            pool.x,
            rng,
            details=lambda: self._details(rows),
        )

    def outputs_of_stack(self, numbers: Sequence[int], pool: Data) -> list[np.ndarray]:
        """Train some references together and return the outputs of each for every record of the pool."""
        rngs = [stream(self.seed, "training", k) for k in numbers]
        rows = [self.rows[k] for k in numbers]
        name = f"Reference {numbers[0]}"
        if len(numbers) > 1:
            name = f"The stack of reference models {numbers[0]} to {numbers[-1]}"
        train: Any = self.train
        return self.extractor.train_and_query_all(name, lambda: train.train_together(pool, rows, rngs), pool.x, rngs)

    def _details(self, rows: np.ndarray) -> str:
        """Describe the size of a training set, and of its rarest class."""
        if not self.extractor.scale.has_classes:
            return f" ({rows.sum()} records)"
        rarest = np.bincount(self.extractor.labels[rows], minlength=self.extractor.columns).min()
        return f" ({rows.sum()} records, {rarest} of its rarest class)"


@dataclass(frozen=True)
class TrainStack:
    """Task that trains the references of a stack and writes their signals.

    Args:
        reference: Task of a single reference.
        stacks: First reference of each stack to all its references.
    """

    reference: TrainReference
    stacks: Mapping[int, tuple[int, ...]]
    is_robust: ClassVar[bool] = True  # the layers and the loop are known

    def files(self, k: int, pool: Data) -> Files:
        numbers = self.stacks[k]
        outputs = self.reference.outputs_of_stack(numbers, pool)
        return {
            model_path(self.reference.folder, number): self.reference.extractor.signals(outputs)
            for number, outputs in zip(numbers, outputs, strict=True)
        }


SHORTEST = 1e-3  # seconds of a round; a clock may not resolve less
# Share of the minutes that is kept for scoring and evaluation.
EVALUATION_SHARE = 0.15


@dataclass(frozen=True)
class WithinMinutes:
    """Train the reference models that fit into a number of minutes.

    guestlist trains one reference model, times it, and then trains more in rounds. Each round uses at most half of the time
    that remains, and 15% of the time is kept for the evaluation. Every run has its own minutes: run again with the same folder
    to add reference models.

    Attributes:
        minutes: Minutes for the whole audit, from the first query of the target on.
        at_most: Largest number of reference models.
        seconds_per_model: Seconds of one training, if you know them. Otherwise the first reference model is trained even if
            the time is too short for it.

    Raises:
        ValueError: If a number is out of range.

    Examples:
        >>> model, members, nonmembers = gl.testing.small_model()
        >>> budget = gl.WithinMinutes(10, at_most=8)
        >>> results = gl.audit(model, members, nonmembers, references=budget, attacks=["lira"], baseline=False, jobs=1)
        >>> results.references.count, results.references.minutes
        (8, 10)
    """

    minutes: float
    at_most: int = 128
    seconds_per_model: float | None = None

    def __post_init__(self):
        number("minutes", self.minutes, 0)
        integer("at_most", self.at_most, 1)
        if self.seconds_per_model is not None:
            number("seconds_per_model", self.seconds_per_model, 0)

    @property
    def training_seconds(self) -> float:
        """Seconds for everything but the evaluation."""
        return 60 * self.minutes * (1 - EVALUATION_SHARE)


@dataclass(frozen=True)
class TimeSpent:
    """Outcome of a budget of minutes.

    Attributes:
        minutes: The budget.
        references: Number of reference models, including those of earlier runs.
        seconds_per_model: Elapsed seconds for each further model, with the models that are trained in parallel.
    """

    minutes: float
    references: int
    seconds_per_model: float


def train_within(
    budget: WithinMinutes,
    train: Callable[[int], int],
    replan: Callable[[int], int],
    *,
    existing: int,
    jobs: int,
    elapsed: Callable[[], float],
) -> TimeSpent:
    """Train reference models in rounds until the minutes are spent.

    Args:
        budget: The minutes.
        train: Trains the missing models up to a number, and returns the number of trained models.
        replan: Called with the number of models that is expected to fit, once, if the audit had none. Returns the
            number of trained models that remain.
        existing: Number of reference models that the audit has.
        jobs: Number of models that are trained in parallel.
        elapsed: Returns the seconds since the audit began.
    """
    count = min(existing, budget.at_most)
    per_model = None
    if budget.seconds_per_model is not None:
        per_model = budget.seconds_per_model / jobs
    planned = existing > 0
    while count < budget.at_most:
        size = 1
        if per_model is not None:
            fitting = int((budget.training_seconds - elapsed()) / per_model)
            if not planned:
                planned = True
                count = replan(min(budget.at_most, count + max(fitting, 0)))
            if fitting < jobs:
                break
            size = max(jobs, fitting // 2 // jobs * jobs)
        size = min(size, budget.at_most - count)
        before = elapsed()
        trained = train(count + size)
        count += size
        if trained:
            # A round of fewer models than jobs takes as long as a round with one model per job.
            per_model = max(elapsed() - before, SHORTEST) / max(trained, jobs)
    return TimeSpent(budget.minutes, count, per_model or 0.0)


# With fewer references than this, stand-in targets have too few references to compare attacks.
MIN_STAND_INS = 8
GROWTH = 1.5
# If 1.5 times the references narrow the interval by less than this share, the remaining width comes from the records.
MIN_GAIN = 0.03

NO_STAND_INS = (
    "UntilWidth (--until-width) evaluates an attack on stand-in targets, and none of these attacks can be evaluated on them. Add "
    "an attack such as lira_bayes."
)

T = TypeVar("T")


@dataclass(frozen=True)
class UntilWidth:
    """Train reference models until the interval of the recipe's AUC is narrow enough.

    More references narrow the interval for a new model trained by the same recipe on new records. The part of its width that
    comes from the number of records remains. If only that part remains, training stops and a check reports it.

    Attributes:
        width: Width of the 95% interval to reach, in AUC.
        start: Number of references to begin with.
        at_most: Largest number of references.

    Raises:
        ValueError: If ``start`` exceeds ``at_most``, or a number is out of range.

    Examples:
        >>> model, members, nonmembers = gl.testing.small_model()
        >>> until = gl.UntilWidth(0.2, start=8, at_most=16)
        >>> results = gl.audit(model, members, nonmembers, references=until, attacks=["lira"], baseline=False, jobs=1)
        >>> results.references.count
        8
    """

    width: float
    start: int = 16
    at_most: int = 512

    def __post_init__(self):
        number("width", self.width, 0, 1)
        integer("start", self.start)
        integer("at_most", self.at_most)
        if not MIN_STAND_INS <= self.start <= self.at_most:
            raise ValueError(f"Expected {MIN_STAND_INS} <= start={self.start} <= at_most={self.at_most}.")


def grow_references(run: Callable[[int], T], width_of: Callable[[T], float | None], until: UntilWidth) -> T:
    """Return the result of ``run(references)`` for the first number of references that meets ``until``.

    Args:
        run: Collects the missing parts and evaluates.
        width_of: Width of the interval in a result; None if no attack can be tried on stand-in targets.
        until: When to stop.
    """
    count = until.start
    previous = float("inf")
    while True:
        result = run(count)
        width = width_of(result)
        if width is None:
            raise InputError(NO_STAND_INS)
        stalled = width > (1 - MIN_GAIN) * previous
        if width <= until.width or math.isnan(width) or stalled or count == until.at_most:
            return result
        count = min(until.at_most, int(GROWTH * count))
        previous = width
