"""The contract of attacks and intervals, tested on simulations."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np
from scipy.special import log_softmax

from guestlist._case import with_progress
from guestlist._util import number, reason
from guestlist._views import FullOutputsView, Signals
from guestlist.attacks import ATTACKS, Attack, checked_scores, select_attacks
from guestlist.errors import InputError, MissingEvidenceError
from guestlist.evidence import EVIDENCE, missing_evidence
from guestlist.selfcheck.coverage import Coverage, coverage, interval_simulations
from guestlist.selfcheck.scenes import (
    SCENE_VARIANTS,
    SIZES,
    AttackTraits,
    Scene,
    attack_traits,
    ignores_references_where_saturated,
    scene_of,
    small_scene,
)
from guestlist.selfcheck.simulations import gaussian, gaussian_simulation
from guestlist.selfcheck.trials import COMMON_METRICS, TRIALS, AttackTrial, Mean

# One target of each simulation; every record has IN and OUT references, so every record can be scored.
TARGETS = ("plain", "awkward")
# Saturated outputs: margins clipped at a maximum, and probabilities that are exactly 0 or 1.
SATURATED = ("saturated", "exact")


def wrong_shape(attack: Attack, seed: int) -> str | None:
    """Describe a wrong shape of the scores; None if there is one per record."""
    view = small_scene(TARGETS[0], seed).view
    shape = np.shape(attack.score(view))
    if shape == view.labels.shape:
        return None
    return f"gives scores shaped {shape} for {len(view.labels)} records"


def contract_violations(attack: Attack, seed: int) -> list[str]:
    """Return the violations of the contract on a plain target and on an awkward one."""
    plain, awkward = (_violations(attack, name, seed) for name in TARGETS)
    words = SCENE_VARIANTS["awkward"].words
    problems = plain + [f"{problem}, with {words}" for problem in awkward if problem not in plain]
    if attack.learns:  # its random initialisation depends on the classes, and fitting it again takes seconds
        return problems
    first, second = _numbered_twice(seed)
    if not _close(attack.score(first.view), attack.score(second.view)):
        problems.append("depends on how the classes are numbered")
    for name in SATURATED:
        if ignores_references_where_saturated(attack, small_scene(name, seed)):
            problems.append(
                "ignores the references of records with saturated outputs, although it compares other records with "
                f"theirs, with {SCENE_VARIANTS[name].words}"
            )
            break
    return problems


@lru_cache(maxsize=1)
def _numbered_twice(seed: int) -> tuple[Scene, Scene]:
    """Return one target with two numberings of its classes, otherwise identical."""
    simulated, together = gaussian(1.0, seed=seed, **SCENE_VARIANTS["classes"].options, **SIZES)
    other = replace(simulated, labels=(simulated.labels + 1) % simulated.classes)
    return scene_of(simulated, together), scene_of(other, together)


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
    """Return (records,) true for records that an attack should score: its evidence does not contain their membership."""
    known = EVIDENCE[attack.evidence].known_membership if attack.evidence in EVIDENCE else None
    if known is None:
        return np.ones(len(signals.labels), dtype=bool)
    return ~known(signals.evidence.need(attack.evidence))


def _reordered(signals: Signals, order: np.ndarray) -> Signals:
    return replace(
        signals,
        values={name: matrix[np.r_[0, 1 + order]] for name, matrix in signals.values.items()},
        reference_member=signals.reference_member[order],
        evidence=signals.evidence.take_references(order),
    )


def _close(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.allclose(a, b, rtol=1e-6, atol=1e-8, equal_nan=True))


SIMULATIONS = 160
REPEATS = 1000
LEARNED = 1 / 16  # share of the simulations for attacks that fit a classifier, which takes seconds per target
_MAX_REFERENCES = 7  # references of a target in the smallest simulations


@dataclass(frozen=True)
class AttackCheck:
    """Results of the checks of one attack.

    Args:
        noise: AUC where nothing leaks, over simulations of 8 and 16 models and all designs; should be 0.5.
        in_count: AUC on noise where only the number of IN references reveals membership; should be 0.5.
        known: AUC where members' margins are one standard deviation larger; between 0.5 and ``BEST_AUC``.
        share: The same AUC as a share of the comparator's; at least ``FLOOR``.
        comparator: Name of the built-in attack that reads the same information, ``loss`` for most.
        others: Metrics of all other simulations, by the names in ``TRIALS``.
        problems: Descriptions of problems; empty if the attack is calibrated.
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
        return all(check.calibrated for check in self.attacks) and all(
            interval.calibrated for interval in self.intervals
        )


def selftest(
    attacks: Sequence[str | Callable] | None = None,
    *,
    intervals: bool = True,
    scale: float = 1.0,
    seed: int = 0,
    progress: Callable | None = None,
) -> SelfTest:
    """Run attacks and intervals on simulations with known ground truth.

    All of them take some minutes, a single attack takes seconds.

    Args:
        attacks: Names from ``ATTACKS``, or functions ``(signals) -> scores``; by default all whose evidence can be
            simulated. No K-NN models and no trees are simulated, only outputs.
        intervals: Also check the intervals.
        scale: Factor for the number of simulations and samples, and for the time; more of them find smaller faults.
        seed: Random seed of the simulations.
        progress: Function that wraps an iterable and takes ``total=``.
    """
    number("scale", scale, 0)
    evidence = {name for name, kind in EVIDENCE.items() if kind.simulate}
    if attacks is None:
        attacks = [name for name, attack in ATTACKS.items() if not attack.evidence or attack.evidence in evidence]
    chosen = select_attacks(attacks, _MAX_REFERENCES, evidence, missing_evidence())
    checks = check_attacks(chosen, max(4, round(SIMULATIONS * scale)), seed, progress)
    if not intervals:
        return SelfTest(checks, ())
    repeats = max(20, round(REPEATS * scale))
    names = with_progress(interval_simulations(), progress)
    return SelfTest(checks, tuple(coverage(name, repeats=repeats, seed=seed) for name in names))


