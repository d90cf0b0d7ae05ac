"""Metrics of each attack with confidence intervals, and agreement between attacks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from guestlist._case import PRIOR, Case
from guestlist._findings import (
    SIGNIFICANCE_LEVEL,
    MeasuredRate,
    TestFamily,
    attack_p_values,
    headline,
    hypothesis_tests,
    is_significant,
)
from guestlist._kernels import best_threshold, count_unscored, drop_unscored, six_digit_rows, six_digits
from guestlist._util import stream
from guestlist._views import Signals
from guestlist.attacks import Attack
from guestlist.evidence import EVIDENCE, QUERIES, access_of
from guestlist.metrics import (
    Estimate,
    Placements,
    SplitScores,
    advantage,
    agreement,
    auc,
    auc_difference,
    balanced_accuracy,
    effective_sizes,
    flags_at_fpr,
    flags_at_level,
    placements,
    rates_of_split,
    resolution,
    roc_band_of_split,
    roc_steps,
    smallest_detectable_auc,
    smallest_detectable_tpr,
    split_scores,
)

FPRS = (0.001, 0.01, 0.05)
CHANCE = 0.5  # AUC of guessing
_detectable_tpr = lru_cache(smallest_detectable_tpr)  # it is the same for every attack of an audit


@dataclass(frozen=True)
class Rate(MeasuredRate):
    """TPR at a false-positive rate, and whether this number of non-members can resolve that rate.

    Attributes:
        ppv: Share of members among the flagged records if a share ``prior`` of the tested records are members.
        prior: Share of members among the tested records.
        resolution: Whether the number of non-members resolves the rate.
        detectable: Smallest TPR that an audit of this size detects with 80 % power.
        p_value: Adjusted p-value of the TPR; None if it was not tested because the interval includes guessing.
    """

    ppv: Estimate
    prior: float
    resolution: str
    detectable: float
    p_value: float | None = None

    @property
    def beats_guessing(self) -> bool:
        return self.tpr.low > self.fpr and is_significant(self.p_value)


@dataclass(frozen=True)
class Curve:
    """TPR as a step function, drawn to the right from each point and up at the next, with a pointwise band at some rates.

    The steps are exact at the rates of the band, which include those of the table.
    """

    fpr: tuple[float, ...]
    tpr: tuple[float, ...]
    band_fpr: tuple[float, ...]
    band_low: tuple[float, ...]
    band_high: tuple[float, ...]


@dataclass(frozen=True)
class Histogram:
    """Histograms of the scores of members and of non-members over common bins, each as shares of its set."""

    edges: tuple[float, ...]
    members: tuple[float, ...]
    nonmembers: tuple[float, ...]


@dataclass(frozen=True)
class AttackResult:
    """Results of one attack.

    Attributes:
        name: Name of the attack.
        summary: One line about it.
        paper: Reference.
        attacker_needs: Inputs of the attacker beyond the model's outputs, as the end of a sentence; empty if there are
            none.
        oracle: Whether its threshold is chosen with the ground truth, which no attacker knows.
        auc: Area under the ROC curve.
        detectable_auc: Smallest AUC that an audit of this size detects with 80 % power.
        advantage: Largest difference of TPR and FPR.
        rates: TPR at some false-positive rates.
        balanced_accuracy: At the attack's own threshold, if it has one.
        unscored: Number of records without a score.
        curve: ROC curve.
        histogram: Scores of members and of non-members.
        p_value: Adjusted p-value of the AUC; None if it was not tested.
        p_reversed: Adjusted p-value of an AUC this small, for the headline attack only.
        beyond_headline: AUC minus that of the headline, with simultaneous intervals for all attacks.
        access: Access to the model that the attack needs, ``queries`` or the ``model file``.
        title: Display name; empty for a user-defined attack.
    """

    name: str
    summary: str
    paper: str
    attacker_needs: str
    oracle: bool
    auc: Estimate
    detectable_auc: float
    advantage: Estimate
    rates: tuple[Rate, ...]
    balanced_accuracy: Estimate | None
    unscored: int
    curve: Curve
    histogram: Histogram
    p_value: float | None = None
    p_reversed: float | None = None
    beyond_headline: Estimate | None = None
    access: str = QUERIES
    title: str = ""

    @property
    def ranks_above(self) -> bool:
        """Evidence that it ranks members above non-members, over all records."""
        return self.auc.low > CHANCE and is_significant(self.p_value)

    @property
    def ranks_below(self) -> bool:
        """Evidence that it ranks members below non-members."""
        return self.auc.high < CHANCE and is_significant(self.p_reversed)

    @property
    def beats_guessing(self) -> bool:
        """Evidence that it beats guessing: by its AUC, or by its TPR at some false-positive rate."""
        return self.ranks_above or any(rate.beats_guessing for rate in self.rates)

    @property
    def interval_excludes_chance(self) -> bool:
        """True if one of its own 95 % intervals excludes guessing, before the correction for multiple testing."""
        return self.auc.low > CHANCE or any(rate.tpr.low > rate.fpr for rate in self.rates)


def find(case: Case) -> tuple[AttackResult, ...]:
    """Evaluate every attack on the evaluated records."""
    scores = case.evaluated_scores
    member = case.truth.member_evaluated
    first = case.of(headline.find).name
    headline_ranks = _placements(scores[first], member)
    results = []
    for name, attack in case.attacks.items():
        ranks = _placements(scores[name], member)  # too large to store for all attacks if there are very many records
        result = evaluate_attack(name, attack, scores[name], member, case.view, case.prior, case.persons, ranks)
        if name != first:
            # Simultaneous by Bonferroni: permuting labels cannot compare two attacks that both detect a leak.
            result = replace(
                result,
                beyond_headline=auc_difference(
                    scores[name],
                    scores[first],
                    member,
                    clusters=case.persons,
                    confidence=1 - SIGNIFICANCE_LEVEL / (len(scores) - 1),
                    placed_a=ranks,
                    placed_b=headline_ranks,
                ),
            )
        results.append(result)
    family = _test_family(results, scores, headline.headline_rows(case))
    p_values = attack_p_values(family, member, stream(case.setting.seed, "permutations"), case.persons)
    return tuple(
        replace(
            result,
            rates=tuple(replace(rate, p_value=p_values.rates.get((result.name, rate.fpr))) for rate in result.rates),
            p_value=p_values.auc.get(result.name),
            p_reversed=p_values.reversed if result.name == first else None,
        )
        for result in results
    )


def _placements(scores: np.ndarray, member: np.ndarray) -> Placements | None:
    """Return the placements of the scored records, which several metrics share; None if one of the two sets is empty."""
    scores, member = drop_unscored(scores, member)
    if member.all() or not member.any():
        return None
    return placements(scores, member)


def _test_family(
    results: Sequence[AttackResult], scores: Mapping[str, np.ndarray], rows: tuple[str, ...]
) -> TestFamily:
    above: list[tuple[str, float | None]] = [(result.name, None) for result in results if result.auc.low > CHANCE]
    above += [(result.name, rate.fpr) for result in results for rate in result.rates if rate.tpr.low > rate.fpr]
    return TestFamily(
        scores=scores,
        rates={result.name: [rate.fpr for rate in result.rates if not np.isnan(rate.tpr.value)] for result in results},
        rows=rows,
        above=frozenset(above),
        below=any(result.name == rows[0] and result.auc.high < CHANCE for result in results),
    )


def evaluate_attack(
    name: str,
    attack: Attack,
    scores: np.ndarray,
    member: np.ndarray,
    view: Signals,
    prior: float = PRIOR,
    persons: np.ndarray | None = None,
    placed: Placements | None = None,
) -> AttackResult:
    """Compute every metric of one attack.

    Args:
        name: Name of the attack.
        attack: The attack.
        scores: (evaluated records,) its scores.
        member: (evaluated records,) true for members.
        view: The adversary's view.
        prior: Share of members among the records that an attacker tests.
        persons: (evaluated records,) person of each record.
        placed: Placements of the scored records, if they are known already.
    """
    threshold = _threshold(attack, scores, member, view)
    sides = split_scores(scores, member, persons)
    sizes = effective_sizes(scores, member, clusters=persons)
    detectable_auc = np.nan
    if all(sizes):
        detectable_auc = smallest_detectable_auc(*sizes)
    accuracy = None
    if not np.isnan(threshold):
        accuracy = balanced_accuracy(scores, member, threshold, clusters=persons)
    return AttackResult(
        name=name,
        summary=attack.summary,
        paper=attack.paper,
        attacker_needs=EVIDENCE[attack.evidence].attacker if attack.evidence in EVIDENCE else "",
        oracle=attack.oracle,
        auc=auc(scores, member, clusters=persons, placed=placed),
        detectable_auc=detectable_auc,
        advantage=advantage(scores, member, clusters=persons),
        rates=_rates(sides, prior),
        balanced_accuracy=accuracy,
        unscored=int(count_unscored(scores)),
        curve=_curve(scores, member, sides),
        histogram=_histogram(scores, member),
        access=access_of(attack.evidence),
        title=attack.title,
    )


def _threshold(attack: Attack, scores: np.ndarray, member: np.ndarray, view: Signals) -> float:
    if attack.oracle and len(set(member[~np.isnan(scores)])) == 2:
        return best_threshold(scores, member)
    if attack.oracle or attack.threshold is None:
        return np.nan
    if callable(attack.threshold):
        return attack.threshold(view)
    return attack.threshold


def _rates(sides: SplitScores, prior: float) -> tuple[Rate, ...]:
    # Persons are counted if they are known, because their number limits the rates that can be resolved.
    members, nonmembers = (int(side.n_clusters) for side in sides)
    rates = []
    for fpr, (tpr, ppv) in zip(FPRS, rates_of_split(sides, FPRS, prior), strict=True):
        resolved = resolution(fpr, nonmembers)
        detectable = np.nan
        if resolved != "withheld" and members:
            detectable = float(_detectable_tpr(fpr, members, nonmembers))
        rates.append(Rate(fpr=fpr, tpr=tpr, ppv=ppv, prior=prior, resolution=str(resolved), detectable=detectable))
    return tuple(rates)


def _curve(scores: np.ndarray, member: np.ndarray, sides: SplitScores) -> Curve:
    smallest = 1 / max((~member).sum(), 2)
    # For logarithmic and linear axes; rounded first, so that the kept points are exact where they are drawn.
    fprs = np.unique(six_digits(np.concatenate([np.geomspace(smallest, 1, 40), np.linspace(0.05, 1, 20), FPRS])))
    fprs = fprs[fprs >= smallest * (1 - 1e-6)]
    points = roc_steps(scores, member, at=fprs)
    low, high = roc_band_of_split(sides, fprs)
    return Curve(*six_digit_rows(points.fpr, points.tpr, fprs, low, high))


def _histogram(scores: np.ndarray, member: np.ndarray, bins: int = 40) -> Histogram:
    """Return shares per bin between the 0.5 and 99.5 % quantiles; the end bins include all values beyond."""
    finite = scores[np.isfinite(scores)]
    low, high = np.quantile(finite, [0.005, 0.995]) if finite.size else (0.0, 1.0)
    edges = np.linspace(low, high if high > low else low + 1, bins + 1)
    clipped = np.clip(scores, edges[0], edges[-1])

    def shares(side: np.ndarray) -> np.ndarray:
        values = clipped[side & ~np.isnan(scores)]
        return np.histogram(values, edges)[0] / max(len(values), 1)

    return Histogram(*six_digit_rows(edges, shares(member), shares(~member)))


ALPHA = 0.1


@dataclass(frozen=True)
class AgreementResult:
    """Share of members, and of non-members, on which two attacks agree; the first of ``names`` is the truth.

    ``by_p_value``: whether an attack flags records with its own p-values of at most ``alpha``. An attack without such small
    p-values flags records above the threshold that a share ``alpha`` of the non-members exceeds.
    """

    alpha: float
    names: tuple[str, ...]
    by_p_value: tuple[bool, ...]
    members: tuple[tuple[float, ...], ...]
    nonmembers: tuple[tuple[float, ...], ...]


def find_agreement(case: Case) -> AgreementResult | None:
    """Measure the agreement of attacks at one rate; return None with a single attack."""
    if len(case.scores) < 2:
        return None
    member = case.truth.member_evaluated
    tests = {  # those whose p-values can be as small as ALPHA
        test.name
        for test in case.of(hypothesis_tests.find_hypothesis_tests)
        if any(level.alpha == ALPHA for level in test.levels)
    }
    flags = {}
    for name, scores in case.evaluated_scores.items():
        if name in tests:
            flags[name] = flags_at_level(case.p_values[name][case.truth.evaluated], ALPHA)
        else:
            flags[name] = flags_at_fpr(scores, member, ALPHA)
    shares = agreement(flags, member)
    return AgreementResult(
        alpha=ALPHA,
        names=shares.names,
        by_p_value=(False, *(name in tests for name in case.scores)),
        members=six_digit_rows(*shares.members),
        nonmembers=six_digit_rows(*shares.nonmembers),
    )
