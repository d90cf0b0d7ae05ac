"""Whom false alarms fall on: a rate over all non-members is not the rate of each.

An attack with a threshold for everyone may call the same easy records under every model, and then 5 % false alarms means that
one record in ten is called every other time and the others never. The mock targets show it: each has a threshold that meets the
rate on all of its non-members, and a record is a non-member of about half of them. A record that is called more often than
asked may be so by luck, so it is counted only where the binomial tail says otherwise, and of those that are counted at most one
in twenty is expected to be counted wrongly (Benjamini & Hochberg 1995).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import binom, false_discovery_control

from guestlist.arrays.columns import take_columns
from guestlist.case import Case
from guestlist.evaluate import Resolution, resolution, threshold_at_fpr
from guestlist.findings import headline

FPRS = (0.01, 0.05)
SHOWN_FPR = 0.05  # the one of the table of records
FAR = 2.0  # times the rate that was asked for
Q = 0.05


@dataclass(frozen=True)
class PerRecordFpr:
    """How often records are called by mock targets that did not train on them.

    Args:
        attack: the headline.
        fpr: the share of its non-members that each mock target calls.
        records: those that some mock target did not train on.
        models: how many did not, on average over records.
        rate: mean over records of the share of these that call it.
        spread: standard deviation over records of the rates, beyond what chance would give; 0 where all are alike.
        factor: times ``fpr`` is far above it.
        far: records that are shown to be called so often.
    """

    attack: str
    fpr: float
    records: int
    models: float
    rate: float
    spread: float
    factor: float
    far: int


@dataclass(frozen=True)
class Calls:
    """(records,) how many models call a record, of how many: of those that did not train on it, and of those that did."""

    called_outside: np.ndarray = field(repr=False)
    outside: np.ndarray = field(repr=False)
    called_inside: np.ndarray = field(repr=False)
    inside: np.ndarray = field(repr=False)

    @property
    def per_record_fpr(self) -> np.ndarray:
        """(records,) share of the models without a record that call it; NaN without any."""
        return _shares(self.called_outside, self.outside)

    @property
    def per_record_tpr(self) -> np.ndarray:
        """(records,) share of the models with a record that call it: one minus the flip rate of a call; NaN without any."""
        return _shares(self.called_inside, self.inside)


def find(case: Case) -> tuple[PerRecordFpr, ...] | None:
    """One for each rate that the non-members of every mock target resolve; None where the headline was not tried on any."""
    attack = case.of(headline.find).name
    return tuple(evenness(attack, calls, fpr) for fpr, calls in case.of(calls_at_rates).items()) or None


def shown_calls(case: Case) -> Calls | None:
    """The calls that the table of records shows."""
    return case.of(calls_at_rates).get(SHOWN_FPR)


def calls_at_rates(case: Case) -> Mapping[float, Calls]:
    """Of the asked records, the headline's calls on mock targets, at each rate that the non-members of all of them resolve."""
    scores = case.of(headline.stand_in_scores)
    if scores is None or case.mocks is None:
        return {}
    member = take_columns(case.mocks.member, case.truth.evaluated)
    fewest = int(member.shape[1] - member.sum(axis=1).max())
    fprs = [fpr for fpr in FPRS if resolution(fpr, fewest) is not Resolution.WITHHELD]
    return dict(zip(fprs, calls_on_models(scores, member, *fprs), strict=True))


def calls_on_models(scores: np.ndarray, member: np.ndarray, *fprs: float) -> list[Calls]:
    """Calls at the thresholds of each model that meet each of ``fprs`` on all of its non-members; both are (models, records)."""
    from guestlist.arrays.tallies import flag_counts  # imports numba

    thresholds = np.empty((len(scores), len(fprs)))
    for row, inside, own in zip(scores, member, thresholds, strict=True):
        outside = row[~inside]
        own[:] = [threshold_at_fpr(outside, fpr) for fpr in fprs]
    found = []
    for at_rate in thresholds.T:
        counts = np.zeros((4, scores.shape[1]), dtype=np.int64)
        flag_counts(scores, member, at_rate.copy(), *counts)
        found.append(Calls(*counts))
    return found


def evenness(attack: str, calls: Calls, fpr: float) -> PerRecordFpr:
    """What the calls of records by models that did not train on them amount to."""
    asked = calls.outside > 0
    called, models = calls.called_outside[asked].astype(float), calls.outside[asked].astype(float)
    rate = float((called / models).mean()) if asked.any() else float("nan")
    return PerRecordFpr(
        attack=attack,
        fpr=fpr,
        records=int(asked.sum()),
        models=float(models.mean()) if asked.any() else 0.0,
        rate=rate,
        spread=_spread(called, models),
        factor=FAR,
        far=int(far_above(calls, fpr).sum()),
    )


def far_above(calls: Calls, fpr: float) -> np.ndarray:
    """(records,) true for those that are shown to be called more than ``FAR`` times as often as asked for."""
    asked = calls.outside > 0
    found = np.zeros(len(asked), dtype=bool)
    if asked.any():
        p_value = binom.sf(calls.called_outside[asked] - 1, calls.outside[asked], min(FAR * fpr, 1.0))
        found[asked] = false_discovery_control(p_value) <= Q
    return found


def _spread(called: np.ndarray, models: np.ndarray) -> float:
    """Of the true rates: two calls of one record by two models have the square of its rate as their mean."""
    several = models > 1
    if not several.any():
        return float("nan")
    called, models = called[several], models[several]
    squares = (called * (called - 1) / (models * (models - 1))).mean()
    return float(np.sqrt(max(squares - (called / models).mean() ** 2, 0.0)))


def _shares(called: np.ndarray, models: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # 0 / 0 is NaN: no model
        return called / models
