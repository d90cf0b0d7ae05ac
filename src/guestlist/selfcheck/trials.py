"""What an attack's scores amount to in worlds whose answer is known: figures, and when a figure is a problem.

Each trial makes worlds of one kind, measures something in each, and judges the means. Where nothing leaks, the AUC is one
half; where members stand out, it is not below that, neither over all records nor among the hard or the easy ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import ndtr, stdtrit

from guestlist.arrays.ranks import aucs
from guestlist.attacks import Attack, scores_of_all
from guestlist.selfcheck.scenes import SITUATIONS, Scene, saturated, scene
from guestlist.selfcheck.worlds import (
    DESIGNS,
    Memorising,
    Seed,
    exactly_half,
    gaussian_world,
    memorising_world,
    noise_world,
)
from guestlist.views.signals import Rotation

# Attacks that do not score all targets at once get so many targets of each world, and those that fit a classifier, which
# takes seconds, so many.
TARGETS, LEARNED_TARGETS = 16, 2
SHIFT = 1.0
BEST_AUC = float(ndtr(SHIFT / np.sqrt(2)))
# Mean AUCs may stray this many standard errors from the truth: once in 16,000 checks by chance.
STANDARD_ERRORS = 4.0
CHANCE = 2 * float(ndtr(-STANDARD_ERRORS))
# Honest attacks feel nothing of a design of exact halves, within this: models to tolerance. With 16, the mean of seven
# references of a kind is loose enough for likelihood ratios to prefer the side with more of them (an AUC of .483).
COUNT_TOLERANCES = {64: 0.02, 32: 0.02, 16: 0.04}
TOP = 0.02  # the records that an attacker who wants to be right would call


@dataclass(frozen=True)
class Mean:
    """A mean over worlds, and its standard error."""

    value: float
    error: float
    worlds: int

    @property
    def doubt(self) -> float:
        """How far it may stray by chance: by Student's quantile, as the error itself is known from few worlds."""
        return float(stdtrit(self.worlds - 1, 1 - CHANCE / 2)) * self.error


Problem = Callable[[Mean, Attack], str | None]


@dataclass(frozen=True)
class Trial:
    """Worlds of one kind, and what is measured in them.

    Args:
        make: a seed to a world; the last part of the seed counts them.
        worlds: how many of them, from the number that was asked for.
        measure: figures by name.
        problems: for each figure, what is wrong with its mean, if anything.
        learners: whether shipped attacks that fit a classifier are tried too: for them it takes long.
    """

    make: Callable[[tuple[int, ...]], Any]
    worlds: Callable[[int], int]
    measure: Callable[[Attack, Any], Mapping[str, float]]
    problems: Mapping[str, Problem]
    learners: bool = True

    def takes(self, attack: Attack) -> bool:
        return self.learners or not attack.learns


# -- worlds --------------------------------------------------------------------------------------------------------------


def _noise(seed: tuple[int, ...]) -> Rotation:
    kinds = [(models, design) for models in (8, 16) for design in DESIGNS.values()]
    models, design = kinds[seed[-1] % len(kinds)]
    return noise_world(records=500, models=models, spread=0.5, design=design, seed=seed)


def _halves(models: int, says: Callable, seed: Seed) -> Rotation:
    return noise_world(records=1000, models=models, design=exactly_half, says=says, seed=seed)


def _known(seed: Seed) -> Rotation:
    return gaussian_world(SHIFT, records=2000, models=17, seed=seed)


# -- measures ------------------------------------------------------------------------------------------------------------


def _mean_auc(name: str, attack: Attack, world: Rotation) -> dict[str, float]:
    """Mean AUC over targets; NaN where a target has no scores: a finding."""
    scores = _scores(attack, world)
    return {name: float(aucs(scores, world.member[: len(scores)]).mean())}


def _scores(attack: Attack, world: Rotation) -> np.ndarray:
    """(targets, records) scores of every model as target, or of the first few."""
    if attack.rotates:
        return scores_of_all(attack, world)
    targets = range(min(LEARNED_TARGETS if attack.learns else TARGETS, len(world.member)))
    return np.stack([np.asarray(attack.score(world.facing(k)), dtype=np.float64) for k in targets])


def _auc_of_asked(name: str, attack: Attack, of: Scene) -> dict[str, float]:
    return {name: _auc(attack.score(of.view), of, of.asked)}


def _auc_by_difficulty(name: str, attack: Attack, of: Scene) -> dict[str, float]:
    """Over all records asked about, over the hardest tenth of them and over the easiest."""
    scores = attack.score(of.view)
    hard, easy = np.quantile(of.difficulty[of.asked], [0.1, 0.9])
    return {
        name: _auc(scores, of, of.asked),
        f"{name}, hard": _auc(scores, of, of.asked & (of.difficulty <= hard)),
        f"{name}, easy": _auc(scores, of, of.asked & (of.difficulty >= easy)),
    }


def _auc(scores: np.ndarray, of: Scene, among: np.ndarray) -> float:
    return float(aucs(np.asarray(scores, dtype=np.float64)[None, among], of.member[None, among])[0])


def _among_ordinary(attack: Attack, of: Memorising) -> dict[str, float]:
    scores, rest = _scores(attack, of.world), ~of.memorised
    return {"ordinary": float(aucs(scores[:, rest], of.world.member[: len(scores), rest]).mean())}


def _at_the_top(attack: Attack, of: Memorising) -> dict[str, float]:
    scores = _scores(attack, of.world)
    return {"top": float(np.mean([_members_at_top(*one) for one in zip(scores, of.world.member, strict=False)]))}


