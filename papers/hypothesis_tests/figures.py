"""Data of the paper's figures: ROC curves, the losses that each test compares with, and thresholds of two tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

import guestlist as gl
from guestlist.metrics import roc
from papers.hypothesis_tests.tables import SMOOTHED
from papers.hypothesis_tests.thresholds import thresholds

LEVEL = 0.1
PAIRS = (("S", "P"), ("R", "D"))  # pairs of tests in Figure 5
MODELS = 32  # number of models of R, and of D, for a threshold
ENDS = (0.02, 0.98)  # quantiles at which the axes of Figure 5 end; dots beyond them are drawn there
SMALLEST = 1e-6  # smaller losses are raised to this
LOG_LOSSES = (-6.0, 2.0)  # ends of the bins of Figure 1
BINS = 24
LOG_RATES = tuple(np.linspace(-3, 0, 31).tolist())  # stored as logarithms, since results have four digits


@dataclass(frozen=True)
class Pair:
    """Two tests on the members of one target, as in Figure 5.

    Args:
        larger: share of the members for which the second test's threshold is larger than the first's.
        called: shares of the members that both flag, only the first, only the second, and neither.
    """

    first: str
    second: str
    level: float
    members: int
    models: int
    larger: float
    called: tuple[float, float, float, float]


@dataclass(frozen=True)
class Curve:
    """True positive rate of one test at given false positive rates, on one target."""

    configuration: str
    test: str
    log10_fpr: tuple[float, ...]
    tpr: tuple[float, ...]


@dataclass(frozen=True)
class Losses:
    """Losses that one test compares a member's loss with: shares per bin of their logarithm, to base 10.

    Args:
        member: "easy" or "hard".
        low, high: ends of the bins.
        target: logarithm of the target's loss.
        threshold: the level's quantile of the logarithms.
    """

    member: str
    test: str
    low: float
    high: float
    shares: tuple[float, ...]
    target: float
    threshold: float


@dataclass(frozen=True)
class Concentration:
    """Standard deviation of the logarithms of the losses that each test compares with, under one of two targets.

    Args:
        members: number of members of both targets.
        median: test to the median over these members.
        smallest: test to the share of these members for which its deviation is the smallest.
    """

    target: str
    members: int
    median: Mapping[str, float]
    smallest: Mapping[str, float]


@dataclass(frozen=True)
class Dots:
    """The target's loss minus the thresholds of two tests, for each member; clipped to ``low`` and ``high``."""

    first: str
    second: str
    low: float
    high: float
    of_first: tuple[float, ...]
    of_second: tuple[float, ...]


def curves(cases: dict[str, gl.Case]) -> list[Curve]:
    """Return Figure 3: ROC curves of S, P, R and D on one target of each configuration."""
    return [
        Curve(name, test, LOG_RATES, _rates(case, attack))
        for name, case in cases.items()
        for test, attack in SMOOTHED.items()
    ]


def losses(case: gl.Case) -> list[Losses]:
    """Return Figure 1: for two members of one class, each test's reference losses and threshold, and the target's loss."""
    easy, hard = two_members(case, case.truth.member)
    return [*_losses(case, easy, "easy"), *_losses(case, hard, "hard")]


def second_target(first: gl.Case, second: gl.Case) -> tuple[list[Losses], list[Concentration]]:
    """Return Figure 2: the same for two members of both targets, under the second, and the deviations under each.

    Raises:
        InputError: the targets have no member in common.
    """
    second_records = {record: row for row, record in enumerate(second.records["id"])}
    in_second = np.array([second_records.get(record, -1) for record in first.records["id"]])
    both = first.truth.member & (in_second >= 0)
    both[both] = second.truth.member[in_second[both]]
    if not both.any():
        raise gl.InputError("The two targets have no member in common. Draw their members from a smaller pool.")
    easy, hard = (int(in_second[record]) for record in two_members(first, both))
    common = np.flatnonzero(both)
    rows = [_concentration("first", first, common), _concentration("second", second, in_second[common])]
    return [*_losses(second, easy, "easy"), *_losses(second, hard, "hard")], rows


