"""The paper's tables: how well each test tells members apart, and on which records the tests agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

import guestlist as gl
from guestlist.evaluate import auc
from papers.hypothesis_tests.audits import Case

# The paper's names, and the attacks that we have for them. Its thresholds are percentiles of what was seen, as ours
# are in the second table; the smoothed forms reach below one in the number of models.
SMOOTHED = {"S": "shadow", "P": "loss", "R": "reference", "D": "distillation"}
EMPIRICAL = {**SMOOTHED, "R": "reference_empirical", "D": "distillation_empirical"}
LEVELS = (0.01, 0.05, 0.1, 0.3)


@dataclass(frozen=True)
class Strength:
    """One row: a configuration, and for each target an accuracy or an AUC."""

    configuration: str
    train_accuracy: tuple[float, ...]
    test_accuracy: tuple[float, ...]
    auc: Mapping[str, tuple[float, ...]]
    auc_empirical: Mapping[str, tuple[float, ...]]
    realised_fpr: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Agreed:
    """Shares of records on which two tests say the same; the truth comes first."""

    level: float
    names: tuple[str, ...]
    records: tuple[int, int]
    models: int
    members: tuple[tuple[float, ...], ...]
    nonmembers: tuple[tuple[float, ...], ...]


def strength(name: str, cases: Sequence[Case]) -> Strength:
    """AUC of S, P, R and D on every target of a configuration."""
    return Strength(
        configuration=name,
        train_accuracy=tuple(_accuracy(case, case.member) for case in cases),
        test_accuracy=tuple(_accuracy(case, case.asked & ~case.member) for case in cases),
        auc=_aucs(cases, SMOOTHED),
        auc_empirical=_aucs(cases, EMPIRICAL),
        realised_fpr={test: _realised(cases, attack) for test, attack in EMPIRICAL.items()},
    )


def agreement(case: Case, *, level: float, empirical: bool) -> Agreed:
    """Table 2, on the records for which models without them were trained."""
    tests = EMPIRICAL if empirical else SMOOTHED
    attack = "leave_one_out_empirical" if empirical else "leave_one_out"
    without = gl.ATTACKS[attack].p_value(case.signals)
    chosen = case.asked & ~np.isnan(without)
    p_values = {"L": without} | {test: gl.ATTACKS[name].p_value(case.signals) for test, name in tests.items()}
    calls = {name: (values <= level)[chosen] for name, values in p_values.items()}
    found = gl.agreement(calls, case.member[chosen])
    inside = int(case.member[chosen].sum())
    return Agreed(
        level,
        ("truth", *calls),
        (inside, int(chosen.sum()) - inside),
        len(case.signals.evidence.left_out.member),
        tuple(map(tuple, found.members)),
        tuple(map(tuple, found.nonmembers)),
    )


def _accuracy(case: Case, records: np.ndarray) -> float:
    return float(case.signals.target("correct")[records].mean())


def _aucs(cases: Sequence[Case], attacks: Mapping[str, str]) -> dict[str, tuple[float, ...]]:
    return {
        test: tuple(float(auc(gl.ATTACKS[name].score(c.signals)[c.asked], c.member[c.asked]).value) for c in cases)
        for test, name in attacks.items()
    }


def _realised(cases: Sequence[Case], attack: str) -> dict[str, float]:
    """Asked level to the share of non-members that were called, over all targets."""
    p_values = [gl.ATTACKS[attack].p_value(case.signals)[case.asked & ~case.member] for case in cases]
    every = np.concatenate(p_values)
    return {f"{level:g}": float((every[~np.isnan(every)] <= level).mean()) for level in LEVELS}
