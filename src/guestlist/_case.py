"""A case: the adversary's view, the truth and plain facts of one audit, with its cover."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np
import pandas as pd

from guestlist._baseline.baseline import Baseline, CrossFitted
from guestlist._collect import UntilWidth
from guestlist._collect.engines.engine import Progress
from guestlist._kernels import frozen_take
from guestlist._util import one_thread, short_repr
from guestlist._views import NO_EVIDENCE, Evidence, Rotation, Signals
from guestlist.attacks import Attack, checked_scores
from guestlist.defences import Training
from guestlist.errors import InputError, NotCollectedError
from guestlist.games import Split
from guestlist.privacy import Claim

MAX_LENGTH = 500  # letters


@dataclass(frozen=True)
class Cover:
    """Cover of a report, as its owner writes it; entries may be empty.

    Args:
        title: of the report, in place of the model's name.
        owner: who answers for the model, or for the audit.
        dataset: what the model was trained on.
        purpose: what the audit, or the model, is for.
        date: of the audit, as you write it. A report reads no clock: equal results give equal pages.
    """

    title: str = ""
    owner: str = ""
    dataset: str = ""
    purpose: str = ""
    date: str = ""

    def __post_init__(self):
        for name, text in self.entries().items():
            if not isinstance(text, str):
                raise InputError(f"Expected the cover's {name}={text!r} to be text.")
            if len(text) > MAX_LENGTH:
                raise InputError(f"The cover's {name} has {len(text)} letters, and a cover has room for {MAX_LENGTH}.")

    def entries(self) -> dict[str, str]:
        """Return the non-empty entries by name."""
        texts = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: text for name, text in texts.items() if text != ""}

    def over(self, other: Cover | None) -> Cover:
        """Return this cover, with empty entries taken from another cover."""
        return self if other is None else replace(other, **self.entries())


def common_cover(covers: Iterable[Cover | None]) -> Cover | None:
    """Return the entries on which all covers agree, without the title; None if there are none."""
    values: dict[str, set[str]] = {}
    for cover in covers:
        for name, texts in ({} if cover is None else cover.entries()).items():
            values.setdefault(name, set()).add(texts)
    same = {name: texts.pop() for name, texts in values.items() if len(texts) == 1 and name != "title"}
    return Cover(**same) if same else None


def notes_with_cover(about: Mapping[str, Any] | None, cover: Cover | None) -> dict[str, Any]:
    """Return the notes for the manifest, including the cover if there is one."""
    if about is not None and not isinstance(about, Mapping):
        raise ValueError(f"Expected about={short_repr(about)} to be names with texts or numbers: {{'owner': 'us'}}.")
    if cover is not None and not isinstance(cover, Cover):
        raise InputError(f"Expected cover={short_repr(cover)} to be gl.Cover(title=…, owner=…, …).")
    return {**(about or {}), **({} if cover is None else {"cover": cover.entries()})}


PRIOR = 0.5
Finding = TypeVar("Finding")
State = Literal["issue", "passed", "not run", "not applicable", "ignored"]
CheckValue = int | float | str


@dataclass(frozen=True)
class Truth:
    """Membership in the target's training set, and the evaluated records, both over the whole pool.

    ``models`` is the same of every model, in the order of the view's; None if it was not stored.
    """

    member: np.ndarray
    evaluated: np.ndarray
    models: Split | None = None

    @property
    def member_evaluated(self) -> np.ndarray:
        """(asked records,) true for members."""
        return self.member[self.evaluated]


@dataclass(frozen=True)
class Check:
    """Outcome of one check.

    Args:
        code: such as ``GL104``; a heading in ``docs/checks.md``.
        state: issue, passed, not run (it could have been, with other inputs), not applicable, or ignored as the user asked.
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
        population: whether more records were given for references to train on.
        trains: whether it is known how references are trained.
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
        name: of the target.
        classes: how many it tells apart; 0 for regression.
        scale: of its answers.
        seed, rate: of the references' training sets.
        fingerprints: of what the numbers depend on.
        answers: (records, classes) what the target answered; of more than two classes (records, 1), the largest of it.
        predictions: whether there was nothing but predictions: no model, and no features.
        until: the interval that was wanted, if references were trained until it was narrow enough.
        drawn: whether members were drawn by us, from one pool.
        training: how the target was trained, as far as it said.
        game: name and options of the game that drew who trains on what.
        claimed: what is promised of the target, if anything is.
        cover: what stands on the cover of the report.
        origin: how the audit was made; None: it is not known.
    """

    name: str
    classes: int
    scale: str
    seed: int = 0
    rate: float = 0.5
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    answers: np.ndarray | None = None
    predictions: bool = False
    until: UntilWidth | None = None
    drawn: bool = False
    training: Training | None = None
    game: Mapping[str, Any] = field(default_factory=dict)
    claimed: Claim | None = None
    cover: Cover | None = None
    origin: Origin | None = None


@dataclass(frozen=True, eq=False)
class Case:
    """One audit to evaluate.

    Args:
        view: the adversary's view of the target, with its evidence.
        truth: over all records of the pool.
        records: one row per record of the pool: ``id``, ``label`` (empty if unknown), ``class``, groups, and
            ``person`` where it is known.
        stand_ins: the references alone, each in turn as a target of the others; None where there are fewer than two.
        attacks: name to attack.
        prior: share of members among the people an attacker asks about.
        checks: those made before there was anything to judge, such as that for duplicates.
        ignore: codes of checks that the user does not want to hear about.
        baseline: how well members are told without the model; None where that was not looked for. No attack is given it.
        owner: evidence that only the model owner has. No attack receives it.
        cross_fitted: what is said of each record of the pool without asking the model. No attack is given it.
        scores: attack to (records,) scores of the whole pool, as :func:`score` returns them; empty before the attacks run.
    """

    view: Signals
    truth: Truth
    records: pd.DataFrame
    stand_ins: Rotation | None
    attacks: Mapping[str, Attack]
    setting: Setting
    prior: float = PRIOR
    checks: tuple[Check, ...] = ()
    ignore: tuple[str, ...] = ()
    baseline: Baseline | None = None
    owner: Evidence = NO_EVIDENCE
    cross_fitted: CrossFitted | None = None
    scores: Mapping[str, np.ndarray] = field(default_factory=dict)

    def evidence(self, name: str) -> Any:
        """One kind of evidence, the adversary's or the owner's; None where it was not collected."""
        part = self.view.evidence.get(name)
        return self.owner.get(name) if part is None else part

    def scored(self) -> Case:
        """Return this case with the scores of its attacks."""
        return replace(self, scores=score(self.view, self.attacks))

    @cached_property
    def evaluated_scores(self) -> dict[str, np.ndarray]:
        """Attack to (asked records,) scores, read-only."""
        return {name: frozen_take(values, self.truth.evaluated) for name, values in self.scores.items()}

    @cached_property
    def p_values(self) -> dict[str, np.ndarray]:
        """Attack to (records,) p-values, of the attacks that have some for the asked records."""
        return p_values_of(self.attacks, self.view, self.truth.evaluated)

    @cached_property
    def persons(self) -> np.ndarray | None:
        """(asked records,) numbers of the persons whose records these are; None where each record stands alone."""
        if "person" not in self.records:
            return None
        return np.unique(self.records["person"].to_numpy()[self.truth.evaluated], return_inverse=True)[1]

    def of(self, find: Callable[[Case], Finding]) -> Finding:
        """Return ``find(self)``, computed once: findings use each other."""
        if find not in self._findings:
            self._findings[find] = find(self)
        return self._findings[find]

    @cached_property
    def _findings(self) -> dict[Hashable, Any]:
        return {}


def score(view: Signals, attacks: Mapping[str, Attack], progress: Progress | None = None) -> dict[str, np.ndarray]:
    """Run the attacks on the adversary's view.

    Args:
        view: the adversary's view of the target.
        attacks: name to attack.
        progress: wraps an iterable and takes ``total=``, as ``tqdm`` does.

    Returns:
        Attack to (records,) scores of the whole pool; a higher score means a likelier member.
    """
    steps = attacks.items() if progress is None else progress(attacks.items(), total=len(attacks))
    with one_thread():  # identical results on any number of cores
        return {name: checked_scores(name, attack.score(view), view.labels.shape) for name, attack in steps}


def p_values_of(attacks: Mapping[str, Attack], view: Signals, evaluated: np.ndarray) -> dict[str, np.ndarray]:
    """(records,) p-values of every attack that has some for the asked records."""
    tests = {name: attack.p_value(view) for name, attack in attacks.items() if attack.p_value}
    return {name: values for name, values in tests.items() if not np.isnan(values[evaluated]).all()}


def signal_of(view: Signals, name: str) -> np.ndarray | None:
    """(records,) a signal of the target; None where targets of this kind have no such signal."""
    try:
        return view.target(name)
    except NotCollectedError:
        return None


def has_labels(case: Case) -> bool:
    """Return whether labels are known; predictions may come without labels."""
    return any(signal_of(case.view, name) is not None for name in ("correct", "residual", "loss"))
