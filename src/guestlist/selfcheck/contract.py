"""Are the numbers right? Every attack and every interval on worlds whose answer is known.

An attack can be wrong in ways that no user sees: an inverted sign, a score that leaks from the design instead
of the model, records that quietly have no score. Each of the checks here would catch one of them, in
guestlist's own attacks and in a user's function ``(signals) -> scores`` alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import ndtr

from guestlist.arrays.ranks import aucs
from guestlist.attacks import ATTACKS, Attack, named, scores_of_all
from guestlist.collecting.evidence.table import EVIDENCE, missing_evidence
from guestlist.selfcheck.coverage import Coverage, coverage, simulations
from guestlist.selfcheck.worlds import DESIGNS, exactly_half, gaussian_world, noise_world
from guestlist.views.signals import Rotation, Signals

WORLDS, REPEATS = 160, 1000
# Attacks that fit a classifier take seconds per target: they get this share of the worlds, and so many targets of each.
LEARNED, LEARNED_TARGETS = 1 / 16, 4
_MOST_REFERENCES = 7  # of a target in the smallest worlds
SHIFT = 1.0
BEST_AUC = float(ndtr(SHIFT / np.sqrt(2)))
# Mean AUCs may stray this many standard errors from the truth: once in 16,000 checks by chance.
STANDARD_ERRORS = 4.0
# With 64 models honest attacks feel nothing of a design of exact halves, within this.
COUNT_TOLERANCE = 0.02


@dataclass(frozen=True)
class Mean:
    """A mean over worlds, and its standard error."""

    value: float
    error: float


@dataclass(frozen=True)
class AttackCheck:
    """How one attack fared.

    Args:
        noise: AUC where nothing leaks, over worlds of 8 and 16 models and all designs; should be 0.5.
        in_count: AUC on noise where the number of IN references, and nothing else, gives the answer away;
            should be 0.5.
        known: AUC where members' margins are one standard deviation larger; between 0.5 and ``BEST_AUC``.
        problems: what is wrong, in words; empty where the attack is calibrated.
    """

    name: str
    noise: Mean
    in_count: Mean
    known: Mean
    problems: tuple[str, ...]

    @property
    def calibrated(self) -> bool:
        return not self.problems


@dataclass(frozen=True)
class SelfTest:
    """What was checked, attack by attack and interval by interval."""

    attacks: tuple[AttackCheck, ...]
    intervals: tuple[Coverage, ...]

    @property
    def calibrated(self) -> bool:
        return all(check.calibrated for check in self.attacks) and all(one.calibrated for one in self.intervals)


def selftest(
    attacks: Sequence[str | Callable] | None = None,
    *,
    intervals: bool = True,
    scale: float = 1.0,
    seed: int = 0,
    progress: Callable | None = None,
) -> SelfTest:
    """Run attacks and intervals on worlds whose answer is known; about a minute for all of them.

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
    there = {name for name, kind in EVIDENCE.items() if kind.made_up}
    every = [name for name, attack in ATTACKS.items() if not attack.evidence or attack.evidence in there]
    chosen = named(every if attacks is None else attacks, _MOST_REFERENCES, there, missing_evidence())
    worlds, repeats = max(4, round(WORLDS * scale)), max(20, round(REPEATS * scale))
    checks = check_attacks(chosen, worlds, seed, progress)
    simulated = list(simulations()) if intervals else []
    shown = progress(simulated, total=len(simulated)) if progress and simulated else simulated
    return SelfTest(checks, tuple(coverage(name, repeats=repeats, seed=seed) for name in shown))


def check_attacks(
    attacks: Mapping[str, Attack], worlds: int = WORLDS, seed: int = 0, progress: Callable | None = None
) -> tuple[AttackCheck, ...]:
    """Every check of some attacks; each world is made once, for all of them.

    An attack that raises, or whose scores have the wrong shape, fails without the rest.
    """
    problems: dict[str, list[str]] = {}
    found: dict[str, list[list[float]]] = {name: [[], [], []] for name in attacks}
    broken: set[str] = set()

    def attempt(name: str, check: Callable[[], list[str]]) -> None:
        try:
            problems.setdefault(name, []).extend(check())
        except Exception as error:  # an attack from elsewhere may raise anything; that is a finding, not a crash
            broken.add(name)
            problems[name] = [f"raised {type(error).__name__}: {error}"]

    def wrong_shape(name: str) -> list[str]:
        scores, expected = np.shape(attacks[name].score(target)), target.labels.shape
        if scores == expected:
            return _contract(attacks[name], target, seed)
        broken.add(name)
        return [f"gives scores shaped {scores} for {expected[0]} records"]

    def attacked(name: str, figure: int, world: Rotation) -> list[str]:
        found[name][figure].append(_mean_auc(attacks[name], world))
        return []

    target = _target(seed)
    for name in attacks:
        attempt(name, partial(wrong_shape, name))
    # Attacks that learn take the first few of the worlds.
    most = {name: list(map(len, _worlds(_enough(attack, worlds)))) for name, attack in attacks.items()}
    makers = [(figure, index, make) for figure, some in enumerate(_worlds(worlds)) for index, make in enumerate(some)]
    for figure, index, make in progress(makers, total=len(makers)) if progress else makers:
        able = [name for name in attacks if name not in broken and index < most[name][figure]]
        if able:
            world = make(seed=(seed, index))
            for name in able:
                attempt(name, partial(attacked, name, figure, world))
    return tuple(_judged(name, attack, problems[name], name in broken, found[name]) for name, attack in attacks.items())


