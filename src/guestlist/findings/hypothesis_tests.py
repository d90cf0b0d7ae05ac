"""Attacks that are tests: a test promises a rate of false alarms, and this is what it realised."""

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
    """A test that was asked for a false-positive rate of at most ``alpha``: the rates that it realised.

    ``adjusted_fpr_low`` is the lower end of an interval that is corrected for the number of levels tested.
    """

    alpha: float
    fpr: Estimate
    tpr: Estimate
    adjusted_fpr_low: float | None = None

    @property
    def exceeds_nominal(self) -> bool:
        """Whether it is shown to raise more false alarms than it was asked for."""
        return self.fpr.low > self.alpha and (self.adjusted_fpr_low is None or self.adjusted_fpr_low > self.alpha)


@dataclass(frozen=True)
class HypothesisTest:
    """An attack with p-values, held to its promise.

    ``levels`` leave out those that are smaller than any p-value the attack could have given; there are none where it had no
    p-values at all. ``needs_population``: it learns what to expect from records that nobody asks about.
    """

    name: str
    levels: tuple[Level, ...]
    needs_population: bool


def find(case: Case) -> tuple[HypothesisTest, ...]:
    """What every attack that is a test realised."""
    asked, member = case.truth.evaluated, case.truth.member_evaluated
    tests = {name: attack for name, attack in case.attacks.items() if attack.p_value}
    found = {
        name: levels_of(tests[name], values, case.view, asked, member, case.persons)
        for name, values in case.p_values.items()
    }
    error = SIGNIFICANCE_LEVEL * SHARES["promises"] / max(sum(map(len, found.values())), 1)
    found = {
        name: tuple(_with_least(level, case.p_values[name][asked], member, error, case.persons) for level in levels)
        for name, levels in found.items()
    }
    return tuple(
        HypothesisTest(name, found.get(name, ()), attack.p_value is population_p_value)
        for name, attack in tests.items()
    )


def levels_of(
    attack: Attack,
    p_values: np.ndarray,
    view: Signals,
    asked: np.ndarray,
    member: np.ndarray,
    persons: np.ndarray | None = None,
) -> tuple[Level, ...]:
    """What a test realises at each of ``ALPHAS`` that it can reach at all.

    Args:
        p_values: (records,) of the whole pool.
        asked: (records,) the records to judge it by.
        member: the truth about those.
        persons: whose records those are; None where each stands alone.
    """
    reach = smallest_p_value(attack, view, asked)
    own = p_values[asked]
    return tuple(Level(a, *rates_at_level(own, member, a, clusters=persons)) for a in ALPHAS if a >= reach)


def _with_least(
    level: Level, p_values: np.ndarray, member: np.ndarray, error: float, persons: np.ndarray | None
) -> Level:
    fpr, _ = rates_at_level(p_values, member, level.alpha, clusters=persons, confidence=1 - 2 * error)
    return replace(level, adjusted_fpr_low=fpr.low)


def smallest_p_value(attack: Attack, view: Signals, asked: np.ndarray) -> float:
    """The smallest p-value that any asked record could have had: 1 / 9 for a share of eight references.

    It is the test's answer to a target that fits every asked record without fault.
    """
    said = {}
    for name in _FAULTLESS.keys() & set(attack.needs):
        row = view.target(name)
        said[name] = np.where(asked & ~np.isnan(row), _FAULTLESS[name], row)
    best = view.with_target(said, with_perfect_fit(view.evidence))
    assert attack.p_value is not None
    return float(np.nanmin(attack.p_value(best)[asked]))