def _losses(case: gl.Case, record: int, member: str) -> list[Losses]:
    target = float(np.log10(max(case.view.target("loss")[record], SMALLEST)))
    rows = []
    for test, compared_losses in compared(case, record).items():
        values = _log(compared_losses)
        counts, _ = np.histogram(np.clip(values, *LOG_LOSSES), BINS, LOG_LOSSES)
        shares = tuple((counts / max(len(values), 1)).tolist())
        rows.append(Losses(member, test, *LOG_LOSSES, shares, target, float(np.quantile(values, LEVEL))))
    return rows


def _concentration(target: str, case: gl.Case, records: np.ndarray) -> Concentration:
    deviations = [
        {test: float(_log(values).std()) for test, values in compared(case, int(record)).items()} for record in records
    ]
    tests = list(deviations[0])
    smallest = [min(tests, key=row.__getitem__) for row in deviations]
    return Concentration(
        target=target,
        members=len(records),
        median={test: float(np.median([row[test] for row in deviations])) for test in tests},
        smallest={test: smallest.count(test) / len(smallest) for test in tests},
    )


def _log(values: np.ndarray) -> np.ndarray:
    return np.log10(np.maximum(values, SMALLEST))


def differences(case: gl.Case) -> list[Dots]:
    """Return Figure 5: the target's loss minus the thresholds of two tests, one dot per member."""
    member = case.truth.member
    loss = case.view.target("loss")
    limits = thresholds(case, "SPRD", LEVEL, MODELS)
    rows = []
    for first, second in PAIRS:
        first_values, second_values = (_known(loss - limits[test], member) for test in (first, second))
        low, high = (float(f"{end:.2g}") for end in np.quantile(np.concatenate([first_values, second_values]), ENDS))
        dots = (tuple(np.clip(values, low, high).tolist()) for values in (first_values, second_values))
        rows.append(Dots(first, second, low, high, *dots))
    return rows


def pairs(case: gl.Case) -> list[Pair]:
    """Count the members in the regions of Figure 5."""
    member, loss = case.truth.member, case.view.target("loss")
    limits = {test: _known(limit, member) for test, limit in thresholds(case, "SPRD", LEVEL, MODELS).items()}
    rows = []
    for first, second in PAIRS:
        first_calls, second_calls = (loss[member] <= limits[test] for test in (first, second))
        called = tuple(
            float(where.mean())
            for where in (
                first_calls & second_calls,
                first_calls & ~second_calls,
                ~first_calls & second_calls,
                ~first_calls & ~second_calls,
            )
        )
        larger = float((limits[second] > limits[first]).mean())
        rows.append(Pair(first, second, LEVEL, int(member.sum()), MODELS, larger, called))
    return rows


def two_members(case: gl.Case, candidates: np.ndarray) -> tuple[int, int]:
    """Return an easy and a hard candidate of the largest class, by the mean margin of OUT references."""
    members = np.flatnonzero(candidates)
    labels = case.view.labels[members]
    of_class = members[labels == np.bincount(labels).argmax()]
    order = of_class[np.argsort(case.view.outside("margin").mean[of_class])]
    return int(order[int(0.8 * len(order))]), int(order[int(0.2 * len(order))])


def compared(case: gl.Case, record: int) -> dict[str, np.ndarray]:
    """Return the losses of non-members that each test compares with."""
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


def _rates(case: gl.Case, attack: str) -> tuple[float, ...]:
    evaluated = case.truth.evaluated
    curve = roc(gl.attacks.ATTACKS[attack].score(case.view)[evaluated], case.truth.member[evaluated])
    rates = np.interp(10.0 ** np.array(LOG_RATES), curve.fpr, curve.tpr)
    return tuple(rates.tolist())


def _known(values: np.ndarray, member: np.ndarray) -> np.ndarray:
    """Return (members,) values of the members; none is missing, because every record has enough OUT models."""
    if np.isnan(values[member]).any():
        raise gl.InputError(f"Some member has fewer than {MODELS} models that did not train on it: train more.")
    return values[member]
