"""What each attack achieved, with intervals; and what an audit of this size could have seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from guestlist.arrays.digits import six_digits
from guestlist.attacks import Attack
from guestlist.case import PRIOR, Case
from guestlist.collecting.evidence.kind import QUERIES
from guestlist.collecting.evidence.table import EVIDENCE, access_of
from guestlist.evaluate import (
    Estimate,
    advantage,
    auc,
    auc_difference,
    balanced_accuracy,
    best_threshold,
    count_unscored,
    effective_sizes,
    resolution,
    roc_steps,
    smallest_detectable_auc,
    smallest_detectable_tpr,
)
from guestlist.evaluate.low_fpr import SplitScores, roc_band_of_split, split_scores, tpr_and_ppv_of_split
from guestlist.evaluate.ranking import Placements, placements
from guestlist.findings import headline
from guestlist.findings.luck import SIGNIFICANCE_LEVEL, AdjustedPValues, TestFamily, attack_p_values, is_significant
from guestlist.randomness import stream
from guestlist.views.signals import Signals

FPRS = (0.001, 0.01, 0.05)
CHANCE = 0.5  # the AUC of an attack that knows nothing


@dataclass(frozen=True)
class Rate:
    """TPR at a false-positive rate, and whether this many non-members can resolve that rate.

    ``ppv`` is the share of true members among those called where a share ``prior`` of the people in question are members;
    ``detectable`` the smallest TPR that an audit of this size finds four times in five. ``p_value`` is the chance of such a TPR
    where nothing leaks, paid for all that was looked at; None where nobody asked, since the interval holds guessing.
    """

    fpr: float
    tpr: Estimate
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
    """The TPR as stairs, from each point to the right and at the next one up, and a pointwise band at some rates.

    The stairs are exact at the rates of the band, among which those of the table are.
    """

    fpr: tuple[float, ...]
    tpr: tuple[float, ...]
    band_fpr: tuple[float, ...]
    band_low: tuple[float, ...]
    band_high: tuple[float, ...]


@dataclass(frozen=True)
class Histogram:
    """Scores of members and of non-members over common bins, as shares of each side."""

    edges: tuple[float, ...]
    members: tuple[float, ...]
    nonmembers: tuple[float, ...]


@dataclass(frozen=True)
class AttackResult:
    """What one attack achieved.

    ``attacker_needs`` is what an attacker must have beyond the model's outputs, as the end of a sentence; empty for outputs.
    ``access`` is what of the model the attack takes, ``queries`` or the ``model file``.
    ``oracle``: its threshold is the best for the truth, which no attacker knows. ``detectable_auc`` is the smallest AUC that
    an audit of this size finds four times in five. ``balanced_accuracy`` is at the attack's own threshold, if it has one.
    ``p_value`` is the chance of such an AUC where nothing leaks, and ``p_reversed``, of the headline alone, that of one so
    small: both paid for all that was looked at, and None where nobody asked. ``beyond_headline`` is by how much the AUC
    exceeds the headline's; the intervals of all attacks hold together.
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

    @property
    def ranks_above(self) -> bool:
        """Whether it is shown to rank members above non-members, over all records."""
        return self.auc.low > CHANCE and is_significant(self.p_value)

    @property
    def ranks_below(self) -> bool:
        """Whether it is shown to rank members below non-members."""
        return self.auc.high < CHANCE and is_significant(self.p_reversed)

    @property
    def beats_guessing(self) -> bool:
        """Whether it is shown to: by its AUC, or by its TPR at some false-positive rate."""
        return self.ranks_above or any(rate.beats_guessing for rate in self.rates)

    @property
    def interval_excludes_chance(self) -> bool:
        """Whether some 95 % interval of its own lies beyond guessing, paid for or not."""
        return self.auc.low > CHANCE or any(rate.tpr.low > rate.fpr for rate in self.rates)


def find(case: Case) -> tuple[AttackResult, ...]:
    scores, member, first = case.asked_scores, case.truth.member_evaluated, case.of(headline.find).name
    beside = _placed(scores[first], member)
    found = []
    for name, attack in case.attacks.items():
        place = _placed(scores[name], member)  # of very many records, not kept
        one = evaluate_attack(name, attack, scores[name], member, case.view, case.prior, case.persons, place)
        gain = None if name == first else _beyond(name, first, scores, member, case.persons, place, beside)
        found.append(replace(one, beyond_headline=gain))
    second = case.of(headline.find_file_holder)
    seen = replace(_seen(tuple(found), scores, first), file_holder=None if second is None else second.name)
    luck = attack_p_values(seen, member, stream(case.setting.seed, "luck"), case.persons)
    return tuple(_with_luck(one, luck, first) for one in found)


def _placed(scores: np.ndarray, member: np.ndarray) -> Placements | None:
    """The placements that several figures share; None where a score is missing, or all records are on one side."""
    if np.isnan(scores).any() or member.all() or not member.any():
        return None
    return placements(scores, member)


