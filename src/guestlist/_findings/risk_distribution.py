"""Distribution of risks over members and groups, and calibration of probability-like risks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from scipy.special import expit
from scipy.stats import rankdata

from guestlist._case import PRIOR, Case
from guestlist._findings import groups, headline
from guestlist._kernels import six_digit_rows
from guestlist.metrics import MIN_CORRELATION_SIZE, is_constant, spearman
from guestlist.risks import AtPrior, Calibration, at_prior, calibration, calibration_at_priors, risks_of

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class RiskQuantiles:
    """Quantiles of one risk, at ``LEVELS``, over all members or those with the group values in ``of``."""

    risk: str
    values: Mapping[str, str]
    members: int
    quantiles: tuple[float, ...]

    def __post_init__(self):
        if len(self.quantiles) != (len(LEVELS) if self.members else 0):
            raise ValueError(
                f"Expected {len(LEVELS)} quantiles of {self.members} members, found {len(self.quantiles)}."
            )


@dataclass(frozen=True)
class RiskDistribution:
    """Quantiles of each risk, and rank correlations over members.

    ``names`` are the risks and, last, the headline attack; ``spearman`` are their correlations, NaN if one of two is
    constant.
    """

    quantiles: tuple[RiskQuantiles, ...]
    names: tuple[str, ...]
    spearman: tuple[tuple[float, ...], ...]


def find_risk_distribution(case: Case) -> RiskDistribution | None:
    """Compute quantiles and rank correlations; None without a risk. Groups too small to judge are omitted."""
    evaluated = case.truth.evaluated
    member = case.truth.member_evaluated
    risks = {name: values[evaluated] for name, values in risks_of(case).items()}
    if not risks:
        return None
    parts: list[tuple[Mapping[str, str], np.ndarray]] = [({}, member)]
    parts += [(part.values, part.mask & member) for part in groups.group_slices(case) if part.enough]
    quantiles = [
        _quantiles_of(name, values_of_group, values[mask])
        for name, values in risks.items()
        for values_of_group, mask in parts
    ]
    attack = case.of(headline.find).name
    ranked = {**risks, attack: case.scores[attack][evaluated]}
    of_members = [values[member] for values in ranked.values()]
    matrix = six_digit_rows(*_rank_correlations(of_members))
    return RiskDistribution(
        tuple(part_quantiles for part_quantiles in quantiles if part_quantiles.members), tuple(ranked), matrix
    )


def _quantiles_of(risk: str, group: Mapping[str, str], values: np.ndarray) -> RiskQuantiles:
    known = values[~np.isnan(values)]
    # Quantiles are values of records: interpolation between infinite values is undefined.
    quantiles = np.quantile(known, LEVELS, method="closest_observation") if len(known) else ()
    return RiskQuantiles(risk, group, len(known), tuple(float(quantile) for quantile in quantiles))


def _rank_correlations(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Return (columns, columns) rank correlations; each pair is computed once, because the matrix is symmetric."""
    matrix = np.empty((len(columns), len(columns)))
    complete = [
        len(column) >= MIN_CORRELATION_SIZE and not np.isnan(column).any() and not is_constant(column)
        for column in columns
    ]
    ranks = [rankdata(column) if able else column for column, able in zip(columns, complete, strict=True)]
    for i, j in combinations_with_replacement(range(len(columns)), 2):
        if complete[i] and complete[j]:  # ranked once for all pairs
            correlation = np.corrcoef(np.column_stack([ranks[i], ranks[j]]), rowvar=False)[1, 0]
        else:
            correlation = _rank_correlation(columns[i], columns[j])
        matrix[i, j] = matrix[j, i] = correlation
    return matrix


def _rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    known = ~np.isnan(a) & ~np.isnan(b)
    return spearman(a[known], b[known]).value


RISK_SCORE = "risk_score"
LOG_ODDS = ("nn_shokri", "nn_nasr")  # attacks whose scores are log-odds of membership, fitted on reference models


@dataclass(frozen=True)
class CalibratedScore:
    """Calibration of one score at the audit's prior, and at other priors."""

    score: str
    calibration: Calibration
    priors: tuple[AtPrior, ...]


def find_calibrated(case: Case) -> tuple[CalibratedScore, ...] | None:
    """Evaluate the privacy risk score and the classifiers that were run; return None without any."""
    member = case.truth.member_evaluated
    scores = []
    for name, probability in _probabilities(case).items():
        values = probability[case.truth.evaluated]
        if np.isnan(values).all():
            continue
        at_own_prior = calibration(values, member, prior=case.prior, persons=case.persons)
        priors = calibration_at_priors(values, member, made_for=case.prior, persons=case.persons)
        scores.append(CalibratedScore(name, at_own_prior, priors))
    return tuple(scores) or None


def _probabilities(case: Case) -> dict[str, np.ndarray]:
    """Return name to (records,) probabilities of membership at the audit's prior."""
    probabilities = {name: values for name, values in risks_of(case).items() if name == RISK_SCORE}
    for name in LOG_ODDS:
        if name in case.scores:
            probabilities[name] = at_prior(expit(case.scores[name]), case.prior, made_for=PRIOR)
    return probabilities
