"""False positive rates of single records: a rate over all non-members is not the rate of each.

An attack with one threshold for all records may flag the same easy records under every model. A false positive rate of 5 % may
then mean that one record in ten is flagged every other time and the others never. Stand-in targets show it: each has a
threshold that meets the rate on all of its non-members, and a record is a non-member of about half of them. A record that is
flagged more often than the nominal rate may be so by chance. It is therefore counted only if a binomial test rejects that, with
a false discovery rate of 5 % (Benjamini & Hochberg 1995).
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
TABLE_FPR = 0.05  # the rate of the table of records
FAR = 2.0  # multiple of the nominal rate
Q = 0.05


@dataclass(frozen=True)
class PerRecordFpr:
    """False positive rates of records under stand-in targets that were not trained on them.

    Attributes:
        attack: The headline attack.
        fpr: Nominal rate: the share of its non-members that each stand-in target flags.
        records: Number of records that some stand-in target was not trained on.
        models: Number of such stand-in targets, on average over records.
        rate: Mean over records of the share of these that flag it.
        std: Standard deviation of the rates over records beyond sampling variation; 0 if all records are alike.
        factor: Multiple of ``fpr`` from which a rate is far above it.
        far: Number of records with evidence of such a rate.
    """

    attack: str
    fpr: float
    records: int
    models: float
    rate: float
    std: float
    factor: float
    far: int


@dataclass(frozen=True)
class FlagCounts:
    """(records,) numbers of models that flag a record, and of all models, not trained and trained on it."""

    flagged_outside: np.ndarray = field(repr=False)
    outside: np.ndarray = field(repr=False)
    flagged_inside: np.ndarray = field(repr=False)
    inside: np.ndarray = field(repr=False)

    @property
    def per_record_fpr(self) -> np.ndarray:
        """(records,) share of the models not trained on a record that flag it; NaN without any."""
        return _shares(self.flagged_outside, self.outside)

    @property
    def per_record_tpr(self) -> np.ndarray:
        """(records,) share of the models trained on a record that flag it, one minus the flip rate; NaN without any."""
        return _shares(self.flagged_inside, self.inside)


def find(case: Case) -> tuple[PerRecordFpr, ...] | None:
    """Summarise each rate that the non-members of every stand-in target resolve; None without stand-in targets."""
    attack = case.of(headline.find).name
    return tuple(evenness(attack, counts, fpr) for fpr, counts in case.of(counts_at_rates).items()) or None


def table_counts(case: Case) -> FlagCounts | None:
    """Return the counts that the table of records shows."""
    return case.of(counts_at_rates).get(TABLE_FPR)


def counts_at_rates(case: Case) -> Mapping[float, FlagCounts]:
    """Count flags of the headline on stand-in targets, at each rate that the non-members of all of them resolve."""
    scores = case.of(headline.stand_in_scores)
    if scores is None or case.mocks is None:
        return {}
    member = take_columns(case.mocks.member, case.truth.evaluated)
    min_nonmembers = int(member.shape[1] - member.sum(axis=1).max())
    fprs = [fpr for fpr in FPRS if resolution(fpr, min_nonmembers) is not Resolution.WITHHELD]
    return dict(zip(fprs, count_flags(scores, member, *fprs), strict=True))


def count_flags(scores: np.ndarray, member: np.ndarray, *fprs: float) -> list[FlagCounts]:
    """Count the models that flag each record at thresholds that meet each of ``fprs`` on a model's non-members.

    Args:
        scores: (models, records) scores.
        member: (models, records) true for members.
        fprs: Nominal rates.
    """
    from guestlist.arrays.tallies import flag_counts  # imports numba

    thresholds = np.empty((len(scores), len(fprs)))
    for k, (row, inside) in enumerate(zip(scores, member, strict=True)):
        outside = row[~inside]
        thresholds[k] = [threshold_at_fpr(outside, fpr) for fpr in fprs]
    counted = []
    for at_rate in thresholds.T:
        counts = np.zeros((4, scores.shape[1]), dtype=np.int64)
        flag_counts(scores, member, at_rate.copy(), *counts)
        counted.append(FlagCounts(*counts))
    return counted


def evenness(attack: str, counts: FlagCounts, fpr: float) -> PerRecordFpr:
    """Summarise how evenly false positives fall on records."""
    tested = counts.outside > 0
    flagged = counts.flagged_outside[tested].astype(float)
    models = counts.outside[tested].astype(float)
    return PerRecordFpr(
        attack=attack,
        fpr=fpr,
        records=int(tested.sum()),
        models=float(models.mean()) if tested.any() else 0.0,
        rate=float((flagged / models).mean()) if tested.any() else float("nan"),
        std=_std_of_rates(flagged, models),
        factor=FAR,
        far=int(far_above(counts, fpr).sum()),
    )


def far_above(counts: FlagCounts, fpr: float) -> np.ndarray:
    """(records,) true with evidence that a record is flagged more than ``FAR`` times as often as the nominal rate."""
    tested = counts.outside > 0
    far = np.zeros(len(tested), dtype=bool)
    if tested.any():
        p_value = binom.sf(counts.flagged_outside[tested] - 1, counts.outside[tested], min(FAR * fpr, 1.0))
        far[tested] = false_discovery_control(p_value) <= Q
    return far


def _std_of_rates(flagged: np.ndarray, models: np.ndarray) -> float:
    """Estimate the standard deviation of the true rates: two flags of a record have the square of its rate as mean."""
    several = models > 1
    if not several.any():
        return float("nan")
    flagged = flagged[several]
    models = models[several]
    squares = (flagged * (flagged - 1) / (models * (models - 1))).mean()
    return float(np.sqrt(max(squares - (flagged / models).mean() ** 2, 0.0)))


def _shares(flagged: np.ndarray, models: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # 0 / 0 is NaN: no model
        return flagged / models