def _seen(found: tuple[AttackResult, ...], scores: Mapping[str, np.ndarray], first: str) -> TestFamily:
    above: list[tuple[str, float | None]] = [(one.name, None) for one in found if one.auc.low > CHANCE]
    above += [(one.name, rate.fpr) for one in found for rate in one.rates if rate.tpr.low > rate.fpr]
    below = any(one.name == first and one.auc.high < CHANCE for one in found)
    rates = {one.name: [rate.fpr for rate in one.rates if not np.isnan(rate.tpr.value)] for one in found}
    return TestFamily(scores, rates, first, frozenset(above), below)


def _with_luck(found: AttackResult, luck: AdjustedPValues, first: str) -> AttackResult:
    rates = tuple(replace(rate, p_value=luck.rates.get((found.name, rate.fpr))) for rate in found.rates)
    found = replace(found, rates=rates, p_value=luck.auc.get(found.name))
    return replace(found, p_reversed=luck.reversed) if found.name == first else found


def _beyond(
    name: str,
    first: str,
    scores: Mapping[str, np.ndarray],
    member: np.ndarray,
    persons: np.ndarray | None,
    place: Placements | None,
    beside: Placements | None,
) -> Estimate:
    """By how much the AUC of an attack exceeds that of the headline."""
    # Simultaneous by Bonferroni: dealing sides out anew says nothing of two attacks that both see a leak.
    together = 1 - SIGNIFICANCE_LEVEL / (len(scores) - 1)
    return auc_difference(
        scores[name], scores[first], member, clusters=persons, confidence=together, placed_a=place, placed_b=beside
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
    """Every number about one attack; ``scores``, ``member`` and ``persons`` are of the asked records.

    Args:
        placed: the placements of the scores, where they are known already.
    """
    threshold, sides = _threshold(attack, scores, member, view), split_scores(scores, member, persons)
    return AttackResult(
        name=name,
        summary=attack.summary,
        paper=attack.paper,
        attacker_needs=EVIDENCE[attack.evidence].attacker if attack.evidence in EVIDENCE else "",
        oracle=attack.oracle,
        auc=auc(scores, member, clusters=persons, placed=placed),
        detectable_auc=_detectable_auc(*effective_sizes(scores, member, clusters=persons)),
        advantage=advantage(scores, member, clusters=persons),
        rates=tuple(_rate(sides, fpr, prior) for fpr in FPRS),
        balanced_accuracy=None
        if np.isnan(threshold)
        else balanced_accuracy(scores, member, threshold, clusters=persons),
        unscored=int(count_unscored(scores)),
        curve=_curve(scores, member, sides),
        histogram=_histogram(scores, member),
        access=access_of(attack.evidence),
    )


def _threshold(attack: Attack, scores: np.ndarray, member: np.ndarray, view: Signals) -> float:
    if attack.oracle:
        kinds = set(member[~np.isnan(scores)])
        return best_threshold(scores, member) if len(kinds) == 2 else np.nan
    return attack.threshold(view) if attack.threshold else np.nan


def _detectable_auc(members: float, nonmembers: float) -> float:
    return smallest_detectable_auc(members, nonmembers) if members and nonmembers else np.nan


def _rate(sides: SplitScores, fpr: float, prior: float) -> Rate:
    # In persons, where they are known: what a rate can resolve follows.
    members, nonmembers = (int(side.n_clusters) for side in sides)
    enough = resolution(fpr, nonmembers)
    tpr, ppv = tpr_and_ppv_of_split(sides, fpr, prior)
    return Rate(
        fpr=fpr,
        tpr=tpr,
        ppv=ppv,
        prior=prior,
        resolution=str(enough),
        detectable=np.nan if enough == "withheld" or not members else _detectable(fpr, members, nonmembers),
    )


@lru_cache
def _detectable(fpr: float, members: int, nonmembers: int) -> float:
    """The same for every attack of an audit."""
    return float(smallest_detectable_tpr(fpr, members, nonmembers))


def _curve(scores: np.ndarray, member: np.ndarray, sides: SplitScores) -> Curve:
    smallest = 1 / max((~member).sum(), 2)
    # For logarithmic and for linear axes; rounded first, so that what is kept is exact where it is drawn.
    fprs = np.unique(six_digits(np.concatenate([np.geomspace(smallest, 1, 40), np.linspace(0.05, 1, 20), FPRS])))
    fprs = fprs[fprs >= smallest * (1 - 1e-6)]
    points = roc_steps(scores, member, at=fprs)
    low, high = roc_band_of_split(sides, fprs)
    return Curve(*(six_digits(values) for values in (points.fpr, points.tpr, fprs, low, high)))


def _histogram(scores: np.ndarray, member: np.ndarray, bins: int = 40) -> Histogram:
    """Shares per bin between the 0.5 and 99.5 % quantiles; the end bins hold what lies beyond."""
    finite = scores[np.isfinite(scores)]
    low, high = np.quantile(finite, [0.005, 0.995]) if finite.size else (0.0, 1.0)
    edges = np.linspace(low, high if high > low else low + 1, bins + 1)
    clipped = np.clip(scores, edges[0], edges[-1])

    def shares(side: np.ndarray) -> tuple[float, ...]:
        values = clipped[side & ~np.isnan(scores)]
        return six_digits(np.histogram(values, edges)[0] / max(len(values), 1))

    return Histogram(six_digits(edges), shares(member), shares(~member))
