"""``python -m benchmarks.honesty.persons``: coverage of 95 % intervals if persons have several records.

Each interval is computed twice from the same scores: with person identifiers and without.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from scipy.special import ndtr

from guestlist.metrics import (
    CrossFit,
    Estimate,
    advantage,
    auc,
    auc_difference,
    best_threshold,
    positive_predictive_value,
    rates_at_level,
    roc_band,
    tpr_at_fpr,
)
from guestlist.selfcheck.simulations import Visits

HERE = Path(__file__).parent
WORLDS = {
    "no leak": Visits(),
    "leak": Visits(shift=1.0),
    "no leak, uneven": Visits(uneven=True),
    "leak, uneven": Visits(shift=1.0, uneven=True),
    "leak, much alike": Visits(shift=1.0, correlation=0.9),
}
FPR, PRIOR = 0.05, 0.2
Scores, Member, Persons = np.ndarray, np.ndarray, np.ndarray | None


def _advantage(world: Visits, scores: Scores, member: Member, persons: Persons) -> tuple[Estimate, float]:
    """Return the advantage; the truth is that of the two fitted thresholds."""
    second = CrossFit().halves(member, persons)
    truth = 0.0
    for judge in (second, ~second):
        tpr, fpr = world.rates(best_threshold(scores[~judge], member[~judge]))
        truth += tpr * judge[member].mean() - fpr * judge[~member].mean()
    return advantage(scores, member, clusters=persons), truth


def _band(world: Visits, scores: Scores, member: Member, persons: Persons) -> tuple[Estimate, float]:
    low, high = roc_band(scores, member, np.array([0.5]), clusters=persons)
    return Estimate(float("nan"), float(low[0]), float(high[0])), world.tpr(0.5)


def _share(world: Visits, scores: Scores, member: Member, persons: Persons) -> tuple[Estimate, float]:
    """Return the share of flagged members, by a test with exact p-values."""
    return rates_at_level(ndtr(-scores), member, FPR, clusters=persons)[1], world.tpr(FPR)


# Functions that return an interval and its truth.
FIGURES: dict[str, Callable[[Visits, Scores, Member, Persons], tuple[Estimate, float]]] = {
    "auc": lambda world, scores, member, persons: (auc(scores, member, clusters=persons), world.auc),
    "auc_difference": lambda world, scores, member, persons: (
        auc_difference(scores, -scores, member, clusters=persons),
        2 * world.auc - 1,
    ),
    "advantage": _advantage,
    "tpr at 5 %": lambda world, scores, member, persons: (
        tpr_at_fpr(scores, member, FPR, clusters=persons),
        world.tpr(FPR),
    ),
    "roc_band at 50 %": _band,
    "ppv at 5 %": lambda world, scores, member, persons: (
        positive_predictive_value(scores, member, FPR, PRIOR, clusters=persons),
        world.ppv(FPR, PRIOR),
    ),
    "share of members": _share,
}


@dataclass(frozen=True)
class Held:
    """Coverage of an interval with person identifiers (``told``) and without, and its mean width with them."""

    told: float
    untold: float
    width: float


def coverage(world: Visits, metric: str, samples: int) -> Held:
    """Measure coverage over some samples; without person identifiers, over a fifth of them."""
    held: dict[bool, list[bool]] = {True: [], False: []}
    width = 0.0
    for k in range(samples):
        scores, member, persons = world.draw(np.random.default_rng([17, k]))
        for row in (True, False) if k % 5 == 0 else (True,):
            interval, truth = FIGURES[metric](world, scores, member, persons if row else None)
            held[row].append(interval.low - 1e-12 <= truth <= interval.high + 1e-12)
            width += row * (interval.high - interval.low) / samples
    return Held(float(np.mean(held[True])), float(np.mean(held[False])), round(width, 4))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2000)
    options = parser.parse_args()
    rows = []
    for name, world in WORLDS.items():
        for metric in FIGURES:
            held = coverage(world, metric, options.samples)
            rows.append({"world": name, **asdict(world), "figure": metric, **asdict(held)})
            print(
                f"{name:32} {metric:18} {held.told:.3f}  not told {held.untold:.3f}  width {held.width:.3f}", flush=True
            )
    results = {
        "command": "python -m benchmarks.honesty.persons",
        "samples": options.samples,
        "nominal": 0.95,
        "smallest": min(row["told"] for row in rows),
        "rows": rows,
    }
    (HERE / "persons.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
