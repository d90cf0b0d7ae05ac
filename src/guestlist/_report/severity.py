"""Severity of a leak, from the ends of confidence intervals."""

import math
from dataclasses import dataclass

from guestlist._diagnostics.table import undermines_verdict
from guestlist._findings import AttackResult, Rate, Results
from guestlist._report import wording

LOW_FPR = 0.01  # largest FPR at which an attack identifies single records
# With too few non-members to support that rate, an attack identifies records at the next rate if it flags far more members.
FAR_ABOVE = 5  # times the FPR
HIGH_RATIO = 10  # times guessing, at the lower end of the TPR
MODERATE_RATIO = 2
MODERATE_AUC = 0.6  # lower end of the AUC
POWER_AUC = 0.6  # "none found" takes 80 % power to detect this AUC

NONE_FOUND = "none found"
CANNOT_TELL = "cannot tell"
LOW = "low"
MODERATE = "moderate"
HIGH = "high"
ORDER = (NONE_FOUND, CANNOT_TELL, LOW, MODERATE, HIGH)
LEAKS = (LOW, MODERATE, HIGH)

RULES = {
    HIGH: f"low end {HIGH_RATIO}+ times guessing",
    MODERATE: f"low end {MODERATE_RATIO}+ times guessing (high: {HIGH_RATIO}+) or AUC {MODERATE_AUC}+",
    LOW: "better than guessing, but by less than for moderate",
    NONE_FOUND: f"no attack is better than guessing; a leak of AUC {POWER_AUC} is detected with probability 80%",
    CANNOT_TELL: "too few records, sets that differ without the model, or an open check",
}
RULE_NOTE = "Every comparison uses the lower end of the 95% confidence interval and is corrected for multiple testing."


@dataclass(frozen=True)
class AttackerRow:
    """One attacker of the first screen.

    Attributes:
        attacker: Description of the attacker.
        attack: The attack of this row.
        severity: One of ``ORDER``.
    """

    attacker: str
    attack: AttackResult
    severity: str


def attacker_rows(results: Results) -> tuple[AttackerRow, ...]:
    """Return the attackers that were tested; none where the results name no attack."""
    tested = {
        wording.QUERIER: wording.headline_attack(results),
        wording.FILE_HOLDER: wording.file_holder_attack(results),
    }
    return tuple(
        AttackerRow(attacker, attack, attack_severity(results, attack))
        for attacker, attack in tested.items()
        if attack is not None
    )


def audit_severity(results: Results) -> str:
    """Return the worst severity among the attackers that were tested."""
    severities = [row.severity for row in attacker_rows(results)]
    return max(severities, key=ORDER.index, default=CANNOT_TELL)


def attack_severity(results: Results, attack: AttackResult) -> str:
    """Grade one attack by ``RULES``."""
    if results.baseline is not None and results.baseline.significant:
        return CANNOT_TELL
    if attack.beats_guessing:
        return _leak_severity(attack)
    undermined = any(map(undermines_verdict, results.checks or ()))
    if math.isnan(attack.auc.value) or attack.ranks_below or undermined:
        return CANNOT_TELL
    if any(outcome.beats_guessing for outcome in results.outcomes or () if outcome.access == attack.access):
        return LOW
    if attack.detectable_auc <= POWER_AUC:
        return NONE_FOUND
    return CANNOT_TELL


def _leak_severity(attack: AttackResult) -> str:
    rate = identifying_rate(attack)
    ratio = rate.tpr.low / rate.fpr if rate else 0.0  # times guessing
    if ratio >= HIGH_RATIO:
        return HIGH
    if ratio >= MODERATE_RATIO or (attack.ranks_above and attack.auc.low >= MODERATE_AUC):
        return MODERATE
    return LOW


def identifying_rate(attack: AttackResult) -> Rate | None:
    """Return the rate at which the attack identifies single records; None if there is no evidence that it does."""
    beaten = [rate for rate in attack.rates if rate.beats_guessing]
    identifying = [rate for rate in beaten if rate.fpr <= LOW_FPR]
    if not identifying:
        identifying = [rate for rate in beaten if _far_above(rate, attack)]
    if not identifying:
        return None
    return next((rate for rate in identifying if rate.resolution == "good"), identifying[-1])


def displayed_rate(attack: AttackResult) -> Rate | None:
    """Return the rate that the picture of 100 people shows; None where every estimate is withheld.

    It is the rate at which single records are identified, else the one closest to ``LOW_FPR``.
    """
    rate = identifying_rate(attack)
    if rate is not None:
        return rate
    known = [rate for rate in attack.rates if not math.isnan(rate.tpr.value) and rate.fpr >= LOW_FPR]
    return min(known, key=lambda rate: rate.fpr, default=None)


def _far_above(rate: Rate, attack: AttackResult) -> bool:
    """Test for identified records at the smallest FPR that the non-members support, if it is above ``LOW_FPR``."""
    supported = [other.fpr for other in attack.rates if not math.isnan(other.detectable)]
    return bool(supported) and LOW_FPR < rate.fpr == min(supported) and rate.tpr.low >= max(0.1, FAR_ABOVE * rate.fpr)
