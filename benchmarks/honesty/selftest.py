"""Does the self-test catch what is wrong, and nothing else? ``python -m benchmarks.honesty.selftest``.

Every attack of ``bad_attacks.py`` must fail for its reason, and every shipped attack must pass, with any seed. Attacks that fit
a classifier are left out here, as they take minutes per seed: the tests have them.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks.honesty.bad_attacks import BAD_ATTACKS
from guestlist.attacks import ATTACKS
from guestlist.collecting.evidence.table import EVIDENCE
from guestlist.selfcheck.contract import selftest

SHIPPED = tuple(
    name
    for name, attack in ATTACKS.items()
    if not attack.learns and (not attack.evidence or EVIDENCE[attack.evidence].made_up)
)


def missed(scale: float, seed: int) -> list[str]:
    """Bad attacks that were not caught for their reason."""
    found = selftest(list(BAD_ATTACKS), intervals=False, scale=scale, seed=seed).attacks
    return [
        check.name
        for check, words in zip(found, BAD_ATTACKS.values(), strict=True)
        if not any(words in problem for problem in check.problems)
    ]


def accused(scale: float, seed: int) -> dict[str, tuple[str, ...]]:
    """Shipped attacks with a problem."""
    found = selftest(SHIPPED, intervals=False, scale=scale, seed=seed).attacks
    return {check.name: check.problems for check in found if check.problems}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=0.25)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    found = {
        "command": "python -m benchmarks.honesty.selftest",
        **vars(options),
        "bad attacks": len(BAD_ATTACKS),
        "missed": {str(seed): missed(options.scale, seed) for seed in range(options.seeds)},
        "shipped attacks": len(SHIPPED),
        "accused": {str(seed): accused(options.scale, seed) for seed in range(options.seeds)},
    }
    print(json.dumps(found, indent=1))
    Path(__file__).with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
