"""Error rates of a gate: ``python -m benchmarks.error_rates.gate``.

Simulated targets are evaluated by all default attacks that need no further evidence, with a limit on the AUC:

* if nothing leaks, how often the gate fails because an attack's AUC is below 0.5 by chance: with the upper end corrected for the
  number of attacks, and without the correction;
* if members leak and the two sets *were* interchanged, how often it passes: with a large leak, and with one at the limit;
* if members are exposed and no attack compares with references, how often it passes;
* if the true AUC of one attack is the limit, how often it passes: at most the one-sided error of the interval.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from scipy.special import ndtr, ndtri

from guestlist._audit.gate import Policy, evaluate_policy
from guestlist._findings.attacks import AttackResult, evaluate_attack
from guestlist._findings.results import Gated, Results
from guestlist.attacks import ATTACKS
from guestlist.selfcheck.simulations import gaussian_simulation

NAMES = tuple(name for name, attack in ATTACKS.items() if attack.default and not attack.evidence)
LIMIT = 0.6


def outcomes(
    shift: float, records: int, references: int, seed: int, names: tuple[str, ...], interchanged: bool = False
) -> tuple[AttackResult, ...]:
    simulation = gaussian_simulation(shift, records=records, models=1 + references, seed=seed)
    view, member = simulation.facing(0), simulation.member[0]
    truth = ~member if interchanged else member
    usable = (name for name in names if ATTACKS[name].references <= references)
    return tuple(evaluate_attack(name, ATTACKS[name], ATTACKS[name].score(view), truth, view) for name in usable)


def failed(gated: Gated, code: str) -> bool:
    return any(demand.code == code and not demand.passed for demand in gated.demands)


def simulate(audits: int, records: int, references: int) -> dict[str, float]:
    """Return the share of audits with each outcome of the gate."""
    shift = 1.0
    limit, at_limit = Policy(max_auc=LIMIT), Policy(max_auc=float(ndtr(shift / 2)), without_references=True)
    results = dict.fromkeys(
        (
            "nothing leaks: AUC below 0.5 by chance",
            "nothing leaks: an uncorrected upper end below 0.5",
            "interchanged: passed",
            "interchanged, AUC of the loss at the limit: passed",
            "no references: passed",
            "no references, allowed by the policy: passed",
            "true AUC at the limit: passed",
        ),
        0,
    )
    for seed in range(audits):
        nothing = Results(outcomes=outcomes(0.0, records, references, seed, NAMES))
        interchanged, interchanged_at_limit = (
            evaluate_policy(
                Results(outcomes=outcomes(leak, records, references, seed, NAMES, interchanged=True)), limit
            )
            for leak in (shift, 2 * float(ndtri(LIMIT)))
        )
        small = Results(outcomes=outcomes(0.2, records, 0, seed, ("loss", "entropy", "mentr")))
        # The loss compares margins that differ by difficulty and by noise, each of variance 1: an AUC of Phi(shift / 2).
        result = evaluate_policy(Results(outcomes=outcomes(shift, records, 0, seed, ("loss",))), at_limit)
        counts = (
            failed(evaluate_policy(nothing, limit), "sides"),
            any(outcome.auc.high < 0.5 for outcome in nothing.outcomes or ()),
            interchanged.passed,
            interchanged_at_limit.passed,
            evaluate_policy(small, Policy(max_auc=0.7)).passed,
            evaluate_policy(small, Policy(max_auc=0.7, without_references=True)).passed,
            result.passed,
        )
        for name, count in zip(results, counts, strict=True):
            results[name] += count
    return {name: round(count / audits, 4) for name, count in results.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--audits", type=int, default=400)
    parser.add_argument("--records", type=int, default=600)
    parser.add_argument("--references", type=int, default=16)
    options = parser.parse_args()
    metrics = simulate(options.audits, options.records, options.references)
    for name, share in metrics.items():
        print(f"{name:40s} {share:.2%}")
    results = {
        "command": "python -m benchmarks.error_rates.gate",
        **vars(options),
        "attacks": len(NAMES),
        "shares": metrics,
    }
    Path(__file__).with_suffix(".json").write_text(json.dumps(results, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
