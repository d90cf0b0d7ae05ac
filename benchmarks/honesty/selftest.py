"""Detection rate of broken attacks and false-failure rate of built-in ones: ``python -m benchmarks.honesty.selftest``.

Every attack of ``bad_attacks.py`` must fail for its reason, and every built-in attack must pass, with any seed. Attacks that
fit a classifier take minutes per seed and are excluded by default (``--learners`` checks only those).
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

from scipy.stats import beta

from benchmarks.honesty.bad_attacks import BAD_ATTACKS
from guestlist.attacks import ATTACKS
from guestlist.collecting.evidence.table import EVIDENCE
from guestlist.selfcheck.contract import selftest

AVAILABLE = [name for name, attack in ATTACKS.items() if not attack.evidence or EVIDENCE[attack.evidence].made_up]
SHIPPED = tuple(name for name in AVAILABLE if not ATTACKS[name].learns)
LEARNERS = tuple(name for name in AVAILABLE if ATTACKS[name].learns)


def missed(scale: float, seed: int) -> list[str]:
    """Return the broken attacks that did not fail for their reason."""
    found = selftest(list(BAD_ATTACKS), intervals=False, scale=scale, seed=seed).attacks
    return [
        check.name
        for check, words in zip(found, BAD_ATTACKS.values(), strict=True)
        if not any(words in problem for problem in check.problems)
    ]


def accused(scale: float, seed: int, names: tuple[str, ...] = SHIPPED) -> dict[str, tuple[str, ...]]:
    """Return the built-in attacks that failed, with their problems."""
    found = selftest(names, intervals=False, scale=scale, seed=seed).attacks
    return {check.name: check.problems for check in found if check.problems}


def measured(scale: float, seeds: int) -> dict[str, object]:
    """Return detection rates and the false-failure rate over seeds."""
    not_caught: Counter[str] = Counter()
    failed: dict[str, dict[str, tuple[str, ...]]] = {}
    for seed in range(seeds):
        not_caught.update(missed(scale, seed))
        failed[str(seed)] = accused(scale, seed)
        print(f"seed {seed}: missed {dict(not_caught)}, failed {failed[str(seed)]}", flush=True)
    runs, failures = seeds * len(SHIPPED), sum(map(len, failed.values()))
    return {
        "bad attacks": len(BAD_ATTACKS),
        "detection rate": {attack.__name__: 1 - not_caught[attack.__name__] / seeds for attack in BAD_ATTACKS},
        "built-in attacks": len(SHIPPED),
        "runs": runs,
        "false failures": failures,
        "false-failure rate, upper 95 % bound": round(float(beta.ppf(0.95, failures + 1, runs - failures)), 5),
        "accused": failed,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--learners", action="store_true", help="Check attacks that fit a classifier; write no file.")
    options = parser.parse_args()
    if options.learners:
        print({seed: accused(options.scale, seed, LEARNERS) for seed in range(options.seeds)})
        return
    found = {
        "command": "python -m benchmarks.honesty.selftest",
        "scale": options.scale,
        "seeds": options.seeds,
        **measured(options.scale, options.seeds),
    }
    print(json.dumps(found, indent=1))
    Path(__file__).with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
