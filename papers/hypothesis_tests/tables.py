"""The paper's tables of AUC of each test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

import guestlist as gl
from guestlist.metrics import auc

# The paper's names, and the corresponding attacks. The paper's scores are empirical percentiles, as in our second
# table; the smoothed scores resolve levels below 1 / models.
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


def strength(name: str, cases: Sequence[gl.Case]) -> Strength:
    """Return the AUC of S, P, R and D on every target of a configuration."""
    return Strength(
        configuration=name,
        train_accuracy=tuple(_accuracy(case, case.truth.member) for case in cases),
        test_accuracy=tuple(_accuracy(case, case.truth.evaluated & ~case.truth.member) for case in cases),
        auc=_aucs(cases, SMOOTHED),
        auc_empirical=_aucs(cases, EMPIRICAL),
        realised_fpr={test: _realised(cases, attack) for test, attack in EMPIRICAL.items()},
    )


def _accuracy(case: gl.Case, records: np.ndarray) -> float:
    return float(case.view.target("correct")[records].mean())


def _aucs(cases: Sequence[gl.Case], attacks: Mapping[str, str]) -> dict[str, tuple[float, ...]]:
    return {
        test: tuple(
            float(auc(gl.attacks.ATTACKS[name].score(c.view)[c.truth.evaluated], c.truth.member_evaluated).value)
            for c in cases
        )
        for test, name in attacks.items()
    }


def _realised(cases: Sequence[gl.Case], attack: str) -> dict[str, float]:
    """Return the nominal level to the share of flagged non-members, over all targets."""
    p_values = [
        gl.attacks.ATTACKS[attack].p_value(case.view)[case.truth.evaluated & ~case.truth.member] for case in cases
    ]
    every = np.concatenate(p_values)
    return {f"{level:g}": float((every[~np.isnan(every)] <= level).mean()) for level in LEVELS}
