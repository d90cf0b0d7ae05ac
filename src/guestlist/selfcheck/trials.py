"""Metrics of an attack in simulations with known ground truth, and the rules for reporting a problem.

Each trial simulates data of one type, measures something in each simulation, and judges the means. Where nothing leaks, the
AUC is 0.5. Where members have larger margins, an attack reaches at least ``FLOOR`` of the AUC of plain loss, or of the
attack that reads the same information; and its AUC is not below 0.5 among the hardest or the easiest records.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import ndtr, stdtrit

from guestlist._kernels import aucs
from guestlist._views import Rotation
from guestlist.attacks import ATTACKS, Attack, score_every_target
from guestlist.selfcheck.scenes import SCENE_VARIANTS, AttackTraits, Scene, saturated, scene, scene_of
from guestlist.selfcheck.simulations import (
    DESIGNS,
    Memorising,
    exactly_half,
    gaussian,
    gaussian_simulation,
    memorising_simulation,
    noise_simulation,
    unbalanced_references,
)

# Number of targets of each simulation for attacks that do not score all targets at once; attacks that fit a classifier,
# which takes seconds, get fewer.
TARGETS = 16
LEARNED_TARGETS = 2
SHIFT = 1.0
BEST_AUC = float(ndtr(SHIFT / np.sqrt(2)))
# Mean AUCs may deviate by this number of standard errors from the truth: once in 16,000 checks by chance.
STANDARD_ERRORS = 4.0
CHANCE = 2 * float(ndtr(-STANDARD_ERRORS))
# Number of models to the tolerance for correct attacks in a design of exact halves. With 16 models, the mean of seven
# references is so imprecise that likelihood ratios prefer the larger of IN and OUT (an AUC of .483).
COUNT_TOLERANCES = {64: 0.02, 32: 0.02, 16: 0.04}
# Share of the AUC of plain loss that an attack must reach with 16 references, over all records. Built-in attacks reach .96 of
# it or more, in each of the simulations.
FLOOR = 0.95
# The same for records with few IN or few OUT references, where even correct likelihood ratios are weak: LiRA with a
# variance per record reaches .88. A constant reaches .72.
FEW_FLOOR = 0.85
# Factor by which members' margins vary more where likelihood ratios are compared with LiRA.
UNSTEADY = 4.0
LIKELIHOOD_RATIO = "lira_pooled"
TOP = 0.02  # share of the records that a cautious attacker would flag


@dataclass(frozen=True)
class Mean:
    """A mean over simulations, and its standard error."""

    value: float
    error: float
    simulations: int

    @property
    def doubt(self) -> float:
        """Largest deviation due to sampling, from Student's t because the error is estimated."""
        return float(stdtrit(self.simulations - 1, 1 - CHANCE / 2)) * self.error


Problem = Callable[[Mean, AttackTraits], str | None]


@dataclass(frozen=True)
class AttackTrial:
    """Simulations of one type, and the metrics measured in them.

    Args:
        make: Function from a seed to a simulation; the last part of the seed counts the simulations.
        simulations: Function from the requested number of simulations to the number of this type.
        measure: Function that returns metrics by name.
        problems: Functions that describe the problem with the mean of each metric, if any.
        learners: True if built-in attacks that fit a classifier are tested too, which takes long.
    """

    make: Callable[[tuple[int, ...]], Any]
    simulations: Callable[[int], int]
    measure: Callable[[AttackTraits, Any], Mapping[str, float]]
    problems: Mapping[str, Problem]
    learners: bool = True


# -- simulations ---------------------------------------------------------------------------------------------------------


def _noise(seed: tuple[int, ...]) -> Rotation:
    kinds = [(models, design) for models in (8, 16) for design in DESIGNS.values()]
    models, design = kinds[seed[-1] % len(kinds)]
    return noise_simulation(records=500, models=models, log_deviation_sd=0.5, design=design, seed=seed)


# -- measures ------------------------------------------------------------------------------------------------------------


def _mean_auc(name: str, traits: AttackTraits, rotation: Rotation) -> dict[str, float]:
    """Return the mean AUC over targets; NaN if a target has no scores, which is a problem."""
    scores = _scores(traits.attack, rotation)
    return {name: float(aucs(scores, rotation.member[: len(scores)]).mean())}


