"""``python -m benchmarks.honesty.exposure``: false discovery rate and power of the list of exposed records.

Records differ in difficulty and in variance. Most are not memorised: a target that trained on them outputs the same as one that
did not.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.honesty.claims import case_of
from guestlist._findings import exposure
from guestlist._kernels import out_model_stats
from guestlist._views import Rotation
from guestlist.metrics import conformal_p_values

HERE = Path(__file__).parent
NOISES: dict[str, Callable[[np.random.Generator, tuple[int, int]], np.ndarray]] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "Student's t, 5": lambda rng, shape: rng.standard_t(5, size=shape) / np.sqrt(5 / 3),
    "skewed": lambda rng, shape: (rng.gamma(4, size=shape) - 4) / 2,
    "steps of one": lambda rng, shape: np.round(rng.normal(size=shape)),
}


@dataclass(frozen=True)
class World:
    """Every model in turn as the target, and (records,) true for memorised records."""

    rotation: Rotation
    remembered: np.ndarray


def mixed_world(noise: str, records: int, models: int, share: float, rng: np.random.Generator) -> World:
    """Simulate records that differ in difficulty and deviation; a share is memorised, by 2 to 6 standard deviations."""
    member = rng.random((models, records)) < 0.5
    difficulty, deviation = rng.normal(0, 4, records), np.exp(0.5 * rng.normal(size=records))
    remembered = rng.random(records) < share
    mu = np.where(remembered, rng.uniform(2, 6, records), 0.0)
    margin = difficulty + deviation * (mu * member + NOISES[noise](rng, member.shape))
    return World(Rotation({"margin": margin, "loss": -margin}, member, np.zeros(records, int)), remembered)


@dataclass(frozen=True)
class Lists:
    """Means over simulations: false discovery rate, power, and the same for two alternative lists.

    ``counted`` takes p-values by counting references; ``over_records`` compares a record's margin with that of non-members.
    """

    false: float
    standard_error: float
    found: float
    counted_false: float
    counted_found: float
    over_records_found: float


def lists(noise: str, repeats: int, records: int = 300, models: int = 33, share: float = 0.2, seed: int = 0) -> Lists:
    rows = []
    for number in range(repeats):
        world = mixed_world(noise, records, models, share, np.random.default_rng([seed, models, number]))
        case = case_of(world.rotation, ("loss",), np.zeros(records, int))
        target_values = exposure.flagged_records(case)
        assert target_values is not None
        member, margin = case.truth.member, world.rotation.values["margin"]
        counted = out_model_stats(margin[0], margin[1:], world.rotation.member[1:]).p_values
        over_records = conformal_p_values(margin[0], margin[0, ~member])
        others = [exposure.flagged(p_value, member) for p_value in (counted, over_records)]
        true = world.remembered & member
        rows.append([_rates(result, true) for result in (target_values.flagged, *others)])
    (false, results), (counted, counted_found), (_, over_records) = np.mean(rows, axis=0)
    error = np.std([row[0][0] for row in rows]) / np.sqrt(repeats)
    return Lists(*(float(x) for x in (false, error, results, counted, counted_found, over_records)))


def _rates(listed: np.ndarray, true: np.ndarray) -> tuple[float, float]:
    """Return the false share of the list, 0 for an empty one; and the share of true ones that is listed."""
    return (listed & ~true).sum() / max(listed.sum(), 1), (listed & true).sum() / max(true.sum(), 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=400)
    options = parser.parse_args()
    rows = []
    for noise in NOISES:
        for models, share in ((17, 0.2), (33, 0.2), (33, 0.05), (33, 0.0), (65, 0.2)):
            results = lists(noise, options.repeats, models=models, share=share)
            row = {"noise": noise, "models": models, "remembered": share}
            row |= {name: round(value, 4) for name, value in vars(results).items()}
            print(*row.values(), sep="  ", flush=True)
            rows.append(row)
            report = {
                "command": "python -m benchmarks.honesty.exposure",
                "repeats": options.repeats,
                "records": 300,
                "q": exposure.Q,
                "lists": rows,
            }
            (HERE / "exposure.json").write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
