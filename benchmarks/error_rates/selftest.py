"""Detection rate of broken attacks and false-failure rate of built-in ones: ``python -m benchmarks.error_rates.selftest``.

With any seed, every attack of ``broken_attacks.py`` must fail with the expected message, and every built-in attack must pass.
Attacks that fit a classifier take minutes per seed and are excluded. ``--attacks`` runs some attacks; the others keep their
results.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from scipy.stats import beta

from benchmarks.error_rates.broken_attacks import BROKEN_ATTACKS
from guestlist.attacks import ATTACKS
from guestlist.evidence import EVIDENCE
from guestlist.selfcheck.contract import selftest

RESULTS = Path(__file__).with_suffix(".json")
BUILT_IN = tuple(
    name
    for name, attack in ATTACKS.items()
    if not attack.learns and (not attack.evidence or EVIDENCE[attack.evidence].simulate)
)
BROKEN = {attack.__name__: attack for attack in BROKEN_ATTACKS}


def problems(names: list[str], scale: float, seed: int) -> dict[str, tuple[str, ...]]:
    """Return the problems that the self-test finds, by attack."""
    attacks = [BROKEN.get(name, name) for name in names]
    results = selftest(attacks, intervals=False, scale=scale, seed=seed).attacks
    return {check.name: check.problems for check in results}


def measured(names: list[str], scale: float, seeds: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return, for broken attacks, the shares of seeds in which they fail; for built-in ones, the numbers of failures."""
    results = [problems(names, scale, seed) for seed in range(seeds)]
    broken = {
        name: {
            "fails": sum(bool(result[name]) for result in results) / seeds,
            "fails with the expected message": sum(
                any(BROKEN_ATTACKS[BROKEN[name]] in text for text in result[name]) for result in results
            )
            / seeds,
        }
        for name in names
        if name in BROKEN
    }
    return broken, {name: sum(bool(result[name]) for result in results) for name in names if name not in BROKEN}


def summary(scale: float, seeds: int, broken: dict[str, Any], built_in: dict[str, int]) -> dict[str, Any]:
    runs, failures = seeds * len(built_in), sum(built_in.values())
    return {
        "command": "python -m benchmarks.error_rates.selftest",
        "scale": scale,
        "seeds": seeds,
        "runs of built-in attacks": runs,
        "false failures": failures,
        "false-failure rate, upper 95 % bound": round(float(beta.ppf(0.95, failures + 1, runs - failures)), 5),
        "failures of built-in attacks": built_in,
        "broken attacks": broken,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--attacks", nargs="*", choices=[*BROKEN, *BUILT_IN])
    options = parser.parse_args()
    broken, built_in = measured(options.attacks or [*BROKEN, *BUILT_IN], options.scale, options.seeds)
    if options.attacks:
        stored = json.loads(RESULTS.read_text("utf-8"))
        if (stored["scale"], stored["seeds"]) != (options.scale, options.seeds):
            parser.error("--attacks: use the scale and seeds of selftest.json")
        broken, built_in = (
            {**stored["broken attacks"], **broken},
            {**stored["failures of built-in attacks"], **built_in},
        )
    results = summary(options.scale, options.seeds, broken, built_in)
    print(json.dumps(results, indent=1))
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
