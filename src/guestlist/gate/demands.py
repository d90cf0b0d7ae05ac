"""Requirements on an audit: a gate must not pass a leak that the audit could not detect."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
from scipy.special import expit, logit
from scipy.stats import norm

from guestlist.attacks import ATTACKS
from guestlist.attacks.combined import RULES
from guestlist.case import Figure
from guestlist.evaluate import Estimate
from guestlist.findings.attacks import CHANCE, AttackResult
from guestlist.findings.gated import Demand
from guestlist.findings.luck import SIGNIFICANCE_LEVEL
from guestlist.findings.results import Results
from guestlist.gate.policy import REQUIRED, Policy

# Evidence that takes the place of references: other models that were made for the same records, or the exact law of all.
IN_THEIR_PLACE = ("distilled", "left_out", "neighbours")
GL112 = "GL112"  # the headline attack ranks members below non-members
Judged = tuple[AttackResult, ...]


def sides(results: Results, judged: Judged, policy: Policy) -> Demand | None:
    """No attack ranks members below non-members, beyond chance: an AUC below 0.5 keeps every limit, whatever leaks.

    The members and non-members may have been interchanged, or a sign inverted. With many attacks, one of them has an interval
    below 0.5 by chance, so the upper ends hold together (Bonferroni), with the error of one side of a 95 % interval. A user who
    ignores GL112, the same check of the headline attack, accepts that.
    """
    reversed_headline = results.check(GL112)
    ignored_by_audit = reversed_headline is not None and reversed_headline.state == "ignored"
    if ignored_by_audit or GL112 in policy.ignore:
        return None
    highs = {outcome.name: upper_end(outcome.auc, SIGNIFICANCE_LEVEL / 2 / len(judged)) for outcome in judged}
    lowest = min(judged, key=lambda outcome: np.nan_to_num(highs[outcome.name], nan=np.inf))
    high = highs[lowest.name]
    values: dict[str, Figure] = {"attack": lowest.name, "auc": lowest.auc.value, "high": high}
    return Demand("sides", not high < CHANCE, values)


def upper_end(estimate: Estimate, error: float) -> float:
    """The upper end of a 95 % interval of an AUC, moved to where it has another one-sided error.

    The interval is symmetric in log-odds, so that its half-width there grows with the normal quantile.
    """
    value, high = logit(np.array([estimate.value, estimate.high]))
    if not np.isfinite(value) or not np.isfinite(high):  # 0 and 1 have no log-odds, and no estimate has none either
        return estimate.high
    return float(expit(value + (high - value) * norm.isf(error) / norm.isf(SIGNIFICANCE_LEVEL / 2)))


def comparison(results: Results, judged: Judged, policy: Policy) -> Demand | None:
    """An attack that compares models on the same record is among those judged, unless the policy does without."""
    if policy.without_references:
        return None
    comparing = [outcome.name for outcome in judged if compares(outcome.name)]
    return Demand("comparison", bool(comparing), {"references": _references(results), "judged": len(judged)})


def attacks(results: Results, judged: Judged, policy: Policy) -> Demand | None:
    """The attacks that the policy names were run."""
    if not policy.attacks:
        return None
    ran = [outcome.name for outcome in results.outcomes or ()]
    missing = [name for name in policy.attacks if name not in ran]
    return Demand("attacks", not missing, {"missing": ", ".join(missing), "ran": ", ".join(ran)})


def records(results: Results, judged: Judged, policy: Policy) -> Demand | None:
    """Enough members and enough non-members were asked about."""
    if not policy.least_records:
        return None
    who = results.subject
    members, nonmembers = (who.members, who.nonmembers) if who else (0, 0)
    values = {"least": policy.least_records, "members": members, "nonmembers": nonmembers}
    return Demand("records", min(members, nonmembers) >= policy.least_records, values)


def references(results: Results, judged: Judged, policy: Policy) -> Demand | None:
    """There were enough reference models."""
    if not policy.least_references:
        return None
    count = _references(results)
    return Demand(
        "references", count >= policy.least_references, {"least": policy.least_references, "references": count}
    )


def model_free_baseline(results: Results, judged: Judged, policy: Policy) -> Demand | None:
    """The audit looked whether members can be told from non-members without the model."""
    if policy.model_free_baseline != REQUIRED:
        return None
    return Demand("model_free_baseline", results.baseline is not None, {})


DEMANDS: dict[str, Callable[[Results, Judged, Policy], Demand | None]] = {
    "sides": sides,
    "comparison": comparison,
    "attacks": attacks,
    "records": records,
    "references": references,
    "model_free_baseline": model_free_baseline,
}


def compares(name: str) -> bool:
    """Return whether an attack compares models on the same record.

    Nothing is known about a user's own attack, so it does not count.
    """
    if name in ATTACKS:
        attack = ATTACKS[name]
        return attack.compares != "nothing" or attack.evidence in IN_THEIR_PLACE
    if name.split("_")[0] not in RULES:
        return False
    return any(compares(part) and re.search(rf"_{part}(_|$)", name) for part in ATTACKS)


def _references(results: Results) -> int:
    return results.references.count if results.references else 0
