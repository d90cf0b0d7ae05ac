"""Are the numbers right? Every attack and every interval on worlds whose answer is known.

An attack can be wrong in ways that no user sees: an inverted sign, a score that leaks from the design instead
of the model, records that quietly have no score. Each of the checks here would catch one of them, in
guestlist's own attacks and in a user's function ``(signals) -> scores`` alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from guestlist.attacks import ATTACKS, Attack, select_attacks
from guestlist.collecting.evidence.table import EVIDENCE, missing_evidence
from guestlist.selfcheck.coverage import Coverage, coverage, interval_simulations
from guestlist.selfcheck.promises import contract_violations, wrong_shape
from guestlist.selfcheck.subjects import Subject, subject
from guestlist.selfcheck.trials import FIGURES, TRIALS, Mean, Trial

WORLDS, REPEATS = 160, 1000
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
    worlds, repeats = max(4, round(WORLDS * scale)), max(20, round(REPEATS * scale))
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
