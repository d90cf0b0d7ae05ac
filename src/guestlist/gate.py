"""A limit for CI: does the *upper* end of an interval stay below it?

A gate that looked at the estimates alone would pass a model because it was audited with few records. This one
passes only what the audit could show.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from guestlist.errors import FolderError
from guestlist.evaluate import Estimate, threshold_at_fpr, tpr_at_fpr
from guestlist.findings.attacks import AttackResult
from guestlist.findings.results import Results

PUSHING = 10


@dataclass(frozen=True)
class Limit:
    """The largest AUC (``fpr`` None), or the largest TPR at a false-positive rate, that may pass."""

    most: float
    fpr: float | None = None

    def __post_init__(self):
        for name, value in {"limit": self.most, "fpr": self.fpr}.items():
            if value is not None and not 0 < value <= 1:
                raise ValueError(f"Expected {name}={value} in (0, 1].")

    def __str__(self) -> str:
        return f"AUC at most {self.most:g}" if self.fpr is None else f"TPR at {self.fpr:g} FPR at most {self.most:g}"


@dataclass(frozen=True)
class Verdict:
    """Whether a limit holds for the attack that comes closest to it or goes furthest beyond."""

    limit: Limit
    attack: str
    estimate: Estimate
    passed: bool
    pushing: tuple[str, ...]

    def __str__(self) -> str:
        if np.isnan(self.estimate.high):
            return f"FAIL  {self.limit}: {self.attack} has no figure for it; too few non-members, or none with a score"
        found = f"{self.attack} reaches {self.estimate}"
        if self.passed:
            return f"pass  {self.limit}: {found}"
        beyond = (
            "beyond the limit"
            if self.estimate.low > self.limit.most
            else "the upper end of the interval is beyond the limit"
        )
        return f"FAIL  {self.limit}: {found}, {beyond}"


def tpr_limit(text: str) -> Limit:
    """A limit from ``0.05@0.01``: TPR at most 0.05 at an FPR of 0.01."""
    try:
        most, fpr = map(float, text.split("@"))
        return Limit(most, fpr)
    except ValueError as error:
        raise ValueError(f"Expected TPR@FPR such as 0.05@0.01, found {text!r}. {error}") from error


def judge(results: Results, limit: Limit, attacks: tuple[str, ...] = ()) -> Verdict:
    """Hold the audit's attacks (all of them, or those named) against one limit."""
    outcomes = [results.attack(name) for name in attacks] or list(results.outcomes or ())
    if not outcomes:
        raise FolderError("The results hold no attack to judge: run the audit again.")
    estimates = {outcome.name: _estimate(results, outcome, limit) for outcome in outcomes}
    # A withheld number cannot pass, so NaN counts as the worst.
    worst = max(estimates, key=lambda name: np.nan_to_num(estimates[name].high, nan=np.inf))
    passed = bool(estimates[worst].high <= limit.most)
    return Verdict(limit, worst, estimates[worst], passed, () if passed else _pushing(results, worst, limit))


def _estimate(results: Results, outcome: AttackResult, limit: Limit) -> Estimate:
    if limit.fpr is None:
        return outcome.auc
    for rate in outcome.rates:
        if np.isclose(rate.fpr, limit.fpr):
            return rate.tpr
    records = results.records
    if records is None:
        raise FolderError(
            f"A TPR at {limit.fpr:g} FPR is not in the results, and records.parquet is missing to compute it."
        )
    persons = records["person"].to_numpy() if "person" in records else None
    scores, member = records[f"score_{outcome.name}"].to_numpy(), records["member"].to_numpy()
    return tpr_at_fpr(scores, member, limit.fpr, persons=persons)


def _pushing(results: Results, attack: str, limit: Limit) -> tuple[str, ...]:
    """Members that push the number up: the highest scores, and for a TPR only those that are called."""
    if results.records is None or np.isnan(_estimate(results, results.attack(attack), limit).high):
        return ()
    score = f"score_{attack}"
    members = results.records[results.records["member"] & results.records[score].notna()]
    if limit.fpr is not None:
        nonmembers = results.records.loc[~results.records["member"], score].to_numpy()
        members = members[members[score] >= threshold_at_fpr(nonmembers, limit.fpr)]
    return tuple(members.sort_values([score, "id"], ascending=[False, True])["id"].head(PUSHING).astype(str))
