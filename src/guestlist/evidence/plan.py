"""Evidence plans and the rows of the evidence table, with simulated evidence for self-tests."""

from collections.abc import Callable
from dataclasses import Field, dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
from scipy.special import expit

from guestlist._collect import CollectContext, Files
from guestlist._store import Store, file_numbers, to_json
from guestlist._views import ModelsView, Part
from guestlist.data import Data
from guestlist.errors import FolderError
from guestlist.games import Split
from guestlist.models import Target

Access = Literal["queries", "model file"]
QUERIES: Access = "queries"
MODEL_FILE: Access = "model file"


class Work(NamedTuple):
    """Work of collecting evidence that a folder lacks, for estimates of its duration.

    Args:
        trainings: Number of models to train like the target.
        queries: Number of queries for all records.
        seconds: Seconds of other work, roughly.
    """

    trainings: int = 0
    queries: float = 0
    seconds: float = 0


def work_of_one_file(work: Work) -> "Callable[[Any, Split, Store | None], Work]":
    """Return a function for evidence in one file: all of the work, or none if the folder holds the file."""

    def missing_work(plan: Any, split: Split, store: Store | None) -> Work:
        if store is not None and any(evidence_folder(store, plan.name).glob("*.npz")):
            return Work()
        return work

    return missing_work


_one_query = work_of_one_file(Work(queries=1))


@dataclass(frozen=True, kw_only=True)
class EvidenceType:
    """One type of evidence.

    Args:
        plan: Class of its plans. A plan without ``collect`` takes the view from the target at once, and nothing is written,
            because it may hold features.
        view: Class of the data that attacks get.
        summary: Description.
        cost: Description of the cost.
        missing: Use of the evidence in an attack, and that it is missing: the end of a sentence about the attack.
        attacker: Knowledge of an attacker beyond the model's outputs, as the end of a sentence: "knows all other
            members".
        access: ``queries`` if the model's outputs are enough, ``model file`` if its parameters must be read.
        target: Targets that have it, if not all: "a K-NN target".
        owner: Whether it is computed from the true membership, so that only the model owner has it. Risks read it, and no
            attack does.
        default: Whether it is collected by default if the target supports it.
        default_scales: Scales of outputs for which it is collected by default, because they reveal little else.
        on_stand_ins: Whether stand-in targets share it, because they are models of the same type.
        simulate: Function from a simulation and the number of a model to a view; None if it cannot be simulated.
        known_membership: Function from a view to (records,) true for those with known membership, which attacks do not score.
        work: Function from a plan, the split and the audit folder, or None, to the work of collecting what the folder lacks; by
            default one query for all records.
        perfect_fit: Function from a view to that of a target that fits every record perfectly. None if it does not measure the
            fit, or the signals do.
    """

    plan: "type[Plan] | type[FromTarget]"
    view: type[Part]
    summary: str
    cost: str
    missing: str
    attacker: str = ""
    access: Access = QUERIES
    target: str = ""
    owner: bool = False
    default: bool = False
    default_scales: tuple[str, ...] = ()
    on_stand_ins: bool = False
    simulate: "Callable[[SimulatedModels, int], Any] | None" = None
    known_membership: Callable[[Any], np.ndarray] | None = None
    work: Callable[[Any, Split, Store | None], Work] = _one_query
    perfect_fit: Callable[[Any], Any] | None = None

    @property
    def stored(self) -> bool:
        """True if it is written into the audit folder."""
        return hasattr(self.plan, "collect")

    def read(self, store: Store) -> Part | None:
        """Read it from the audit folder; None if there is none."""
        if not hasattr(self.plan, "read"):
            return None
        return self.plan.read(store)


P = TypeVar("P", bound="Plan")


