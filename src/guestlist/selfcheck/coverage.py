"""Coverage of 95 % confidence intervals, in simulations with a known truth.

Scores are normal, with a mean of 1 for members and 0 for non-members, so every metric has a closed form.
The mean score of members varies over targets, as it does over models. In some simulations persons have several records, or
scores are 0 and 1, as those of correct and wrong predictions. In one, records of a finite pool are easy or hard, and the truth
is the false positive rate of one of them, which is not the rate over all.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from guestlist._findings import count_flags
from guestlist.metrics import (
    Estimate,
    advantage,
    auc,
    auc_difference,
    balanced_accuracy,
    pooled_auc,
    pooled_tpr_at_fpr,
    positive_predictive_value,
    proportion,
    tpr_at_fpr,
)
from guestlist.selfcheck.simulations import FinitePool, Visits

SHIFT = 1.0
# Standard deviation over targets of the shift of members, and correlation of two attacks on one target.
MODEL_EFFECT = 0.3
CORRELATION = 0.5
TARGETS = 8
RECORDS = 400
# Probabilities of a score of 1.
RIGHT_MEMBERS = 0.98
RIGHT_NONMEMBERS = 0.03
# An interval fails if its coverage is significantly below this level; it may be conservative.
LOWEST_COVERAGE = 0.93
DOUBT = 0.001


@dataclass(frozen=True)
class Coverage:
    """Number of ``repeats`` samples in which an interval of level ``nominal`` covers the truth."""

    name: str
    truth: float
    covered: int
    repeats: int
    nominal: float = 0.95

    @property
    def share(self) -> float:
        return self.covered / self.repeats

    @property
    def calibrated(self) -> bool:
        """True if the counts are consistent with a coverage of at least 93 %."""
        return bool(binom.cdf(self.covered, self.repeats, LOWEST_COVERAGE) > DOUBT)


@dataclass(frozen=True)
class IntervalSimulation:
    """A metric with a known truth: ``interval`` draws one sample and estimates the metric from it."""

    interval: Callable[[np.random.Generator], Estimate]
    truth: float


def interval_simulations() -> dict[str, IntervalSimulation]:
    """Return the intervals that an audit reports, each with its truth."""
    tpr = {fpr: float(ndtr(ndtri(fpr) + SHIFT)) for fpr in (0.01, 0.05)}
    best = float(2 * ndtr(SHIFT / 2) - 1)
    deviation = np.sqrt(1 + MODEL_EFFECT**2)
    visits = Visits(shift=SHIFT)
    pool = FinitePool()
    return {
        "auc": IntervalSimulation(lambda rng: auc(*_one_attack(rng)), float(ndtr(SHIFT / np.sqrt(2)))),
        "auc_difference": IntervalSimulation(lambda rng: auc_difference(*_two_attacks(rng)), 0.0),
        "tpr_at_fpr, 1 %": IntervalSimulation(lambda rng: tpr_at_fpr(*_one_attack(rng, 2000), 0.01), tpr[0.01]),
        "tpr_at_fpr, 5 %": IntervalSimulation(lambda rng: tpr_at_fpr(*_one_attack(rng), 0.05), tpr[0.05]),
        "advantage": IntervalSimulation(lambda rng: advantage(*_one_attack(rng), SHIFT / 2), best),
        "balanced_accuracy": IntervalSimulation(
            lambda rng: balanced_accuracy(*_one_attack(rng), SHIFT / 2), (1 + best) / 2
        ),
        "positive_predictive_value": IntervalSimulation(
            lambda rng: positive_predictive_value(*_one_attack(rng), 0.05, 0.5), tpr[0.05] / (tpr[0.05] + 0.05)
        ),
        "pooled_auc": IntervalSimulation(
            lambda rng: pooled_auc(*_many_targets(rng)), float(ndtr(SHIFT / np.sqrt(2 + MODEL_EFFECT**2)))
        ),
        "pooled_tpr_at_fpr, 5 %": IntervalSimulation(
            lambda rng: pooled_tpr_at_fpr(*_many_targets(rng), 0.05, draws=100),
            float(ndtr((ndtri(0.05) + SHIFT) / deviation)),
        ),
        "auc, persons": IntervalSimulation(lambda rng: _clustered(auc, rng, visits), visits.auc),
        "advantage, persons": IntervalSimulation(lambda rng: _clustered(advantage, rng, visits, SHIFT / 2), best),
        "tpr_at_fpr, 5 %, persons": IntervalSimulation(
            lambda rng: _clustered(tpr_at_fpr, rng, visits, 0.05), tpr[0.05]
        ),
        "auc, 0 and 1": IntervalSimulation(
            lambda rng: auc(*_binary_scores(rng)), (1 + RIGHT_MEMBERS - RIGHT_NONMEMBERS) / 2
        ),
        "positive_predictive_value, 0 and 1": IntervalSimulation(
            lambda rng: positive_predictive_value(*_binary_scores(rng), 0.05, 0.5),
            RIGHT_MEMBERS / (RIGHT_MEMBERS + RIGHT_NONMEMBERS),
        ),
        "false alarms of an easy record, 5 %": IntervalSimulation(
            lambda rng: _false_positive_rate(rng, pool, 0), pool.rates(0.05)[1]
        ),
        "false alarms of a hard record, 5 %": IntervalSimulation(
            lambda rng: _false_positive_rate(rng, pool, -1), pool.rates(0.05)[0]
        ),
    }


def coverage(name: str, *, repeats: int = 400, seed: int = 0) -> Coverage:
    """Count the samples in which the interval ``name`` of :func:`interval_simulations` covers the truth."""
    simulation = interval_simulations()[name]
    covered = 0
    for repeat in range(repeats):
        estimate = simulation.interval(np.random.default_rng([seed, repeat]))
        covered += bool(estimate.low <= simulation.truth <= estimate.high)
    return Coverage(name, simulation.truth, covered, repeats)


def _one_attack(rng: np.random.Generator, records: int = RECORDS) -> tuple[np.ndarray, np.ndarray]:
    member = rng.random(records) < 0.5
    return rng.normal(size=records) + SHIFT * member, member


def _clustered(
    metric: Callable[..., Estimate], rng: np.random.Generator, simulation: Visits, *options: float
) -> Estimate:
    """Compute a metric with an interval that accounts for several records per person."""
    scores, member, persons = simulation.draw(rng)
    return metric(scores, member, *options, clusters=persons)


def _false_positive_rate(rng: np.random.Generator, pool: FinitePool, record: int) -> Estimate:
    """Estimate the false positive rate of one record over models that did not train on it."""
    (flags,) = count_flags(*pool.draw(rng), 0.05)
    return proportion(int(flags.flagged_outside[record]), int(flags.outside[record]))


def _binary_scores(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw scores of 0 and 1.

    Rarely more than 5 % of the non-members score 1, so that a threshold above 0 has an FPR within 5 %.
    """
    member = rng.random(2 * RECORDS) < 0.5
    return (rng.random(2 * RECORDS) < np.where(member, RIGHT_MEMBERS, RIGHT_NONMEMBERS)).astype(np.float64), member


def _two_attacks(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw correlated scores of two equally strong attacks."""
    member = rng.random(RECORDS) < 0.5
    common, *separate = rng.normal(size=(3, RECORDS))
    a, b = (np.sqrt(CORRELATION) * common + np.sqrt(1 - CORRELATION) * noise + SHIFT * member for noise in separate)
    return a, b, member


def _many_targets(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    member = rng.random((TARGETS, RECORDS)) < 0.5
    shift = rng.normal(SHIFT, MODEL_EFFECT, (TARGETS, 1))
    return rng.normal(size=member.shape) + shift * member, member
