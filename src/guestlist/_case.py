"""One audit as data: the adversary's view, the truth and plain facts, and the cover of its report."""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from guestlist._kernels import frozen_take
from guestlist._util import one_thread, short_repr
from guestlist._views import NO_EVIDENCE, Evidence, Rotation, Signals
from guestlist.attacks import Attack, checked_scores
from guestlist.errors import InputError, NotCollectedError

if TYPE_CHECKING:  # a gate reads checks, and must not wait for pandas
    import pandas as pd

    from guestlist._baseline.baseline import Baseline, CrossFitted
    from guestlist._collect import Progress, TimeSpent, UntilWidth
    from guestlist.defences import Training
    from guestlist.games import Split
    from guestlist.privacy import Claim

MAX_LENGTH = 500  # characters of one entry of a cover


@dataclass(frozen=True)
class Cover:
    """Cover of a report, as its owner writes it; entries may be empty.

    Attributes:
        title: Title of the report, instead of the model's name.
        owner: Person or team responsible for the model or the audit.
        dataset: Training data of the model.
        purpose: Purpose of the audit or the model.
        date: Date of the audit, as you write it. By default the page shows the date on which the audit folder was created.

    Raises:
        InputError: If an entry is not text, or too long for a cover.

    Examples:
        >>> cover = gl.Cover(title="Readmission model", owner="Data science team", date="March 2026")
        >>> cover.entries()
        {'title': 'Readmission model', 'owner': 'Data science team', 'date': 'March 2026'}
    """

    title: str = ""
    owner: str = ""
    dataset: str = ""
    purpose: str = ""
    date: str = ""

    def __post_init__(self):
        for name, text in self.entries().items():
            if not isinstance(text, str):
                raise InputError(f"The cover's {name}={text!r} is not text. Pass a string.")
            if len(text) > MAX_LENGTH:
                raise InputError(
                    f"The cover's {name} has {len(text)} characters; the maximum is {MAX_LENGTH}. Shorten it."
                )

    def entries(self) -> dict[str, str]:
        """Return the non-empty entries by name."""
        return {name: text for name, text in vars(self).items() if text != ""}

    def over(self, other: "Cover | None") -> "Cover":
        """Return this cover, with empty entries taken from another cover."""
        if other is None:
            return self
        return replace(other, **self.entries())


def common_cover(covers: Iterable[Cover | None]) -> Cover | None:
    """Return the entries on which all covers agree, without the title; None if there are none."""
    known = [cover for cover in covers if cover is not None]
    names = [field.name for field in fields(Cover) if field.name != "title"]
    values = {name: {getattr(cover, name) for cover in known} - {""} for name in names}
    same = {name: texts.pop() for name, texts in values.items() if len(texts) == 1}
    if not same:
        return None
    return Cover(**same)


About = Cover | Mapping[str, Any]  # notes on an audit: a cover, or a mapping that may have one under "cover"


def notes_of(about: About | None) -> dict[str, Any]:
    """Return notes as the manifest stores them, the cover as its non-empty entries."""
    if isinstance(about, Cover):
        about = {"cover": about}
    if about is not None and not isinstance(about, Mapping):
        raise ValueError(
            f"about={short_repr(about)} must be gl.Cover(title=…, owner=…), or a dict of texts and numbers."
        )
    notes = dict(about or {})
    cover = notes.pop("cover", None)
    if cover is None:
        return notes
    if not isinstance(cover, Cover):
        raise InputError(f"about={{'cover': {short_repr(cover)}}} is not a cover. Pass gl.Cover(title=…, owner=…).")
    return {**notes, "cover": cover.entries()}


PRIOR = 0.5
Finding = TypeVar("Finding")
T = TypeVar("T")
State = Literal["issue", "passed", "not run", "not applicable", "ignored"]
CheckValue = int | float | str


