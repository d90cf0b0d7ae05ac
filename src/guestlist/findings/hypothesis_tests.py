"""Attacks that are tests: their p-values, and the levels at which they are held to their promise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from guestlist.attacks import Attack
from guestlist.collecting.evidence.table import without_fault
from guestlist.evaluate import rates_at_level
from guestlist.findings.results import Level
from guestlist.views.signals import Signals

ALPHAS = (0.01, 0.05, 0.1, 0.3)
# What a model says about a record that it fits without fault: nothing looks more like a member. (The margin of such a
# model is infinite; a number far beyond any margin gives the same p-value, to all that levels resolve.)
_FAULTLESS = {"loss": 0.0, "margin": 1e9, "p_y": 1.0, "correct": 1.0, "entropy": 0.0, "mentr": 0.0}


def p_values_of(attacks: Mapping[str, Attack], signals: Signals, asked: np.ndarray) -> dict[str, np.ndarray]:
    """(records,) p-values of every attack that has some for the asked records."""
    tests = {name: attack.p_value(signals) for name, attack in attacks.items() if attack.p_value}
    return {name: values for name, values in tests.items() if not np.isnan(values[asked]).all()}


def levels_of(
    attack: Attack, p_values: np.ndarray, signals: Signals, asked: np.ndarray, member: np.ndarray
) -> tuple[Level, ...]:
    """What a test realises at each of ``ALPHAS`` that it can reach at all.

    Args:
        p_values: (records,) of the whole pool.
        asked: (records,) the records to judge it by.
        member: the truth about those.
    """
    reach = smallest_p_value(attack, signals, asked)
    return tuple(Level(a, *rates_at_level(p_values[asked], member, a)) for a in ALPHAS if a >= reach)


def smallest_p_value(attack: Attack, signals: Signals, asked: np.ndarray) -> float:
    """The smallest p-value that any asked record could have had: 1 / 9 for a share of eight references.

    It is the test's answer to a target that fits every asked record without fault.
    """
    said = {}
    for name in _FAULTLESS.keys() & set(attack.needs):
        row = signals.target(name)
        said[name] = np.where(asked & ~np.isnan(row), _FAULTLESS[name], row)
    best = replace(signals.with_target(said), evidence=without_fault(signals.evidence))
    return float(np.nanmin(attack.p_value(best)[asked]))
