"""The paper's figures: ROC curves, and the losses that each test compares a record's loss with."""

from __future__ import annotations

import numpy as np

import guestlist as gl
from guestlist.evaluate import roc
from papers.hypothesis_tests.tables import SMOOTHED
from papers.svg import Axes, grid, histogram, lines

LEVEL = 0.1
SMALLEST = 1e-6  # losses below it are drawn as this


def curves(cases: dict[str, gl.Case]) -> str:
    """Figure 3: ROC of S, P, R and D on one target of each configuration, on linear and on logarithmic axes."""
    rows = []
    for name, case in cases.items():
        found = {test: _roc(case, attack) for test, attack in SMOOTHED.items()}
        labels = {"x_label": "false-positive rate", "y_label": "true-positive rate"}
        low = 10.0 ** np.floor(np.log10(1 / (case.truth.asked & ~case.truth.member).sum()))
        rows.append([
            lines(name, found, Axes(**labels)),
            lines(f"{name}, logarithmic", found, Axes((low, 1), (low, 1), log=True, **labels)),
        ])  # fmt: skip
    return grid(rows)


def losses(case: gl.Case) -> str:
    """Figure 1: for two members of one class, what each test compares with, its threshold, and the target's loss."""
    rows = []
    for record, kind in zip(two_members(case), ("an easy member", "a hard member"), strict=True):
        seen = compared(case, record)
        loss = np.log10(max(case.view.target("loss")[record], SMALLEST))
        row = []
        for test, values in seen.items():
            values = np.log10(np.maximum(values, SMALLEST))
            marks = {"target": loss, f"level {LEVEL:g}": float(np.quantile(values, LEVEL))}
            axes = Axes((-6, 2), (0, 0.5), "log10 of the loss", "share")
            row.append(histogram(f"{test}, {kind}", values, marks, axes))
        rows.append(row)
    return grid(rows)


def two_members(case: gl.Case) -> tuple[int, int]:
    """An easy and a hard member of the class that has most: by the references' mean margin when they lack it."""
    members = np.flatnonzero(case.truth.member)
    labels = case.view.labels[members]
    of_class = members[labels == np.bincount(labels).argmax()]
    order = of_class[np.argsort(case.view.outside("margin").mean[of_class])]
    return int(order[int(0.8 * len(order))]), int(order[int(0.2 * len(order))])


def compared(case: gl.Case, record: int) -> dict[str, np.ndarray]:
    """Losses that non-members would have, as each test sees them."""
    signals = case.view
    of_class = signals.labels == signals.labels[record]
    outside = ~signals.reference_member
    distilled = signals.evidence.need("distilled")
    return {
        "S": signals.reference("loss")[:, of_class][outside[:, of_class]],
        "P": signals.target("loss")[signals.population],
        "R": signals.reference("loss")[outside[:, record], record],
        "D": distilled.values["loss"][~distilled.member[:, record], record],
    }


def _roc(case: gl.Case, attack: str) -> tuple[np.ndarray, np.ndarray]:
    found = roc(gl.ATTACKS[attack].score(case.view)[case.truth.asked], case.truth.member[case.truth.asked])
    return found.fpr, found.tpr
