"""Whether scores that claim to be probabilities of membership are such, here: the privacy risk score, and classifiers beside it.

A classifier that learnt from as many members as non-members of references gives log-odds at a prior of one half. The risk score
that learnt from the target itself is left out: whoever learnt the answers looks calibrated.
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
    """One score: its bins and how far it is off in all at the audit's prior, and how far at others."""

    score: str
    calibration: Calibration
    priors: tuple[AtPrior, ...]


def find(case: Case) -> tuple[CalibratedScore, ...] | None:
    """The privacy risk score, and the classifiers that were run; None where there is no such score."""
    asked, member = case.truth.evaluated, case.truth.member_evaluated
    found = []
    for name, probability in _probabilities(case).items():
        values = probability[asked]
        if np.isnan(values).all():
            continue
        own = calibration(values, member, prior=case.prior, persons=case.persons)
        priors = calibration_at_priors(values, member, made_for=case.prior, persons=case.persons)
        found.append(CalibratedScore(name, own, priors))
    return tuple(found) or None


def _probabilities(case: Case) -> dict[str, np.ndarray]:
    """Name to (records,) probabilities of membership at the audit's prior."""
    scores = {name: case.scores[name] for name in LOG_ODDS if name in case.scores}
    found = {name: values for name, values in risks_of(case).items() if name == RISK_SCORE}
    return found | {name: at_prior(expit(values), case.prior, made_for=PRIOR) for name, values in scores.items()}