@dataclass(frozen=True)
class Truth:
    """Membership in the target's training set, and the evaluated records, both over the whole pool.

    ``models`` holds both for every model, in the order of the view's models; None if it was not stored.
    """

    member: np.ndarray
    evaluated: np.ndarray
    models: "Split | None" = None

    @property
    def member_evaluated(self) -> np.ndarray:
        """(evaluated records,) true for members."""
        return self.member[self.evaluated]


@dataclass(frozen=True)
class Check:
    """Outcome of one check.

    Args:
        code: such as ``GL104``; a heading in ``docs/checks_*.md``.
        state: issue, passed, not run (other inputs are needed), not applicable, or ignored by the user.
        values: numbers and names that the message reports.
    """

    code: str
    state: State
    values: Mapping[str, CheckValue]


@dataclass(frozen=True)
class Origin:
    """Origin of an audit.

    Args:
        source: ``command`` (guestlist audit), ``demo``, ``python`` (gl.audit), ``predictions`` or ``game`` (gl.play).
        arguments: keyword arguments to repeat in a call, as source text, such as ``label='income'``.
        flags: options to repeat in a command, such as ``--allow-pickle``.
        population: whether reference models also trained on population records.
        trains: whether the training recipe of the reference models is known.
    """

    source: str
    arguments: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    population: bool = False
    trains: bool = True


@dataclass(frozen=True)
class Setting:
    """Plain facts about an audit.

    Args:
        name: name of the target.
        classes: number of classes; 0 for regression.
        scale: type of the outputs, such as ``logits``.
        seed, rate: seed and inclusion rate of the reference models' training sets.
        fingerprints: digests of the inputs that determine the numbers.
        outputs: (records, classes) outputs of the target; with more than two classes (records, 1), the largest output.
        predictions: whether the audit has only predictions: no model, and no features.
        until: requested interval width, if reference models were trained until it was reached.
        spent: outcome of a budget of minutes, if the audit had one.
        drawn: whether guestlist drew the members from one pool.
        training: description of the target's training, as far as it is known.
        game: name and options of the game that drew the training sets.
        claimed: claimed differential privacy of the target, if any.
        cover: cover of the report.
        origin: call or command that made the audit; None if unknown.
        date: date on which the audit folder was created; empty if unknown.
    """

    name: str
    classes: int
    scale: str
    seed: int = 0
    rate: float = 0.5
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    outputs: np.ndarray | None = None
    predictions: bool = False
    until: "UntilWidth | None" = None
    spent: "TimeSpent | None" = None
    drawn: bool = False
    training: "Training | None" = None
    game: Mapping[str, Any] = field(default_factory=dict)
    claimed: "Claim | None" = None
    cover: Cover | None = None
    origin: Origin | None = None
    date: str = ""


@dataclass(frozen=True, eq=False)
class Scores(Mapping[str, np.ndarray]):
    """Outputs of the attacks: a mapping from each attack to its (records,) scores of the whole pool.

    Args:
        by_attack: attack to (records,) scores; a higher score means a likelier member.
        p_values: attack to (records,) p-values, of the attacks that are hypothesis tests.
    """

    by_attack: Mapping[str, np.ndarray] = field(default_factory=dict)
    p_values: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __getitem__(self, attack: str) -> np.ndarray:
        return self.by_attack[attack]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_attack)

    def __len__(self) -> int:
        return len(self.by_attack)


