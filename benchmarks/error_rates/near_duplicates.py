"""Error rates of the check for near-duplicates: ``python -m benchmarks.error_rates.near_duplicates``, about two minutes.

Either both sets have one distribution, with features of many shapes, or some non-members are changed copies of members.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from guestlist._diagnostics.core import MAX_TEST_P
from guestlist.models.input_checks import near_duplicates

REPEATS, SIZES = 500, ((60, 60), (200, 200), (1000, 300))
Draw = Callable[[int, int, np.random.Generator], tuple[np.ndarray, np.ndarray]]


def _same_source(draw: Callable[[int, np.random.Generator], np.ndarray]) -> Draw:
    def both_sets(members: int, nonmembers: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        both = draw(members + nonmembers, rng)
        return both[:members], both[members:]

    return both_sets


def _clusters(records: int, rng: np.random.Generator) -> np.ndarray:
    """Draw records around forty distant centres, rounded."""
    points = rng.standard_cauchy((40, 4))[rng.integers(0, 40, records)]
    return np.round(points + 0.05 * rng.normal(size=points.shape), 1)


SAME_SOURCE: dict[str, Draw] = {
    "5 normal features": _same_source(lambda records, rng: rng.normal(size=(records, 5))),
    "50 normal features": _same_source(lambda records, rng: rng.normal(size=(records, 50))),
    "20 binary features": _same_source(lambda records, rng: rng.integers(0, 2, (records, 20))),
    "40 clusters": _same_source(_clusters),
}


def with_near_duplicates(share: float, change: float = 0.1) -> Draw:
    """Return a function that draws non-members, some of which are members with a little noise in each of ten features."""

    def both_sets(members: int, nonmembers: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        inside, outside = rng.normal(size=(members, 10)), rng.normal(size=(nonmembers, 10))
        copies = int(share * nonmembers)
        outside[:copies] = inside[rng.integers(0, members, copies)] + change * rng.normal(size=(copies, 10))
        return inside, outside

    return both_sets


def flagged_share(draw: Draw, *, members: int, nonmembers: int, repeats: int) -> float:
    """Return the share of audits in which near-duplicates are claimed."""
    flagged = 0
    for repeat in range(repeats):
        results = near_duplicates(
            *draw(members, nonmembers, np.random.default_rng([1, repeat])), np.random.default_rng(0)
        )
        flagged += results is not None and results.p_value <= MAX_TEST_P
    return flagged / repeats


def main() -> None:
    simulations = {**SAME_SOURCE, **{f"{share:.0%} copies": with_near_duplicates(share) for share in (0.05, 0.1, 0.3)}}
    rows = []
    for members, nonmembers in SIZES:
        for name, draw in simulations.items():
            share = flagged_share(draw, members=members, nonmembers=nonmembers, repeats=REPEATS)
            print(f"{members} + {nonmembers}  {name:20} {share:.3f}", flush=True)
            rows.append({"members": members, "nonmembers": nonmembers, "simulation": name, "flagged": share})
    content = {
        "command": "python -m benchmarks.error_rates.near_duplicates",
        "level": MAX_TEST_P,
        "repeats": REPEATS,
        "rows": rows,
    }
    Path(__file__).with_suffix(".json").write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