def check_attacks(
    attacks: Mapping[str, Attack], simulations: int = SIMULATIONS, seed: int = 0, progress: Callable | None = None
) -> tuple[AttackCheck, ...]:
    """Run every check of some attacks; each simulation is drawn once, for all of them.

    An attack that raises, or whose scores have the wrong shape, fails and the others continue.
    """
    problems: dict[str, list[str]] = {name: [] for name in attacks}
    metrics: dict[str, dict[str, list[float]]] = {name: {} for name in attacks}
    broken: set[str] = set()
    traits: dict[str, AttackTraits] = {}

    def attempt(name: str, check: Callable[[], list[str]]) -> None:
        try:
            problems[name].extend(check())
        except Exception as error:  # a custom attack may raise anything; the self-test reports it and continues
            broken.add(name)
            problems[name] = [f"raised {type(error).__name__}: {error}"]
            metrics[name] = {}
            traits.pop(name, None)

    def check_contract(name: str) -> list[str]:
        shape = wrong_shape(attacks[name], seed)
        if shape is None:
            traits[name] = attack_traits(attacks[name], seed)
            return contract_violations(attacks[name], seed)
        broken.add(name)
        return [shape]

    def measure(name: str, trial: AttackTrial, simulation: object) -> list[str]:
        for metric, value in trial.measure(traits[name], simulation).items():
            metrics[name].setdefault(metric, []).append(value)
        return []

    for name in attacks:
        attempt(name, partial(check_contract, name))
    few = max(4, round(simulations * LEARNED))
    limits = {name: few if attack.learns else simulations for name, attack in attacks.items()}
    runs = [(trial, index) for trial in TRIALS.values() for index in range(trial.simulations(simulations))]
    for trial, index in with_progress(runs, progress):
        # Attacks that learn take only the first few simulations, since fitting takes seconds.
        able = [name for name in attacks if name not in broken and index < trial.simulations(limits[name])]
        able = [name for name in able if trial.learners or not attacks[name].learns]
        if not able:
            continue
        simulation = trial.make((seed, index))
        for name in able:
            attempt(name, partial(measure, name, trial, simulation))
    return tuple(
        _judged(name, traits.get(name, AttackTraits(attack)), problems[name], metrics[name])
        for name, attack in attacks.items()
    )


NOTHING = Mean(np.nan, np.nan, 0)  # of an attack that failed


def _judged(name: str, traits: AttackTraits, problems: list[str], values: Mapping[str, list[float]]) -> AttackCheck:
    means = {metric: _mean(samples) for metric, samples in values.items()}
    judges = {metric: judge for trial in TRIALS.values() for metric, judge in trial.problems.items()}
    # Entropies are small where a model is confident and wrong, so they correctly fall on members among hard records.
    judged = [metric for metric in means if not (traits.comparator == "entropy" and metric.endswith("hard"))]
    verdicts = [judges[metric](means[metric], traits) for metric in judged]
    return AttackCheck(
        name=name,
        noise=means.get("noise", NOTHING),
        in_count=means.get("in_count", NOTHING),
        known=means.get("known", NOTHING),
        share=means.get("known, share", NOTHING),
        comparator=traits.comparator,
        others={metric: mean for metric, mean in means.items() if metric not in COMMON_METRICS},
        problems=(*problems, *filter(None, verdicts)),
    )


def _mean(values: list[float]) -> Mean:
    return Mean(float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values))), len(values))


def try_custom_attacks(
    attacks: Mapping[str, Attack],
    labels: np.ndarray,
    references: int,
    signals: Collection[str] | None = None,
    population: np.ndarray | None = None,
    *,
    unmade: bool = False,
) -> None:
    """Run the custom ones of some attacks on simulated signals of the same shape.

    Args:
        attacks: Name to attack.
        labels: (records,) Positions of the true classes.
        signals: Names of the target's signals; by default those of a classifier.
        population: (records,) True for records that are not evaluated.
        unmade: True if the audit has evidence that cannot be simulated, which an attack may read.
    """
    for name, attack in attacks.items():
        if not attack.custom:
            continue
        try:
            scores = attack.score(_simulated_view(labels, references, signals, population))
        except Exception as error:
            if unmade and isinstance(error, MissingEvidenceError):
                continue
            raise InputError(
                f"Attack {name!r} failed on simulated signals ({reason(error)}). Fix the function, then run the self-test "
                "again."
            ) from error
        checked_scores(name, scores, labels.shape)


def _simulated_view(
    labels: np.ndarray, references: int, signals: Collection[str] | None, population: np.ndarray | None
) -> Signals:
    """Return a view with the given labels and number of references, and random full outputs."""
    view = gaussian_simulation(0.0, records=len(labels), models=1 + references).facing(0)
    classes = max(2, int(labels.max(initial=0)) + 1)

    def outputs(rows: int) -> np.ndarray:
        drawn = np.random.default_rng(0).normal(size=(rows, len(labels), classes))
        return log_softmax(drawn, axis=2).astype(np.float32)

    evidence = view.evidence.with_part("full_outputs", FullOutputsView(outputs(references), view.reference_member))
    view = replace(view, labels=labels, population=population, outputs=outputs(1)[0], evidence=evidence)
    if signals is None:
        return view
    values = {"residual": view.values["margin"], **view.values}
    return replace(view, values={name: values[name] for name in signals})