@dataclass(frozen=True, eq=False)
class Case:
    """One audit to evaluate.

    Attributes:
        view: The adversary's view of the target, with its evidence.
        truth: Membership, over all records of the pool.
        records: One row per record of the pool: ``id``, ``label`` (empty if unknown), ``class``, groups, and
            ``person`` if it is known.
        stand_ins: The reference models, each in turn as a stand-in target of the others; None with fewer than two.
        attacks: Name to attack.
        setting: Plain facts about the audit.
        prior: Share of members among the records that an attacker tests.
        checks: Outcomes of the checks that ran before the evaluation, such as that for duplicates.
        ignore: Codes of checks that the user ignores.
        baseline: Result of the model-free baseline; None if it was not run. No attack receives it.
        owner: Evidence that only the model owner has. No attack receives it.
        cross_fitted: Scores of the model-free baseline for each record of the pool. No attack receives them.
        scores: Scores of the attacks; empty before the attacks run.

    Examples:
        >>> case = gl.testing.leaking_case()
        >>> case.view.values["loss"].shape  # models, the target first, and records
        (11, 400)
        >>> scores = case.evaluated_scores["loss"]
        >>> bool(gl.metrics.auc(scores, case.truth.member).value > 0.7)
        True
    """

    view: Signals
    truth: Truth
    records: "pd.DataFrame"
    stand_ins: Rotation | None
    attacks: Mapping[str, Attack]
    setting: Setting
    prior: float = PRIOR
    checks: tuple[Check, ...] = ()
    ignore: tuple[str, ...] = ()
    baseline: "Baseline | None" = None
    owner: Evidence = NO_EVIDENCE
    cross_fitted: "CrossFitted | None" = None
    scores: Scores = field(default_factory=Scores)

    def evidence(self, name: str) -> Any:
        """Return evidence of one type, the adversary's or the owner's; None if it was not collected."""
        return self.view.evidence.get(name) or self.owner.get(name)

    def scored(self) -> "Case":
        """Return this case with the scores of its attacks."""
        return replace(self, scores=score(self.view, self.attacks))

    @cached_property
    def evaluated_scores(self) -> dict[str, np.ndarray]:
        """Attack to (evaluated records,) scores, read-only."""
        return {name: frozen_take(values, self.truth.evaluated) for name, values in self.scores.items()}

    @cached_property
    def p_values(self) -> dict[str, np.ndarray]:
        """Attack to (records,) p-values, of the attacks that have some for the evaluated records."""
        return {
            name: values
            for name, values in self.scores.p_values.items()
            if not np.isnan(values[self.truth.evaluated]).all()
        }

    @cached_property
    def persons(self) -> np.ndarray | None:
        """(evaluated records,) codes of the record owners; None without person identifiers."""
        if "person" not in self.records:
            return None
        return np.unique(self.records["person"].to_numpy()[self.truth.evaluated], return_inverse=True)[1]

    def of(self, find: "Callable[[Case], Finding]") -> Finding:
        """Return ``find(self)``, computed once: findings use each other."""
        if find not in self._findings:
            self._findings[find] = find(self)
        return self._findings[find]

    @cached_property
    def _findings(self) -> dict[Hashable, Any]:
        return {}


def with_progress(items: Collection[T], progress: "Progress | None") -> Iterable[T]:
    """Return the items, wrapped by a progress function if there is one."""
    if progress is None:
        return items
    return progress(items, total=len(items))


def score(view: Signals, attacks: Mapping[str, Attack], progress: "Progress | None" = None) -> Scores:
    """Run the attacks on the adversary's view, with their hypothesis tests.

    Args:
        view: the adversary's view of the target.
        attacks: name to attack.
        progress: wraps an iterable and takes ``total=``, as ``tqdm`` does.
    """
    scores = {}
    p_values = {}
    with one_thread():  # identical results on any number of cores
        for name, attack in with_progress(attacks.items(), progress):
            scores[name] = checked_scores(name, attack.score(view), view.labels.shape)
            if attack.p_value is not None:
                p_values[name] = attack.p_value(view)
    return Scores(scores, p_values)


def signal_of(view: Signals, name: str) -> np.ndarray | None:
    """Return (records,) a signal of the target; None if targets of this type do not have it."""
    try:
        return view.target(name)
    except NotCollectedError:
        return None


def has_labels(case: Case) -> bool:
    """Return whether labels are known; predictions may come without labels."""
    return any(signal_of(case.view, name) is not None for name in ("correct", "residual", "loss"))
