"""What an audit must have before its figures count: a gate must not pass what an audit could not have seen."""

from __future__ import annotations

import re
from collections.abc import Callable

from guestlist.attacks import ATTACKS
from guestlist.attacks.combined import RULES
from guestlist.case import Figure
from guestlist.findings.attacks import CHANCE, AttackResult
from guestlist.findings.gated import Demand
from guestlist.findings.results import Results
from guestlist.gate.policy import REQUIRED, Policy

# Evidence that takes the place of references: other models that were made for the same records, or the exact law of all.
IN_THEIR_PLACE = ("distilled", "left_out", "neighbours")
Judged = tuple[AttackResult, ...]


def sides(results: Results, judged: Judged, policy: Policy) -> Demand:
    """No attack calls non-members, beyond chance: then the sides may have been interchanged, or a sign inverted.

    Below a half an AUC stays below every limit, however much the model gives away.
    """
    lowest = min(judged, key=lambda outcome: (outcome.auc.high != outcome.auc.high, outcome.auc.high))  # NaN last
    figures: dict[str, Figure] = {"attack": lowest.name, "auc": lowest.auc.value, "high": lowest.auc.high}
    return Demand("sides", not lowest.auc.high < CHANCE, figures)


def comparison(results: Results, judged: Judged, policy: Policy) -> Demand | None:
    """An attack that compares models on the same record is among those judged, unless the policy does without."""
    if policy.without_references:
        return None
    found = [outcome.name for outcome in judged if compares(outcome.name)]
    return Demand("comparison", bool(found), {"references": _references(results), "judged": len(judged)})


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
    figures = {"least": policy.least_records, "members": members, "nonmembers": nonmembers}
    return Demand("records", min(members, nonmembers) >= policy.least_records, figures)


def references(results: Results, judged: Judged, policy: Policy) -> Demand | None:
    """There were enough reference models."""
    if not policy.least_references:
        return None
    count = _references(results)
    return Demand(
        "references", count >= policy.least_references, {"least": policy.least_references, "references": count}
    )


def blind_baseline(results: Results, judged: Judged, policy: Policy) -> Demand | None:
    """The audit looked whether members can be told from non-members without the model."""
    if policy.blind_baseline != REQUIRED:
        return None
    return Demand("blind_baseline", results.blind is not None, {})


DEMANDS: dict[str, Callable[[Results, Judged, Policy], Demand | None]] = {
    "sides": sides,
    "comparison": comparison,
    "attacks": attacks,
    "records": records,
    "references": references,
    "blind_baseline": blind_baseline,
}


def compares(name: str) -> bool:
    """Whether an attack, by its name in the results, compares models on the same record.

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
