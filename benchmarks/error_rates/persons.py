"""``python -m benchmarks.error_rates.persons``: coverage of 95 % intervals if persons have several records.

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
SIMULATIONS = {
    "no leak": Visits(),
    "leak": Visits(shift=1.0),
    "no leak, uneven": Visits(uneven=True),
    "leak, uneven": Visits(shift=1.0, uneven=True),
    "leak, high correlation": Visits(shift=1.0, correlation=0.9),
}
FPR, PRIOR = 0.05, 0.2
Scores, Member, Persons = np.ndarray, np.ndarray, np.ndarray | None


def _advantage(simulation: Visits, scores: Scores, member: Member, persons: Persons) -> tuple[Estimate, float]:
    """Return the advantage; the truth is that of the two fitted thresholds."""
    second = CrossFit().halves(member, persons)
    truth = 0.0
    for half in (second, ~second):
        tpr, fpr = simulation.rates(best_threshold(scores[~half], member[~half]))
        truth += tpr * half[member].mean() - fpr * half[~member].mean()
    return advantage(scores, member, clusters=persons), truth


def _band(simulation: Visits, scores: Scores, member: Member, persons: Persons) -> tuple[Estimate, float]:
    low, high = roc_band(scores, member, np.array([0.5]), clusters=persons)
    return Estimate(float("nan"), float(low[0]), float(high[0])), simulation.tpr(0.5)


def _share(simulation: Visits, scores: Scores, member: Member, persons: Persons) -> tuple[Estimate, float]:
    """Return the share of flagged members, by a test with exact p-values."""
    return rates_at_level(ndtr(-scores), member, FPR, clusters=persons)[1], simulation.tpr(FPR)


# Functions that return an interval and its truth.
METRICS: dict[str, Callable[[Visits, Scores, Member, Persons], tuple[Estimate, float]]] = {
    "auc": lambda simulation, scores, member, persons: (auc(scores, member, clusters=persons), simulation.auc),
    "auc_difference": lambda simulation, scores, member, persons: (
        auc_difference(scores, -scores, member, clusters=persons),
        2 * simulation.auc - 1,
    ),
    "advantage": _advantage,
    "tpr at 5 %": lambda simulation, scores, member, persons: (
        tpr_at_fpr(scores, member, FPR, clusters=persons),
        simulation.tpr(FPR),
    ),
    "roc_band at 50 %": _band,
    "ppv at 5 %": lambda simulation, scores, member, persons: (
        positive_predictive_value(scores, member, FPR, PRIOR, clusters=persons),
        simulation.ppv(FPR, PRIOR),
    ),
    "share of members": _share,
}


@dataclass(frozen=True)
class Coverage:
    """Coverage of an interval with person identifiers and without, and its mean width with them."""

    with_identifiers: float
    without_identifiers: float
    width: float


def coverage(simulation: Visits, metric: str, samples: int) -> Coverage:
    """Measure coverage over some samples; without person identifiers, over a fifth of them."""
    covered: dict[bool, list[bool]] = {True: [], False: []}
    width = 0.0
    for k in range(samples):
        scores, member, persons = simulation.draw(np.random.default_rng([17, k]))
        for identified in (True, False) if k % 5 == 0 else (True,):
            interval, truth = METRICS[metric](simulation, scores, member, persons if identified else None)
            covered[identified].append(interval.low - 1e-12 <= truth <= interval.high + 1e-12)
            width += identified * (interval.high - interval.low) / samples
    return Coverage(float(np.mean(covered[True])), float(np.mean(covered[False])), round(width, 4))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2000)
    options = parser.parse_args()
    rows = []
    for name, simulation in SIMULATIONS.items():
        for metric in METRICS:
            measured = coverage(simulation, metric, options.samples)
            rows.append({"simulation": name, **asdict(simulation), "metric": metric, **asdict(measured)})
            print(
                f"{name:32} {metric:18} {measured.with_identifiers:.3f}  "
                f"without identifiers {measured.without_identifiers:.3f}  width {measured.width:.3f}",
                flush=True,
            )
    results = {
        "command": "python -m benchmarks.error_rates.persons",
        "samples": options.samples,
        "nominal": 0.95,
        "lowest coverage": min(row["with_identifiers"] for row in rows),
        "rows": rows,
    }
    (HERE / "persons.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