def _mean_auc_and_share(name: str, traits: AttackTraits, rotation: Rotation) -> dict[str, float]:
    """Return the mean AUC over targets, and its share of the comparator's on the same records."""
    scores = _scores(traits.attack, rotation)
    member = rotation.member[: len(scores)]
    compared = score_every_target(ATTACKS[traits.comparator], rotation)[: len(scores)]
    mean_auc = float(aucs(scores, member).mean())
    comparator_auc = float(aucs(np.where(np.isnan(scores), np.nan, compared), member).mean())
    return {name: mean_auc, f"{name}, share": mean_auc / comparator_auc}


def _scores(attack: Attack, rotation: Rotation) -> np.ndarray:
    """Return (targets, records) scores of every model as target, or of the first few."""
    if attack.rotates:
        return score_every_target(attack, rotation)
    limit = LEARNED_TARGETS if attack.learns else TARGETS
    targets = range(min(limit, len(rotation.member)))
    return np.stack([np.asarray(attack.score(rotation.facing(k)), dtype=np.float64) for k in targets])


def _auc_by_difficulty(name: str, traits: AttackTraits, case: Scene) -> dict[str, float]:
    """Measure the AUC over evaluated records, its share of the comparator's, and the AUC by difficulty.

    The AUC is also measured on the hardest and the easiest tenth of the records.
    """
    scores = np.asarray(traits.attack.score(case.view), dtype=np.float64)
    hard, easy = np.quantile(case.difficulty[case.evaluated], [0.1, 0.9])
    metrics = {
        name: _auc(scores, case, case.evaluated),
        f"{name}, share": _share(scores, case, traits.comparator, case.evaluated),
        f"{name}, hard": _auc(scores, case, case.evaluated & (case.difficulty <= hard)),
        f"{name}, easy": _auc(scores, case, case.evaluated & (case.difficulty >= easy)),
    }
    if name == RARE_CLASSES:
        labels = case.view.labels
        rarest = labels == np.argmin(np.bincount(labels))
        metrics[f"{name}, rarest class"] = _share(scores, case, traits.comparator, rarest)
    return metrics


def _shares_by_count(references: int, traits: AttackTraits, case: Scene) -> dict[str, float]:
    """Return the share of the comparator's AUC among records with few IN, and with few OUT, references."""
    scores = np.asarray(traits.attack.score(case.view), dtype=np.float64)
    member = case.view.reference_member
    counts = {"IN": member.sum(axis=0), "OUT": (~member).sum(axis=0)}
    return {
        f"{number} {kind} of {references}": _share(
            scores, case, traits.comparator, np.isin(counts[kind], COUNTS[number])
        )
        for kind in counts
        for number in COUNTS
    }


def _share_of_likelihood_ratio(traits: AttackTraits, case: Scene) -> dict[str, float]:
    """Return the share of LiRA's AUC; 1 for attacks that are not likelihood ratios."""
    if not traits.likelihood_ratio:
        return {"unsteady": 1.0}
    scores = np.asarray(traits.attack.score(case.view), dtype=np.float64)
    return {"unsteady": _share(scores, case, LIKELIHOOD_RATIO, case.evaluated)}


def _share(scores: np.ndarray, case: Scene, comparator: str, chosen: np.ndarray) -> float:
    """Return the AUC among some records, as a share of a built-in attack's AUC on the scored ones of them."""
    scored = chosen & ~np.isnan(scores)
    return _auc(scores, case, scored) / _auc(ATTACKS[comparator].score(case.view), case, scored)


def _auc(scores: np.ndarray, case: Scene, chosen: np.ndarray) -> float:
    return float(aucs(np.asarray(scores, dtype=np.float64)[None, chosen], case.member[None, chosen])[0])


def _among_ordinary(traits: AttackTraits, case: Memorising) -> dict[str, float]:
    scores = _scores(traits.attack, case.rotation)
    ordinary = ~case.memorised
    return {"ordinary": float(aucs(scores[:, ordinary], case.rotation.member[: len(scores), ordinary]).mean())}


def _at_the_top(traits: AttackTraits, case: Memorising) -> dict[str, float]:
    scores = _scores(traits.attack, case.rotation)
    return {"top": float(np.mean(list(map(_members_at_top, scores, case.rotation.member))))}