def _judged(name: str, attack: Attack, problems: list[str], broken: bool, aucs: list[list[float]]) -> AttackCheck:
    if broken:
        nothing = Mean(np.nan, np.nan)
        return AttackCheck(name, nothing, nothing, nothing, tuple(problems))
    noise, count, known = (Mean(float(np.mean(one)), float(np.std(one, ddof=1) / np.sqrt(len(one)))) for one in aucs)
    problems = problems + _noise_problems(noise) + _count_problems(count, attack) + _known_problems(known)
    return AttackCheck(name, noise, count, known, tuple(problems))


def _enough(attack: Attack, worlds: int) -> int:
    return max(4, round(worlds * LEARNED)) if attack.learns else worlds


def _worlds(worlds: int) -> tuple[list[partial], list[partial], list[partial]]:
    """Makers of the worlds for each of the three figures; each takes a seed."""
    small = [partial(noise_world, records=500, models=models, spread=0.5) for models in (8, 16)]
    noise = [partial(made, design=design) for made in small for design in DESIGNS.values()]
    count = partial(noise_world, records=1000, models=64, design=exactly_half)
    known = partial(gaussian_world, SHIFT, records=2000, models=17)
    return noise * (worlds // 4), [count] * max(2, worlds // 20), [known] * max(2, worlds // 10)


def _mean_auc(attack: Attack, world: Rotation) -> float:
    """Mean AUC over targets; NaN where a target has no scores: a finding."""
    scores = np.asarray(_scores(attack, world), dtype=np.float64)
    return float(aucs(scores, world.member[: len(scores)]).mean())


def _scores(attack: Attack, world: Rotation) -> np.ndarray:
    """(targets, records) scores of every model as target, or of the first few."""
    if attack.learns:
        return np.stack([attack.score(world.facing(k)) for k in range(LEARNED_TARGETS)])
    return scores_of_all(attack, world)


def _target(seed: int) -> Signals:
    """One target; every record has references of both kinds, so every record can be scored."""
    return gaussian_world(SHIFT, records=300, models=33, seed=seed).facing(0)


def _contract(attack: Attack, signals: Signals, seed: int) -> list[str]:
    """What every attack promises about one target."""
    rng = np.random.default_rng(seed)
    scores = np.asarray(attack.score(signals), dtype=np.float64)
    problems = []
    silent = np.isnan(scores) & to_score(attack, signals)
    if silent.any():
        problems.append(f"leaves {silent.sum()} of {len(scores)} records without a score")
    records = rng.permutation(len(scores))
    if not _close(attack.score(signals.take(records)), scores[records]):
        problems.append("depends on the order of the records")
    if not _close(attack.score(_reordered(signals, rng.permutation(signals.references))), scores):
        problems.append("depends on the order of the references")
    return problems


def to_score(attack: Attack, signals: Signals) -> np.ndarray:
    """(records,) true for those an attack should score: all but the ones whose membership it was told."""
    told = EVIDENCE[attack.evidence].told if attack.evidence in EVIDENCE else None
    if told is None:
        return np.ones(len(signals.labels), dtype=bool)
    return ~told(signals.evidence.need(attack.evidence))


def _reordered(signals: Signals, order: np.ndarray) -> Signals:
    values = {name: matrix[np.r_[0, 1 + order]] for name, matrix in signals.values.items()}
    return replace(
        signals,
        values=values,
        reference_member=signals.reference_member[order],
        evidence=signals.evidence.among(order),
    )


def _close(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.allclose(a, b, rtol=1e-6, atol=1e-8, equal_nan=True))


def _noise_problems(noise: Mean) -> list[str]:
    if np.isnan(noise.value):
        return ["has no AUC in some world: all scores of a target, or of its members, are missing"]
    if abs(noise.value - 0.5) > STANDARD_ERRORS * noise.error:
        return [f"scores an AUC of {noise.value:.3f} where nothing leaks"]
    return []


def _count_problems(count: Mean, attack: Attack) -> list[str]:
    tolerance = COUNT_TOLERANCE * (2 if attack.learns else 1)  # fewer targets, more chance
    if abs(count.value - 0.5) > tolerance:
        return [f"looks at how many references trained on a record: AUC {count.value:.3f} from that alone"]
    return []


def _known_problems(known: Mean) -> list[str]:
    if known.value < 0.5 - STANDARD_ERRORS * known.error:
        return [f"falls with membership: AUC {known.value:.3f} where members stand out; is a sign inverted?"]
    if known.value <= 0.5 + STANDARD_ERRORS * known.error:
        return [f"finds nothing, AUC {known.value:.3f}, where members stand out"]
    if known.value > BEST_AUC + STANDARD_ERRORS * known.error:
        return [f"scores an AUC of {known.value:.3f} where no attack can exceed {BEST_AUC:.3f}"]
    return []
