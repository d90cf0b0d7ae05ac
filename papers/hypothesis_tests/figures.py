"""The paper's figures: ROC curves, the losses that each test compares a record's loss with, and two tests' thresholds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import guestlist as gl
from guestlist.metrics import roc
from papers.hypothesis_tests.tables import SMOOTHED
from papers.hypothesis_tests.thresholds import thresholds
from papers.svg import Axes, grid, histogram, lines, scatter

LEVEL = 0.1
PAIRS = (("S", "P"), ("R", "D"))  # of Figure 5
MODELS = 32  # of R and of D, for a threshold
ENDS = (0.02, 0.98)  # quantiles that the axes of Figure 5 end at; what lies beyond is drawn there
SMALLEST = 1e-6  # losses below it are drawn as this


@dataclass(frozen=True)
class Pair:
    """Two tests on the members of one target, as Figure 5 has them.

    Args:
        larger: share of the members for which the second test's threshold is larger than the first's.
        called: shares of the members that both call, the first alone, the second alone, and neither.
    """

    first: str
    second: str
    level: float
    members: int
    models: int
    larger: float
    called: tuple[float, float, float, float]


def curves(cases: dict[str, gl.Case]) -> str:
    """Figure 3: ROC of S, P, R and D on one target of each configuration, on linear and on logarithmic axes."""
    rows = []
    for name, case in cases.items():
        found = {test: _roc(case, attack) for test, attack in SMOOTHED.items()}
        labels = {"x_label": "false-positive rate", "y_label": "true-positive rate"}
        low = 10.0 ** np.floor(np.log10(1 / (case.truth.evaluated & ~case.truth.member).sum()))
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


def differences(case: gl.Case) -> str:
    """Figure 5: the target's loss minus the threshold of one test against the same for another, a dot per member."""
    member, loss = case.truth.member, case.view.target("loss")
    limits = thresholds(case, "SPRD", LEVEL, MODELS)
    panels = []
    for first, second in PAIRS:
        # The second across: where its threshold is the larger, the dot lies above the diagonal, as in the paper.
        labels = (f"loss minus threshold of {test}" for test in (second, first))
        x, y = (_known(loss - limits[test], member) for test in (second, first))
        ends = tuple(float(f"{end:.2g}") for end in np.quantile(np.concatenate([x, y]), ENDS))
        panels.append(scatter(f"{first} and {second}, members", x, y, Axes(ends, ends, *labels)))
    return grid([panels])


def pairs(case: gl.Case) -> list[Pair]:
    """What Figure 5 shows, counted."""
    member, loss = case.truth.member, case.view.target("loss")
    limits = {test: _known(limit, member) for test, limit in thresholds(case, "SPRD", LEVEL, MODELS).items()}
    rows = []
    for first, second in PAIRS:
        one, two = (loss[member] <= limits[test] for test in (first, second))
        called = tuple(float(where.mean()) for where in (one & two, one & ~two, ~one & two, ~one & ~two))
        larger = float((limits[second] > limits[first]).mean())
        rows.append(Pair(first, second, LEVEL, int(member.sum()), MODELS, larger, called))
    return rows


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
    found = roc(
        gl.attacks.ATTACKS[attack].score(case.view)[case.truth.evaluated], case.truth.member[case.truth.evaluated]
    )
    return found.fpr, found.tpr


def _known(values: np.ndarray, member: np.ndarray) -> np.ndarray:
    """(members,) values of the members; all have them, since more models lack each record than a threshold needs."""
    if np.isnan(values[member]).any():
        raise gl.InputError(f"Some member has fewer than {MODELS} models that did not train on it: train more.")
    return values[member]
