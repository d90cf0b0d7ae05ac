"""Error rates of the check for near-duplicates: ``python -m benchmarks.honesty.near_duplicates``, about two minutes.

Both sets have one distribution, with features of many shapes, or some non-members are changed copies of members.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from guestlist._diagnostics.core import MAX_TEST_P
from guestlist.models.input_checks import near_duplicates

REPEATS, SIZES = 500, ((60, 60), (200, 200), (1000, 300))
Sides = Callable[[int, int, np.random.Generator], tuple[np.ndarray, np.ndarray]]


def _alike(draw: Callable[[int, np.random.Generator], np.ndarray]) -> Sides:
    def sides(members: int, nonmembers: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        both = draw(members + nonmembers, rng)
        return both[:members], both[members:]

    return sides


def _clusters(records: int, rng: np.random.Generator) -> np.ndarray:
    """Draw records around forty distant centres, rounded."""
    placements = rng.standard_cauchy((40, 4))[rng.integers(0, 40, records)]
    return np.round(placements + 0.05 * rng.normal(size=placements.shape), 1)


SAME_SOURCE: dict[str, Sides] = {
    "5 normal features": _alike(lambda records, rng: rng.normal(size=(records, 5))),
    "50 normal features": _alike(lambda records, rng: rng.normal(size=(records, 50))),
    "20 yes or no": _alike(lambda records, rng: rng.integers(0, 2, (records, 20))),
    "40 clusters": _alike(_clusters),
}


def with_near_duplicates(share: float, change: float = 0.1) -> Sides:
    """Return a function that draws non-members, some of which are members with a little noise in each of ten features."""

    def sides(members: int, nonmembers: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        inside, outside = rng.normal(size=(members, 10)), rng.normal(size=(nonmembers, 10))
        copies = int(share * nonmembers)
        outside[:copies] = inside[rng.integers(0, members, copies)] + change * rng.normal(size=(copies, 10))
        return inside, outside

    return sides


def alarms(sides: Sides, *, members: int, nonmembers: int, repeats: int) -> float:
    """Return the share of audits in which near-duplicates are claimed."""
    raised = 0
    for repeat in range(repeats):
        results = near_duplicates(
            *sides(members, nonmembers, np.random.default_rng([1, repeat])), np.random.default_rng(0)
        )
        raised += results is not None and results.p_value <= MAX_TEST_P
    return raised / repeats


def main() -> None:
    worlds = {**SAME_SOURCE, **{f"{share:.0%} copies": with_near_duplicates(share) for share in (0.05, 0.1, 0.3)}}
    rows = []
    for members, nonmembers in SIZES:
        for name, sides in worlds.items():
            share = alarms(sides, members=members, nonmembers=nonmembers, repeats=REPEATS)
            print(f"{members} + {nonmembers}  {name:20} {share:.3f}", flush=True)
            rows.append({"members": members, "nonmembers": nonmembers, "world": name, "alarms": share})
    content = {
        "command": "python -m benchmarks.honesty.near_duplicates",
        "level": MAX_TEST_P,
        "repeats": REPEATS,
        "rows": rows,
    }
    Path(__file__).with_suffix(".json").write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
