"""Differential privacy: what a promise allows at most, and what scores show at least."""

from guestlist.privacy.bounds import (
    about_together,
    allowed_advantage,
    allowed_tpr,
    erlingsson,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    gaussian_tpr,
    group_privacy,
    humphries,
    largest_tpr,
    yeom,
)
from guestlist.privacy.claim import Claim
from guestlist.privacy.lower import EpsilonBound, epsilon_lower_bound
from guestlist.privacy.many_runs import BayesianRuns, ClopperPearson, GaussianRuns
from guestlist.privacy.one_run import Coins, FixedSize, OneRun, OneRunCurve
from guestlist.privacy.thresholds import Bonferroni, HoldOut, Median

__all__ = [
    "BayesianRuns",
    "Bonferroni",
    "Claim",
    "ClopperPearson",
    "Coins",
    "EpsilonBound",
    "FixedSize",
    "GaussianRuns",
    "HoldOut",
    "Median",
    "OneRun",
    "OneRunCurve",
    "about_together",
    "allowed_advantage",
    "allowed_tpr",
    "epsilon_lower_bound",
    "erlingsson",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_mu",
    "gaussian_tpr",
    "group_privacy",
    "humphries",
    "largest_tpr",
    "yeom",
]
