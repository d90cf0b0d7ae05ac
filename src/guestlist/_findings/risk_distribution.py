"""Distribution of risks over members and groups, and calibration of probability-like risks."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import expit

from guestlist._case import PRIOR, Case
from guestlist._findings import groups, headline
from guestlist._kernels import six_digit_rows
from guestlist.metrics import MIN_CORRELATION_SIZE
from guestlist.risks import AtPrior, Calibration, at_prior, calibration, calibration_at_priors, risks_of

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class RiskQuantiles:
    """Quantiles of one risk, at ``LEVELS``, over all members or those with the group values in ``values``."""

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
    quantiles = []
    for name, values in risks.items():
        for group, mask in parts:
            known = values[mask & ~np.isnan(values)]
            if len(known):
                # Quantiles are values of records: interpolation between infinite values is undefined.
                at_levels = np.quantile(known, LEVELS, method="closest_observation")
                quantiles.append(RiskQuantiles(name, group, len(known), tuple(at_levels.tolist())))
    attack = case.of(headline.find).name
    ranked = pd.DataFrame({**risks, attack: case.evaluated_scores[attack]})
    correlations = ranked[member].corr(method="spearman", min_periods=MIN_CORRELATION_SIZE)
    return RiskDistribution(tuple(quantiles), tuple(ranked), six_digit_rows(*correlations.to_numpy()))


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
        scores.append(
            CalibratedScore(
                score=name,
                calibration=calibration(values, member, prior=case.prior, persons=case.persons),
                priors=calibration_at_priors(values, member, made_for=case.prior, persons=case.persons),
            )
        )
    return tuple(scores) or None


def _probabilities(case: Case) -> dict[str, np.ndarray]:
    """Return name to (records,) probabilities of membership at the audit's prior."""
    probabilities = {name: values for name, values in risks_of(case).items() if name == RISK_SCORE}
    for name in LOG_ODDS:
        if name in case.scores:
            probabilities[name] = at_prior(expit(case.scores[name]), case.prior, made_for=PRIOR)
    return probabilities