class AnyPlan(Protocol):
    """A frozen dataclass whose fields are the options; ``name`` is its key in ``EVIDENCE``."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    name: ClassVar[str]

    def check(self, target: Target, pool: Data, split: Split) -> None:
        """Raise, before any long work, if this target or these records do not support it."""


@runtime_checkable
class Plan(AnyPlan, Protocol):
    """A plan whose evidence is written into the audit folder."""

    grows: ClassVar[tuple[str, ...]]  # Options that may increase in a later run; all others must stay equal.

    def collect(self, context: CollectContext) -> None:
        """Collect the evidence that the folder does not hold yet."""

    @staticmethod
    def read(store: Store) -> Part | None:
        """Read the collected evidence; None if there is none."""


@runtime_checkable
class FromTarget(AnyPlan, Protocol):
    """A plan whose evidence is taken from the target at once, and not written."""

    def take(self, target: Target, pool: Data, split: Split) -> Part:
        """Return the evidence."""


@dataclass(frozen=True)
class FilesTask:
    """Task of an engine: a function from the number of a file and the records to the files to write."""

    function: Callable[[int, Data], Files]

    def files(self, k: int, pool: Data) -> Files:
        return self.function(k, pool)


def evidence_folder(store: Store, name: str) -> Path:
    """Return the folder of one type of evidence."""
    return store.folder / "evidence" / name


def evidence_path(folder: Path, prefix: str, k: int, width: int = 4) -> Path:
    """Return the path of one of many files of a type of evidence."""
    return folder / f"{prefix}-{k:0{width}d}.npz"


def number_of_files(store: Store | None, name: str, prefix: str, at_most: int) -> int:
    """Return the number of files of a type of evidence that a folder holds, up to the number that a plan needs."""
    if store is None:
        return 0
    return sum(k <= at_most for k in file_numbers(evidence_folder(store, name), prefix))


def missing_files(store: Store, folder: Path, prefix: str, count: int) -> list[int]:
    """Check the files that a folder holds, and return the numbers from 1 to ``count`` without one."""
    held = store.check_files({k: evidence_path(folder, prefix, k) for k in file_numbers(folder, prefix)})
    return [k for k in range(1, 1 + count) if k not in held]


def read_files(store: Store, name: str, prefix: str, at_most: str) -> list[dict[str, np.ndarray]]:
    """Read the files of a type of evidence, up to the number that the option ``at_most`` of its plan requests."""
    plan = plan_of(store, name)
    if plan is None:
        return []
    folder = evidence_folder(store, name)
    return [store.read(evidence_path(folder, prefix, k)) for k in file_numbers(folder, prefix) if k <= plan[at_most]]


def stored_arrays(store: Store, name: str, file: str) -> dict[str, np.ndarray] | None:
    """Read the only file of a type of evidence; None if it was not collected."""
    path = evidence_folder(store, name) / file
    if plan_of(store, name) is None or not path.exists():
        return None
    return store.read(path)


def begin_plan(store: Store, plan: P) -> P:
    """Write the plan into the folder and return it with its growing options at their largest.

    Raises:
        FolderError: The folder holds this evidence with different options.
    """
    plan = resumed(store, plan)
    options = to_json(plan)
    fixed = {name: options[name] for name in options if name not in plan.grows}
    store.write_plan(evidence_folder(store, plan.name) / "plan.json", options, fixed)
    return plan


def resumed(store: Store, plan: P) -> P:
    """Return the plan with its growing options at their largest: those of the plan or of the folder.

    Raises:
        FolderError: The folder holds this evidence with different options.
    """
    path = evidence_folder(store, plan.name) / "plan.json"
    options = to_json(plan)  # In the form of the file, where a tuple becomes a list.
    if path.exists():
        stored = store.read_plan(path)
        different = [name for name in options if name not in plan.grows and stored.get(name) != options[name]]
        if different:
            before = ", ".join(f"{name}={stored.get(name)!r}" for name in different)
            raise FolderError(
                f"{store.folder} holds {plan.name!r} collected with {before}. Use the same options, or "
                f"delete {path.parent} to collect it again."
            )
        options |= {name: max(options[name], stored[name]) for name in plan.grows}
    return type(plan)(**options)


def begin_file(store: Store, plan: Plan, file: str) -> Path | None:
    """Begin a plan whose evidence is one file; return its path, or None if it was collected before."""
    begin_plan(store, plan)
    path = evidence_folder(store, plan.name) / file
    if path.exists():
        store.check(path)
        return None
    return path


def plan_of(store: Store, name: str) -> dict | None:
    """Return the options that one type of evidence was collected with; None if it was not."""
    path = evidence_folder(store, name) / "plan.json"
    if not path.exists():
        return None
    return store.read_plan(path)


def share_of_members(split: Split) -> tuple[float, np.ndarray]:
    """Return the share of members among the evaluated records, and the (records,) mask of these."""
    evaluated = split.evaluated[0]
    return float(split.members[evaluated].mean()), evaluated


def signals_of_margin(margin: np.ndarray, classes: int = 2) -> dict[str, np.ndarray]:
    """Return every signal of models with these log-odds of the true class and equally likely other classes.

    Args:
        margin: (…, records) log-odds of the true class.
        classes: Number of classes.

    Returns:
        Name of a signal to its values, shaped as ``margin``.

    Examples:
        >>> signals = gl.evidence.signals_of_margin(np.array([0.0, 2.0]))
        >>> signals["loss"].round(3).tolist(), signals["correct"].tolist()
        ([0.693, 0.127], [0.0, 1.0])
    """
    right = expit(margin)
    wrong = expit(-margin)
    loss = np.logaddexp(0, -margin)
    others = classes - 1
    log_rest = -loss  # log(1 - p) of each wrong class; with one wrong class it is exactly log p of the right one
    if others > 1:
        log_rest = np.log1p(-wrong / others)
    return {
        "margin": margin,
        "loss": loss,
        "p_y": right,
        "correct": (margin > -np.log(others)).astype(np.float64),
        "entropy": right * loss + wrong * (np.logaddexp(0, margin) + np.log(others)),
        "mentr": wrong * (loss - log_rest),
    }


@dataclass(frozen=True)
class SimulatedModels:
    """Ground truth of every record and model of a simulation.

    Attributes:
        difficulty: (records,) mean margin over models that did not train on the record.
        deviation: (records,) standard deviation of its margin over models.
        margin: (models, records) margins that the models output.
        member: (models, records) training sets.
        labels: (records,) true class of each record.
        others: Function from a model to the models that are its references.
        seed: Random seed.
        classes: Number of classes.
        output: Function from a margin to the margin that models output, for example rounded.
        signals_of: Function from margins and the number of classes to signals by name.
    """

    difficulty: np.ndarray
    deviation: np.ndarray
    margin: np.ndarray
    member: np.ndarray
    labels: np.ndarray
    others: Callable[[int], np.ndarray]
    seed: tuple[int, ...]
    classes: int = 2
    output: Callable[[np.ndarray], np.ndarray] = np.asarray
    signals_of: Callable[[np.ndarray, int], dict[str, np.ndarray]] = signals_of_margin

    def signals(self, margin: np.ndarray) -> dict[str, np.ndarray]:
        """Return every signal of models with these margins."""
        return self.signals_of(self.output(margin), self.classes)

    def rng(self, purpose: int, k: int) -> np.random.Generator:
        """Return the random stream of model ``k`` for one purpose: every type of evidence has its own number."""
        return np.random.default_rng([*self.seed, purpose, k])


# Number of separate models that each target of a simulation is compared with.
MODELS = 16


def models_without(simulated: SimulatedModels, k: int, *, purpose: int) -> ModelsView:
    """Simulate models that did not train on the queried record."""
    shape = (MODELS, len(simulated.labels))
    values = simulated.signals(
        simulated.difficulty + simulated.deviation * simulated.rng(purpose, k).normal(size=shape)
    )
    return ModelsView(values, np.zeros(shape, dtype=bool))


def outputs_of_margin(margin: np.ndarray, labels: np.ndarray, classes: int = 2) -> np.ndarray:
    """Return log-probabilities of models with these margins.

    Args:
        margin: (…, records) log-odds of the true class.
        labels: (records,) true class of each record, as an index.
        classes: Number of classes; all but the true one are equally likely.

    Returns:
        (…, records, classes) log-probabilities in single precision.

    Examples:
        >>> np.exp(gl.evidence.outputs_of_margin(np.array([0.0]), np.array([1]))).round(2).tolist()
        [[0.5, 0.5]]
    """
    right = -np.logaddexp(0, -margin)
    wrong = -np.logaddexp(0, margin) - np.log(classes - 1)
    return np.where(np.eye(classes, dtype=bool)[labels], right[..., None], wrong[..., None]).astype(np.float32)
