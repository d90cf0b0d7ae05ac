"""Attacks that are hypothesis tests: their realised false positive rate compared with the nominal level."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from guestlist.attacks import Attack
from guestlist.attacks.hypotheses import population_p_value
from guestlist.case import Case
from guestlist.collecting.evidence.table import with_perfect_fit
from guestlist.evaluate import Estimate, rates_at_level
from guestlist.findings.luck import SHARES, SIGNIFICANCE_LEVEL
from guestlist.views.signals import Signals

ALPHAS = (0.01, 0.05, 0.1, 0.3)
# What a model says about a record that it fits without fault: nothing looks more like a member. (The margin of such a
# model is infinite; a number far beyond any margin gives the same p-value, to all that levels resolve.)
_FAULTLESS = {"loss": 0.0, "margin": 1e9, "p_y": 1.0, "correct": 1.0, "entropy": 0.0, "mentr": 0.0}


@dataclass(frozen=True)
class Level:
    """Realised rates of a test with a nominal false-positive rate of ``alpha``.

    ``adjusted_fpr_low`` is the lower end of an interval that is corrected for the number of levels tested.
    """

    alpha: float
    fpr: Estimate
    tpr: Estimate
    adjusted_fpr_low: float | None = None

    @property
    def exceeds_nominal(self) -> bool:
        """Evidence that the false positive rate exceeds the nominal level."""
        return self.fpr.low > self.alpha and (self.adjusted_fpr_low is None or self.adjusted_fpr_low > self.alpha)


@dataclass(frozen=True)
class HypothesisTest:
    """An attack with p-values, compared with its nominal levels.

    ``levels`` omit those that are smaller than any p-value the attack could have given; there are none without p-values.
    ``needs_population``: the test estimates its null distribution from records that are not evaluated.
    """

    name: str
    levels: tuple[Level, ...]
    needs_population: bool


def find(case: Case) -> tuple[HypothesisTest, ...]:
    """Measure the realised rates of every attack that is a test."""
    evaluated = case.truth.evaluated
    member = case.truth.member_evaluated
    tests = {name: attack for name, attack in case.attacks.items() if attack.p_value}
    levels = {
        name: levels_of(tests[name], values, case.view, evaluated, member, case.persons)
        for name, values in case.p_values.items()
    }
    error = SIGNIFICANCE_LEVEL * SHARES["promises"] / max(sum(map(len, levels.values())), 1)
    adjusted = {
        name: tuple(_adjusted(level, case.p_values[name][evaluated], member, error, case.persons) for level in some)
        for name, some in levels.items()
    }
    return tuple(
        HypothesisTest(name, adjusted.get(name, ()), attack.p_value is population_p_value)
        for name, attack in tests.items()
    )


def levels_of(
    attack: Attack,
    p_values: np.ndarray,
    view: Signals,
    evaluated: np.ndarray,
    member: np.ndarray,
    persons: np.ndarray | None = None,
) -> tuple[Level, ...]:
    """Measure the realised rates of a test at each of ``ALPHAS`` that it can reach.

    Args:
        attack: The test.
        p_values: (records,) of the whole pool.
        view: The adversary's view.
        evaluated: (records,) true for the records to evaluate it on.
        member: (evaluated records,) true for members.
        persons: (evaluated records,) person of each record; None without person identifiers.
    """
    smallest = smallest_p_value(attack, view, evaluated)
    return tuple(
        Level(alpha, *rates_at_level(p_values[evaluated], member, alpha, clusters=persons))
        for alpha in ALPHAS
        if alpha >= smallest
    )


def _adjusted(
    level: Level, p_values: np.ndarray, member: np.ndarray, error: float, persons: np.ndarray | None
) -> Level:
    fpr, _ = rates_at_level(p_values, member, level.alpha, clusters=persons, confidence=1 - 2 * error)
    return replace(level, adjusted_fpr_low=fpr.low)


def smallest_p_value(attack: Attack, view: Signals, evaluated: np.ndarray) -> float:
    """Return the smallest p-value that an evaluated record could have had: 1 / 9 for a share of eight references.

    It is the test's p-value for a target that fits every evaluated record perfectly.
    """
    perfect = {}
    for name in _FAULTLESS.keys() & set(attack.needs):
        row = view.target(name)
        perfect[name] = np.where(evaluated & ~np.isnan(row), _FAULTLESS[name], row)
    best = view.with_target(perfect, with_perfect_fit(view.evidence))
    assert attack.p_value is not None
    return float(np.nanmin(attack.p_value(best)[evaluated]))
