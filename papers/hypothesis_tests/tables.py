"""The paper's tables: how well each test tells members apart, and on which records the tests agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import spearmanr

import guestlist as gl
from guestlist.evaluate import auc

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


@dataclass(frozen=True)
class Closeness:
    """How near one set of models comes to models without the record, on the records that have those.

    Args:
        test: that compares the target with these models.
        auc: of the test on these records.
        gap: median over members, and over non-members, of the target's margin minus the models' mean.
        spread: medians of the standard deviation of the models' margins.
        rank_correlation: of the test's scores with attack L's, among members and among non-members.
    """

    test: str
    auc: float
    gap: tuple[float, float]
    spread: tuple[float, float]
    rank_correlation: tuple[float, float]


def closeness(case: gl.Case) -> list[Closeness]:
    """R, D and L side by side: one computation on three sets of models."""
    evidence = case.view.evidence
    sets = {"R": None, "D": evidence.need("distilled"), "L": evidence.need("left_out")}
    attacks = {"R": "reference", "D": "distillation", "L": "leave_one_out"}
    scores = {test: gl.ATTACKS[name].score(case.view) for test, name in attacks.items()}
    chosen = case.truth.asked & ~np.isnan(scores["L"])
    sides = chosen & case.truth.member, chosen & ~case.truth.member
    rows = []
    for test, models in sets.items():
        signals = case.view if models is None else case.view.among(models)
        outside = signals.outside("margin")
        gap, spread = signals.target("margin") - outside.mean, np.sqrt(outside.variance)
        rows.append(
            Closeness(
                test,
                float(auc(scores[test][chosen], case.truth.member[chosen]).value),
                tuple(float(np.nanmedian(gap[side])) for side in sides),
                tuple(float(np.nanmedian(spread[side])) for side in sides),
                tuple(float(spearmanr(scores[test][side], scores["L"][side])[0]) for side in sides),
            )
        )
    return rows


def strength(name: str, cases: Sequence[gl.Case]) -> Strength:
    """AUC of S, P, R and D on every target of a configuration."""
    return Strength(
        configuration=name,
        train_accuracy=tuple(_accuracy(case, case.truth.member) for case in cases),
        test_accuracy=tuple(_accuracy(case, case.truth.asked & ~case.truth.member) for case in cases),
        auc=_aucs(cases, SMOOTHED),
        auc_empirical=_aucs(cases, EMPIRICAL),
        realised_fpr={test: _realised(cases, attack) for test, attack in EMPIRICAL.items()},
    )


def agreement(case: gl.Case, *, level: float, empirical: bool) -> Agreed:
    """Table 2, on the records for which models without them were trained."""
    tests = EMPIRICAL if empirical else SMOOTHED
    attack = "leave_one_out_empirical" if empirical else "leave_one_out"
    without = gl.ATTACKS[attack].p_value(case.view)
    chosen = case.truth.asked & ~np.isnan(without)
    p_values = {"L": without} | {test: gl.ATTACKS[name].p_value(case.view) for test, name in tests.items()}
    calls = {name: (values <= level)[chosen] for name, values in p_values.items()}
    found = gl.agreement(calls, case.truth.member[chosen])
    inside = int(case.truth.member[chosen].sum())
    return Agreed(
        level,
        ("truth", *calls),
        (inside, int(chosen.sum()) - inside),
        len(case.view.evidence.need("left_out").member),
        tuple(map(tuple, found.members)),
        tuple(map(tuple, found.nonmembers)),
    )


def _accuracy(case: gl.Case, records: np.ndarray) -> float:
    return float(case.view.target("correct")[records].mean())


def _aucs(cases: Sequence[gl.Case], attacks: Mapping[str, str]) -> dict[str, tuple[float, ...]]:
    return {
        test: tuple(float(auc(gl.ATTACKS[name].score(c.view)[c.truth.asked], c.truth.of_asked).value) for c in cases)
        for test, name in attacks.items()
    }


def _realised(cases: Sequence[gl.Case], attack: str) -> dict[str, float]:
    """Asked level to the share of non-members that were called, over all targets."""
    p_values = [gl.ATTACKS[attack].p_value(case.view)[case.truth.asked & ~case.truth.member] for case in cases]
    every = np.concatenate(p_values)
    return {f"{level:g}": float((every[~np.isnan(every)] <= level).mean()) for level in LEVELS}
