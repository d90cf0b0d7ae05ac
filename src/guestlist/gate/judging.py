"""One limit, held against the attacks of an audit."""

from __future__ import annotations

import numpy as np

from guestlist.errors import FolderError
from guestlist.evaluate import Estimate, conformal_p_values, threshold_at_fpr, tpr_at_fpr
from guestlist.findings.attacks import AttackResult
from guestlist.findings.gated import Limit, Sizes, Verdict
from guestlist.findings.places import MAX_P_VALUE, top_k_ties
from guestlist.findings.results import Results
from guestlist.gate.settling import sample_size_factor

MAX_DRIVERS = 10


def limited_attacks(results: Results, attacks: tuple[str, ...] = ()) -> tuple[AttackResult, ...]:
    """The attacks that limits are held against: those named, or all that were run."""
    outcomes = tuple(results.attack(name) for name in attacks) or (results.outcomes or ())
    if not outcomes:
        raise FolderError("The results hold no attack to judge: run the audit again.")
    return outcomes


def evaluate_limit(results: Results, limit: Limit, attacks: tuple[str, ...] = ()) -> Verdict:
    """Hold the audit's attacks (all of them, or those named) against one limit."""
    estimates = {outcome.name: _estimate(results, outcome, limit) for outcome in limited_attacks(results, attacks)}
    # A withheld number cannot pass, so NaN counts as the worst.
    worst = max(estimates, key=lambda name: np.nan_to_num(estimates[name].high, nan=np.inf))
    estimate = estimates[worst]
    passed = bool(estimate.high <= limit.most)
    drivers, tied = ((), 0) if passed else _drivers(results, worst, limit)
    return Verdict(
        limit=limit,
        attack=worst,
        estimate=estimate,
        passed=passed,
        margin=limit.most - estimate.high,
        sample_size_needed=None if passed else _sample_size_needed(results, estimate, limit),
        drivers=drivers,
        tied=tied,
    )


def _estimate(results: Results, outcome: AttackResult, limit: Limit) -> Estimate:
    if limit.fpr is None:
        return outcome.auc if limit.measure == "auc" else outcome.advantage
    for rate in outcome.rates:
        if np.isclose(rate.fpr, limit.fpr):
            return rate.tpr
    records = results.records
    if records is None:
        raise FolderError(
            f"A TPR at {limit.fpr:g} FPR is not in the results, and records.parquet is missing to compute it."
        )
    scores = records[f"score_{outcome.name}"].to_numpy()
    member = records["member"].to_numpy()
    persons = records["person"].to_numpy() if "person" in records else None
    return tpr_at_fpr(scores, member, limit.fpr, clusters=persons)


def _sample_size_needed(results: Results, estimate: Estimate, limit: Limit) -> Sizes | None:
    times = sample_size_factor(estimate, limit)
    if results.subject is None or not np.isfinite(times):
        return None
    return Sizes(*(int(np.ceil(times * side)) for side in (results.subject.members, results.subject.nonmembers)))


def _drivers(results: Results, attack: str, limit: Limit) -> tuple[tuple[str, ...], int]:
    """Members that push the number up, and how many share the next place.

    They have the highest scores, with a small p-value among non-members; for a TPR only those that are called.
    """
    if results.records is None or np.isnan(_estimate(results, results.attack(attack), limit).high):
        return (), 0
    member = results.records["member"].to_numpy(bool)
    scores = results.records[f"score_{attack}"].to_numpy(float)
    outside = scores[~member & ~np.isnan(scores)]
    candidates = member & (conformal_p_values(scores, outside) <= MAX_P_VALUE)
    if limit.fpr is not None:
        candidates &= scores >= threshold_at_fpr(outside, limit.fpr)
    names = results.records["id"].to_numpy()[candidates]
    top = top_k_ties([-scores[candidates]], names, MAX_DRIVERS, MAX_DRIVERS)
    return tuple(str(names[row]) for row in top.rows), top.left_out