def _members_at_top(scores: np.ndarray, member: np.ndarray) -> float:
    """Return the share of members among the highest scores, ties averaged; NaN without a score."""
    scored = ~np.isnan(scores)
    if not scored.any():
        return np.nan
    scores = scores[scored]
    member = member[scored]
    size = max(1, round(TOP * len(scores)))
    last = np.sort(scores)[-size]
    above = scores > last
    tied = scores == last
    return float((member[above].sum() + (size - above.sum()) * member[tied].mean()) / size)


# -- problems ------------------------------------------------------------------------------------------------------------


def _not_a_half(where: str, noise: Mean, traits: AttackTraits) -> str | None:
    if np.isnan(noise.value):
        return f"has no AUC in some simulations{where}: all scores of a target, or of its members, are missing"
    if abs(noise.value - 0.5) > noise.doubt:
        return f"scores an AUC of {noise.value:.3f} where nothing leaks{where}"
    return None


def _counts(models: int, count: Mean, traits: AttackTraits) -> str | None:
    tolerance = COUNT_TOLERANCES[models]
    if traits.attack.learns:
        tolerance *= 2  # it scores fewer targets, so that the sampling error is larger
    if abs(count.value - 0.5) > tolerance:
        return (
            f"looks at how many references trained on a record: AUC {count.value:.3f} from that alone, with {models - 1} "
            "references"
        )
    return None


def _does_not_rise(where: str, known: Mean, traits: AttackTraits) -> str | None:
    falls = _below(0.5, FALLS_WITH_MEMBERSHIP, known, traits, where=f" where members stand out{where}")
    if falls:
        return falls
    if known.value <= 0.5 + STANDARD_ERRORS * known.error:
        return f"finds nothing, AUC {known.value:.3f}, where members stand out{where}"
    if known.value > BEST_AUC + known.doubt:
        return f"scores an AUC of {known.value:.3f} where no attack can exceed {BEST_AUC:.3f}{where}"
    return None


def _below(limit: float, text: str, mean: Mean, traits: AttackTraits, where: str = "") -> str | None:
    """Describe a mean that is below a limit, by a text with placeholders."""
    if mean.value < limit - mean.doubt:
        return text.format(value=mean.value, limit=limit, comparator=traits.comparator, where=where)
    return None


FALLS_WITH_MEMBERSHIP = "falls with membership: AUC {value:.3f}{where}. Check the sign of the score."
BELOW_COMPARATOR = "reaches {value:.0%} of the AUC of {comparator}{where}; at least {limit:.0%} are expected"
BELOW_LIRA = (
    f"reaches {{value:.0%}} of the AUC of {LIKELIHOOD_RATIO} where outputs vary more on members than on non-members; at "
    "least {limit:.0%} are expected. Check that it estimates separate variances for IN and OUT references."
)
FLAGS_LOW_AND_HIGH = (
    "falls with membership, AUC {value:.3f}, where models have larger and less variable margins on members. Check that it "
    "flags only large margins, and estimates the standard deviation of one record over models."
)
MISSES_THE_CLEAREST = (
    "ranks non-members first: {value:.0%} of its highest scores are members', where models memorise a tenth of their "
    "records. Check that the standard deviation is not estimated over IN and OUT references together."
)


# -- the table -----------------------------------------------------------------------------------------------------------

COMMON_METRICS = ("noise", "in_count", "known", "known, share")  # measured for every attack
RARE_CLASSES = "known, rare"  # the metric that is also measured within the rarest class
FEW = (7, 32)  # references of a target
# Numbers of references in the smaller of IN and OUT, by name.
COUNTS = {"1": (1,), "2": (2,), "3 or 4": (3, 4)}