def _members_at_top(scores: np.ndarray, member: np.ndarray) -> float:
    """Share of members among the highest scores; those that tie for the last places share them. NaN without a score."""
    scored = ~np.isnan(scores)
    if not scored.any():
        return np.nan
    scores, member = scores[scored], member[scored]
    places = max(1, round(TOP * len(scores)))
    last = np.sort(scores)[-places]
    above, tied = scores > last, scores == last
    return float((member[above].sum() + (places - above.sum()) * member[tied].mean()) / places)


# -- problems ------------------------------------------------------------------------------------------------------------


def _not_a_half(where: str, noise: Mean, attack: Attack) -> str | None:
    if np.isnan(noise.value):
        return f"has no AUC in some world{where}: all scores of a target, or of its members, are missing"
    if abs(noise.value - 0.5) > noise.doubt:
        return f"scores an AUC of {noise.value:.3f} where nothing leaks{where}"
    return None


def _counts(models: int, count: Mean, attack: Attack) -> str | None:
    tolerance = COUNT_TOLERANCES[models] * (2 if attack.learns else 1)  # fewer targets, more chance
    if abs(count.value - 0.5) > tolerance:
        said = f"AUC {count.value:.3f} from that alone, with {models - 1} references"
        return f"looks at how many references trained on a record: {said}"
    return None


def _does_not_rise(where: str, known: Mean, attack: Attack) -> str | None:
    falls = _falls(f"where members stand out{where}", known, attack)
    if falls:
        return falls
    if known.value <= 0.5 + STANDARD_ERRORS * known.error:
        return f"finds nothing, AUC {known.value:.3f}, where members stand out{where}"
    if known.value > BEST_AUC + known.doubt:
        return f"scores an AUC of {known.value:.3f} where no attack can exceed {BEST_AUC:.3f}{where}"
    return None


def _falls(where: str, known: Mean, attack: Attack) -> str | None:
    if known.value < 0.5 - known.doubt:
        return f"falls with membership: AUC {known.value:.3f} {where}; is a sign inverted?"
    return None


def _calls_low_and_high(ordinary: Mean, attack: Attack) -> str | None:
    if ordinary.value < 0.5 - ordinary.doubt:
        return (
            f"falls with membership, AUC {ordinary.value:.3f}, where models are surer and steadier about members: does it call "
            "margins on both sides, or take a spread that is not that of one record over models?"
        )
    return None


def _misses_the_clearest(top: Mean, attack: Attack) -> str | None:
    if top.value < 0.5 - top.doubt:
        return (
            f"ranks non-members first: {top.value:.0%} of its highest scores are members' where models know a tenth of their "
            "records by heart; is its spread taken over IN and OUT references together?"
        )
    return None


# -- the table -----------------------------------------------------------------------------------------------------------

FIGURES = ("noise", "in_count", "known")  # those that every attack has


def _one_in(share: int, fewest: int) -> Callable[[int], int]:
    return lambda worlds: max(fewest, worlds // share)


def _noise_in(name: str) -> Trial:
    figure, where = f"noise, {name}", f", with {SITUATIONS[name].words}"
    return Trial(
        make=lambda seed: scene(name, 0.0, records=600, models=9, seed=seed),
        worlds=_one_in(4, 8),
        measure=partial(_auc_of_asked, figure),
        problems={figure: partial(_not_a_half, where)},
        learners=False,
    )


def _known_in(name: str) -> Trial:
    figure, where = f"known, {name}", f", with {SITUATIONS[name].words}"
    return Trial(
        make=lambda seed: scene(name, SHIFT, records=2000, models=9, seed=seed),
        worlds=_one_in(8, 16),
        measure=partial(_auc_by_difficulty, figure),
        problems={
            figure: partial(_does_not_rise, where),
            f"{figure}, hard": partial(_falls, f"among hard records{where}"),
            f"{figure}, easy": partial(_falls, f"among easy records{where}"),
        },
        learners=False,
    )


def _count_of(models: int, name: str, *, says: Callable = np.asarray, learners: bool = False) -> Trial:
    measure, problems = partial(_mean_auc, name), {name: partial(_counts, models)}
    return Trial(partial(_halves, models, says), _one_in(20, 2), measure, problems, learners)


TRIALS: dict[str, Trial] = {
    "noise": Trial(_noise, lambda n: n // 4 * 4, partial(_mean_auc, "noise"), {"noise": partial(_not_a_half, "")}),
    "in_count": _count_of(64, "in_count", learners=True),
    "in_count, 32 models": _count_of(32, "in_count, 32 models"),
    "in_count, 16 models": _count_of(16, "in_count, 16 models"),
    "in_count, saturated": _count_of(32, "in_count, saturated", says=saturated),
    "known": Trial(_known, _one_in(10, 5), partial(_mean_auc, "known"), {"known": partial(_does_not_rise, "")}),
    **{f"noise, {name}": _noise_in(name) for name in SITUATIONS},
    # Labels that shift tell nothing about what rises.
    **{f"known, {name}": _known_in(name) for name in SITUATIONS if name != "labels"},
    "memorised": Trial(
        make=lambda seed: memorising_world(outliers=False, seed=seed),
        worlds=_one_in(20, 5),
        measure=_among_ordinary,
        problems={"ordinary": _calls_low_and_high},
        learners=False,
    ),
    "memorised outliers": Trial(
        make=lambda seed: memorising_world(outliers=True, models=8, seed=seed),
        worlds=_one_in(20, 5),
        measure=_at_the_top,
        problems={"top": _misses_the_clearest},
        learners=False,
    ),
}
