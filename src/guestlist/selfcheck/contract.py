"""The contract of attacks and intervals, tested on simulations."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np
from scipy.special import log_softmax

from guestlist._util import reason
from guestlist._views import FullAnswersView, Signals
from guestlist.attacks import ATTACKS, Attack, checked_scores, select_attacks
from guestlist.errors import InputError, MissingEvidenceError
from guestlist.evidence import EVIDENCE, missing_evidence
from guestlist.selfcheck.coverage import Coverage, coverage, interval_simulations
from guestlist.selfcheck.scenes import (
    SITUATIONS,
    SIZES,
    Scene,
    Subject,
    ignores_references_where_saturated,
    scene_of,
    small_scene,
    subject,
)
from guestlist.selfcheck.simulations import gaussian, gaussian_simulation
from guestlist.selfcheck.trials import FIGURES, TRIALS, Mean, Trial

# One target of each; every record has references of both kinds, so every record can be scored.
TARGETS = ("plain", "awkward")
# Saturated outputs: cut off at some margin, and probabilities that are exactly 0 or 1.
SATURATED = ("saturated", "exact")


def wrong_shape(attack: Attack, seed: int) -> str | None:
    """Describe a wrong shape of the scores; None if there is one per record."""
    view = small_scene(TARGETS[0], seed).view
    shape = np.shape(attack.score(view))
    records = len(view.labels)
    if shape == (records,):
        return None
    return f"gives scores shaped {shape} for {records} records"


def contract_violations(attack: Attack, seed: int) -> list[str]:
    """Return the violations of the contract on a plain target and on an awkward one."""
    plain, awkward = (_violations(attack, name, seed) for name in TARGETS)
    words = SITUATIONS["awkward"].words
    problems = plain + [f"{problem}, with {words}" for problem in awkward if problem not in plain]
    if attack.learns:  # its random start depends on the classes, and to fit it again takes seconds
        return problems
    return problems + _numbering(attack, seed) + _saturated(attack, seed)


def _numbering(attack: Attack, seed: int) -> list[str]:
    """Check that scores do not depend on the numbers of the classes."""
    first, second = _numbered_twice(seed)
    if _close(attack.score(first.view), attack.score(second.view)):
        return []
    return ["depends on how the classes are numbered"]


@lru_cache(maxsize=1)
def _numbered_twice(seed: int) -> tuple[Scene, Scene]:
    """One target with two numberings of its classes, and all else the same."""
    world, together = gaussian(1.0, seed=seed, **SITUATIONS["classes"].options, **SIZES)
    other = replace(world, labels=(world.labels + 1) % world.classes)
    return scene_of(world, together), scene_of(other, together)


def _saturated(attack: Attack, seed: int) -> list[str]:
    """Check that saturated outputs are compared with their references."""
    problem = "ignores the references of records with saturated outputs, although it compares other records with theirs"
    for name in SATURATED:
        if ignores_references_where_saturated(attack, small_scene(name, seed)):
            return [f"{problem}, with {SITUATIONS[name].words}"]
    return []


def _violations(attack: Attack, name: str, seed: int) -> list[str]:
    target = small_scene(name, seed)
    signals = target.view
    rng = np.random.default_rng(seed)
    scores = np.asarray(attack.score(signals), dtype=np.float64)
    problems = []
    silent = np.isnan(scores) & should_be_scored(attack, signals) & target.evaluated
    if silent.any():
        problems.append(f"leaves {silent.sum()} of {len(scores)} records without a score")
    records = rng.permutation(len(scores))
    if not _close(attack.score(signals.take(records)), scores[records]):
        problems.append("depends on the order of the records")
    if not _close(attack.score(_reordered(signals, rng.permutation(signals.references))), scores):
        problems.append("depends on the order of the references")
    return problems


def should_be_scored(attack: Attack, signals: Signals) -> np.ndarray:
    """(records,) true for those an attack should score: all but the ones whose membership it was told."""
    known = EVIDENCE[attack.evidence].known_membership if attack.evidence in EVIDENCE else None
    if known is None:
        return np.ones(len(signals.labels), dtype=bool)
    return ~known(signals.evidence.need(attack.evidence))


def _reordered(signals: Signals, order: np.ndarray) -> Signals:
    values = {name: matrix[np.r_[0, 1 + order]] for name, matrix in signals.values.items()}
    return replace(
        signals,
        values=values,
        reference_member=signals.reference_member[order],
        evidence=signals.evidence.take_references(order),
    )


def _close(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.allclose(a, b, rtol=1e-6, atol=1e-8, equal_nan=True))


WORLDS = 160
REPEATS = 1000
LEARNED = 1 / 16  # the share of the worlds that attacks get which fit a classifier, and take seconds per target
_MOST_REFERENCES = 7  # of a target in the smallest worlds


@dataclass(frozen=True)
class AttackCheck:
    """Results of the checks of one attack.

    Args:
        noise: AUC where nothing leaks, over worlds of 8 and 16 models and all designs; should be 0.5.
        in_count: AUC on noise where the number of IN references, and nothing else, gives the answer away;
            should be 0.5.
        known: AUC where members' margins are one standard deviation larger; between 0.5 and ``BEST_AUC``.
        share: The same AUC as a share of the comparator's; at least ``FLOOR``.
        comparator: Name of the built-in attack that reads the same information, ``loss`` for most.
        others: the figures of all other worlds, by the names in ``TRIALS``.
        problems: what is wrong, in words; empty where the attack is calibrated.
    """

    name: str
    noise: Mean
    in_count: Mean
    known: Mean
    share: Mean
    comparator: str
    others: Mapping[str, Mean]
    problems: tuple[str, ...]

    @property
    def calibrated(self) -> bool:
        return not self.problems


@dataclass(frozen=True)
class SelfTest:
    """Results of all checks, by attack and by interval."""

    attacks: tuple[AttackCheck, ...]
    intervals: tuple[Coverage, ...]

    @property
    def calibrated(self) -> bool:
        return all(check.calibrated for check in self.attacks) and all(held.calibrated for held in self.intervals)


def selftest(
    attacks: Sequence[str | Callable] | None = None,
    *,
    intervals: bool = True,
    scale: float = 1.0,
    seed: int = 0,
    progress: Callable | None = None,
) -> SelfTest:
    """Run attacks and intervals on worlds whose answer is known; some minutes for all of them, seconds for one.

    Args:
        attacks: names from ``ATTACKS``, or functions ``(signals) -> scores``; by default all whose evidence can be made
            up: there are no K-NN models here and no trees, only what models say.
        intervals: whether to check the intervals too.
        scale: multiplies the number of worlds and samples, and with it the time; more of them find smaller faults.
        seed: of the worlds.
        progress: wraps an iterable and takes ``total=``.
    """
    if scale <= 0:
        raise ValueError(f"Expected scale={scale} above 0.")
    there = {name for name, kind in EVIDENCE.items() if kind.simulate}
    every = [name for name, attack in ATTACKS.items() if not attack.evidence or attack.evidence in there]
    chosen = select_attacks(every if attacks is None else attacks, _MOST_REFERENCES, there, missing_evidence())
    worlds = max(4, round(WORLDS * scale))
    repeats = max(20, round(REPEATS * scale))
    checks = check_attacks(chosen, worlds, seed, progress)
    simulated = list(interval_simulations()) if intervals else []
    shown = progress(simulated, total=len(simulated)) if progress and simulated else simulated
    return SelfTest(checks, tuple(coverage(name, repeats=repeats, seed=seed) for name in shown))


def check_attacks(
    attacks: Mapping[str, Attack], worlds: int = WORLDS, seed: int = 0, progress: Callable | None = None
) -> tuple[AttackCheck, ...]:
    """Every check of some attacks; each world is made once, for all of them.

    An attack that raises, or whose scores have the wrong shape, fails without the rest.
    """
    problems: dict[str, list[str]] = {name: [] for name in attacks}
    found: dict[str, dict[str, list[float]]] = {name: {} for name in attacks}
    broken: set[str] = set()
    subjects: dict[str, Subject] = {}

    def attempt(name: str, check: Callable[[], list[str]]) -> None:
        try:
            problems[name].extend(check())
        except Exception as error:  # an attack from elsewhere may raise anything; that is a finding, not a crash
            broken.add(name)
            problems[name] = [f"raised {type(error).__name__}: {error}"]

    def promised(name: str) -> list[str]:
        shape = wrong_shape(attacks[name], seed)
        if shape is None:
            subjects[name] = subject(attacks[name], seed)
            return contract_violations(attacks[name], seed)
        broken.add(name)
        return [shape]

    def tried(name: str, trial: Trial, world: object) -> list[str]:
        for figure, value in trial.measure(subjects[name], world).items():
            found[name].setdefault(figure, []).append(value)
        return []

    for name in attacks:
        attempt(name, partial(promised, name))
    makers = [(trial, index) for trial in TRIALS.values() for index in range(trial.worlds(worlds))]
    for trial, index in progress(makers, total=len(makers)) if progress else makers:
        # Attacks that learn take the first few of the worlds.
        able = [name for name, attack in attacks.items() if trial.takes(attack) and name not in broken]
        able = [name for name in able if index < trial.worlds(_enough(attacks[name], worlds))]
        if not able:
            continue
        world = trial.make((seed, index))
        for name in able:
            attempt(name, partial(tried, name, trial, world))
    return tuple(
        _failed(name, problems[name]) if name in broken else _judged(name, subjects[name], problems[name], found[name])
        for name in attacks
    )


def _failed(name: str, problems: list[str]) -> AttackCheck:
    nothing = Mean(np.nan, np.nan, 0)
    return AttackCheck(
        name=name,
        noise=nothing,
        in_count=nothing,
        known=nothing,
        share=nothing,
        comparator="loss",
        others={},
        problems=tuple(problems),
    )


def _judged(name: str, of: Subject, problems: list[str], values: Mapping[str, list[float]]) -> AttackCheck:
    means = {figure: _mean(some) for figure, some in values.items()}
    judges = {figure: judge for trial in TRIALS.values() for figure, judge in trial.problems.items()}
    said = {figure: judges[figure](mean, of) for figure, mean in means.items()}
    wrong = {figure: text for figure, text in said.items() if text}
    # Entropies are small where a model is sure and wrong, so that they rightly fall on members among hard records.
    if of.comparator == "entropy":
        wrong = {figure: text for figure, text in wrong.items() if not figure.endswith("hard")}
    others = {figure: mean for figure, mean in means.items() if figure not in FIGURES}
    return AttackCheck(
        name=name,
        noise=means["noise"],
        in_count=means["in_count"],
        known=means["known"],
        share=means["known, share"],
        comparator=of.comparator,
        others=others,
        problems=(*problems, *wrong.values()),
    )


def _mean(values: list[float]) -> Mean:
    return Mean(float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values))), len(values))


def _enough(attack: Attack, worlds: int) -> int:
    return max(4, round(worlds * LEARNED)) if attack.learns else worlds


def try_custom_attacks(
    attacks: Mapping[str, Attack],
    labels: np.ndarray,
    references: int,
    signals: Collection[str] | None = None,
    population: np.ndarray | None = None,
    *,
    unmade: bool = False,
) -> None:
    """Run a user's own attacks on made-up signals of the same shape.

    Args:
        labels: (records,) positions of the true classes.
        signals: those that the target gives; by default those of a classifier.
        population: (records,) true for records that are not evaluated.
        unmade: whether the audit has evidence that cannot be made up, which an attack may then ask for here in vain.
    """
    for name, attack in attacks.items():
        if not attack.custom:
            continue
        view = _made_up(labels, references, signals, population)
        try:
            scores = attack.score(view)
        except Exception as error:
            if unmade and isinstance(error, MissingEvidenceError):
                continue
            raise InputError(f"Attack {name!r} failed on made-up signals ({reason(error)}).") from error
        checked_scores(name, scores, labels.shape)


def _made_up(
    labels: np.ndarray, references: int, signals: Collection[str] | None, population: np.ndarray | None
) -> Signals:
    """A view of as many records, classes and references; whole answers as any model might give them."""
    view = gaussian_simulation(0.0, records=len(labels), models=1 + references).facing(0)
    classes = max(2, int(labels.max(initial=0)) + 1)

    def answers(rows: int) -> np.ndarray:
        drawn = np.random.default_rng(0).normal(size=(rows, len(labels), classes))
        return log_softmax(drawn, axis=2).astype(np.float32)

    whole = FullAnswersView(answers(references), view.reference_member)
    evidence = view.evidence.with_part("full_answers", whole)
    view = replace(view, labels=labels, population=population, answers=answers(1)[0], evidence=evidence)
    if signals is None:
        return view
    made = {"residual": view.values["margin"], **view.values}
    return replace(view, values={name: made[name] for name in signals})
