"""Calibration of scores that are read as probabilities of membership: the privacy risk score, and attack classifiers.

A classifier that was fitted on as many members as non-members of references gives log-odds at a prior of 0.5. The risk score
that was estimated from the target itself is omitted, because it looks calibrated whatever it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from guestlist.case import PRIOR, Case
from guestlist.risks import AtPrior, Calibration, at_prior, calibration, calibration_at_priors, risks_of

RISK_SCORE = "risk_score"
LOG_ODDS = ("nn_shokri", "nn_nasr")  # attacks whose scores are log-odds of membership, learnt from references


@dataclass(frozen=True)
class CalibratedScore:
    """One score: its calibration at the audit's prior, and at others."""

    score: str
    calibration: Calibration
    priors: tuple[AtPrior, ...]


def find(case: Case) -> tuple[CalibratedScore, ...] | None:
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
    """Name to (records,) probabilities of membership at the audit's prior."""
    probabilities = {name: values for name, values in risks_of(case).items() if name == RISK_SCORE}
    for name in LOG_ODDS:
        if name in case.scores:
            probabilities[name] = at_prior(expit(case.scores[name]), case.prior, made_for=PRIOR)
    return probabilities
