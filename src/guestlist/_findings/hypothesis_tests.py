"""Attacks with p-values: realised false positive rates, overall and per record."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.stats import binom, false_discovery_control

from guestlist._case import Case
from guestlist._findings import SHARES, SIGNIFICANCE_LEVEL, headline
from guestlist._kernels import flag_counts, take_columns
from guestlist._views import Signals
from guestlist.attacks import Attack, population_p_value
from guestlist.evidence import with_perfect_fit
from guestlist.metrics import Estimate, Resolution, rates_at_level, resolution, threshold_at_fpr

ALPHAS = (0.01, 0.05, 0.1, 0.3)
# Signals of a model that fits a record perfectly: no record looks more like a member. The margin of such a model is
# infinite; a number far above any margin gives the same p-value at the resolution of the levels.
_FAULTLESS = {"loss": 0.0, "margin": 1e9, "p_y": 1.0, "correct": 1.0, "entropy": 0.0, "mentr": 0.0}


@dataclass(frozen=True)
class Level:
    """Realised rates of a test with a nominal false-positive rate of ``alpha``.

    ``adjusted_fpr_low`` is the lower end of an interval that is corrected for the number of levels tested.
    """

    alpha: float
    fpr: Estimate
    tpr: Estimate
    adjusted_fpr_low: float | None = None

    @property
    def exceeds_nominal(self) -> bool:
        """Evidence that the false positive rate exceeds the nominal level."""
        return self.fpr.low > self.alpha and (self.adjusted_fpr_low is None or self.adjusted_fpr_low > self.alpha)


@dataclass(frozen=True)
class HypothesisTest:
    """An attack with p-values, compared with its nominal levels.

    ``levels`` omits those below the smallest possible p-value of the attack; it is empty without p-values.
    ``needs_population``: the test estimates its null distribution from records that are not evaluated.
    """

    name: str
    levels: tuple[Level, ...]
    needs_population: bool


def find_hypothesis_tests(case: Case) -> tuple[HypothesisTest, ...]:
    """Measure the realised rates of every attack that is a test."""
    evaluated = case.truth.evaluated
    tests = {name: attack for name, attack in case.attacks.items() if attack.p_value}
    levels = {
        name: levels_of(tests[name], values, case.view, evaluated, case.truth.member_evaluated, case.persons)
        for name, values in case.p_values.items()
    }
    error = SIGNIFICANCE_LEVEL * SHARES["hypothesis_tests"] / max(sum(map(len, levels.values())), 1)

    def adjusted(name: str, level: Level) -> Level:
        fpr, _ = rates_at_level(
            case.p_values[name][evaluated],
            case.truth.member_evaluated,
            level.alpha,
            clusters=case.persons,
            confidence=1 - 2 * error,
        )
        return replace(level, adjusted_fpr_low=fpr.low)

    return tuple(
        HypothesisTest(
            name,
            tuple(adjusted(name, level) for level in levels.get(name, ())),
            needs_population=attack.p_value is population_p_value,
        )
        for name, attack in tests.items()
    )


def levels_of(
    attack: Attack,
    p_values: np.ndarray,
    view: Signals,
    evaluated: np.ndarray,
    member: np.ndarray,
    persons: np.ndarray | None = None,
) -> tuple[Level, ...]:
    """Measure the realised rates of a test at each of ``ALPHAS`` that it can reach.

    Args:
        attack: The test.
        p_values: (records,) of the whole pool.
        view: The adversary's view.
        evaluated: (records,) true for the records to evaluate it on.
        member: (evaluated records,) true for members.
        persons: (evaluated records,) person of each record; None without person identifiers.
    """
    smallest = smallest_p_value(attack, view, evaluated)
    return tuple(
        Level(alpha, *rates_at_level(p_values[evaluated], member, alpha, clusters=persons))
        for alpha in ALPHAS
        if alpha >= smallest
    )


def smallest_p_value(attack: Attack, view: Signals, evaluated: np.ndarray) -> float:
    """Return the smallest p-value that an evaluated record could have had: 1 / 9 for a share of eight references.

    It is the test's p-value for a target that fits every evaluated record perfectly.
    """
    perfect = {}
    for name in _FAULTLESS.keys() & set(attack.needs):
        row = view.target(name)
        perfect[name] = np.where(evaluated & ~np.isnan(row), _FAULTLESS[name], row)
    best = view.with_target(perfect, with_perfect_fit(view.evidence))
    assert attack.p_value is not None
    return float(np.nanmin(attack.p_value(best)[evaluated]))


FPRS = (0.01, 0.05)
TABLE_FPR = 0.05  # nominal FPR of the table of records
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
        rate: Mean over records of the share of these that flag the record.
        std: Standard deviation of the rates over records beyond sampling variation; 0 if all records have the same
            rate.
        factor: Multiple of ``fpr`` above which a rate counts as far above it.
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
    """Numbers (records,) of models that flag a record, and of all models, not trained and trained on it."""

    flagged_outside: np.ndarray = field(repr=False)
    outside: np.ndarray = field(repr=False)
    flagged_inside: np.ndarray = field(repr=False)
    inside: np.ndarray = field(repr=False)

    @property
    def per_record_fpr(self) -> np.ndarray:
        """Return (records,) the share of the models not trained on a record that flag it; NaN without any."""
        return _shares(self.flagged_outside, self.outside)

    @property
    def per_record_tpr(self) -> np.ndarray:
        """Return (records,) the share of the models trained on a record that flag it, 1 - flip rate; NaN without any."""
        return _shares(self.flagged_inside, self.inside)


def find_per_record_fpr(case: Case) -> tuple[PerRecordFpr, ...] | None:
    """Summarise each rate that the non-members of every stand-in target resolve; None without stand-in targets."""
    attack = case.of(headline.find).name
    return tuple(evenness(attack, counts, fpr) for fpr, counts in case.of(counts_at_rates).items()) or None


def counts_at_rates(case: Case) -> Mapping[float, FlagCounts]:
    """Count flags of the headline on stand-in targets, at each rate that the non-members of all of them resolve."""
    scores = case.of(headline.stand_in_scores)
    if scores is None or case.stand_ins is None:
        return {}
    member = take_columns(case.stand_ins.member, case.truth.evaluated)
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
    thresholds = np.empty((len(scores), len(fprs)))
    for k, (row, inside) in enumerate(zip(scores, member, strict=True)):
        outside = row[~inside]
        thresholds[k] = [threshold_at_fpr(outside, fpr) for fpr in fprs]
    return [FlagCounts(*flag_counts(scores, member, at_rate)) for at_rate in thresholds.T]


def evenness(attack: str, counts: FlagCounts, fpr: float) -> PerRecordFpr:
    """Summarise the distribution of false positives over records."""
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
    """Return (records,) true with evidence that a record is flagged more than ``FAR`` times as often as the nominal rate."""
    tested = counts.outside > 0
    far = np.zeros(len(tested), dtype=bool)
    if tested.any():
        p_value = binom.sf(counts.flagged_outside[tested] - 1, counts.outside[tested], min(FAR * fpr, 1.0))
        far[tested] = false_discovery_control(p_value) <= Q
    return far


def _std_of_rates(flagged: np.ndarray, models: np.ndarray) -> float:
    """Estimate the standard deviation of the true rates: the product of two flags of a record has mean rate²."""
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