def _fraction(share: int, minimum: int) -> Callable[[int], int]:
    return lambda simulations: max(minimum, simulations // share)


def _noise_in(name: str, *, records: int = 600, minimum: int = 8) -> AttackTrial:
    metric = f"noise, {name}"
    return AttackTrial(
        make=lambda seed: scene(name, 0.0, records=records, models=9, seed=seed),
        simulations=_fraction(4, minimum),
        measure=lambda traits, case: {metric: _auc(traits.attack.score(case.view), case, case.evaluated)},
        problems={metric: partial(_not_a_half, f", with {SCENE_VARIANTS[name].words}")},
        learners=False,
    )


def _known_in(name: str) -> AttackTrial:
    metric = f"known, {name}"
    where = f", with {SCENE_VARIANTS[name].words}"
    problems: dict[str, Problem] = {
        metric: partial(_does_not_rise, where),
        f"{metric}, share": partial(_below, FLOOR, BELOW_COMPARATOR, where=where),
        f"{metric}, hard": partial(_below, 0.5, FALLS_WITH_MEMBERSHIP, where=f" among hard records{where}"),
        f"{metric}, easy": partial(_below, 0.5, FALLS_WITH_MEMBERSHIP, where=f" among easy records{where}"),
    }
    if metric == RARE_CLASSES:
        problems[f"{metric}, rarest class"] = partial(
            _below, FEW_FLOOR, BELOW_COMPARATOR, where=" among the records of the rarest class"
        )
    return AttackTrial(
        make=lambda seed: scene(name, SHIFT, records=1000, models=17, seed=seed),
        simulations=_fraction(8, 16),
        measure=partial(_auc_by_difficulty, metric),
        problems=problems,
        learners=False,
    )


def _count_of(models: int, name: str, *, output: Callable = np.asarray, learners: bool = False) -> AttackTrial:
    return AttackTrial(
        make=lambda seed: noise_simulation(records=1000, models=models, design=exactly_half, output=output, seed=seed),
        simulations=_fraction(20, 2),
        measure=partial(_mean_auc, name),
        problems={name: partial(_counts, models)},
        learners=learners,
    )


def _few_of(references: int) -> AttackTrial:
    names = {f"{number} {kind}": f"{number} {kind} of {references}" for kind in ("IN", "OUT") for number in COUNTS}
    options: dict[str, Any] = {"records": 2000, "models": references + 1, "design": unbalanced_references}
    where = f"references among {references}"
    return AttackTrial(
        make=lambda seed: scene_of(*gaussian(SHIFT, seed=seed, **options)),
        simulations=_fraction(16, 12),
        measure=partial(_shares_by_count, references),
        problems={
            metric: partial(_below, FEW_FLOOR, BELOW_COMPARATOR, where=f" on records with {name} {where}")
            for name, metric in names.items()
        },
        learners=False,
    )


TRIALS: dict[str, AttackTrial] = {
    "noise": AttackTrial(
        make=_noise,
        simulations=lambda n: n // 4 * 4,
        measure=partial(_mean_auc, "noise"),
        problems={"noise": partial(_not_a_half, "")},
    ),
    "in_count": _count_of(64, "in_count", learners=True),
    "in_count, 32 models": _count_of(32, "in_count, 32 models"),
    "in_count, 16 models": _count_of(16, "in_count, 16 models"),
    "in_count, saturated": _count_of(32, "in_count, saturated", output=saturated),
    "known": AttackTrial(
        make=lambda seed: gaussian_simulation(SHIFT, records=2000, models=17, seed=seed),
        simulations=_fraction(10, 5),
        measure=partial(_mean_auc_and_share, "known"),
        problems={"known": partial(_does_not_rise, ""), "known, share": partial(_below, FLOOR, BELOW_COMPARATOR)},
    ),
    **{f"noise, {name}": _noise_in(name) for name in SCENE_VARIANTS},
    # A bonus for frequent classes is small where members' classes differ, so that more records are needed to detect it.
    "noise, frequencies": _noise_in("frequencies", records=1200, minimum=16),
    # Where labels shift with membership, a rising score does not show that the attack reads outputs.
    **{f"known, {name}": _known_in(name) for name in SCENE_VARIANTS if "tilt" not in SCENE_VARIANTS[name].options},
    **{f"few of {references}": _few_of(references) for references in FEW},
    "unsteady": AttackTrial(
        make=lambda seed: scene_of(*gaussian(SHIFT, records=500, models=17, unsteady=UNSTEADY, seed=seed)),
        simulations=_fraction(8, 16),
        measure=_share_of_likelihood_ratio,
        problems={"unsteady": partial(_below, FLOOR, BELOW_LIRA)},
        learners=False,
    ),
    "memorised": AttackTrial(
        make=lambda seed: memorising_simulation(outliers=False, seed=seed),
        simulations=_fraction(20, 5),
        measure=_among_ordinary,
        problems={"ordinary": partial(_below, 0.5, FLAGS_LOW_AND_HIGH)},
        learners=False,
    ),
    "memorised outliers": AttackTrial(
        make=lambda seed: memorising_simulation(outliers=True, models=8, seed=seed),
        simulations=_fraction(20, 5),
        measure=_at_the_top,
        problems={"top": partial(_below, 0.5, MISSES_THE_CLEAREST)},
        learners=False,
    ),
}
