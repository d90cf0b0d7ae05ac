"""``python -m benchmarks.error_rates.exposure``: false discovery rate and power of the list of exposed records.

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

from benchmarks.error_rates.claims import case_of
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
class MixedSimulation:
    """Outputs of all models, and (records,) true for memorised records."""

    rotation: Rotation
    memorised: np.ndarray


def mixed_simulation(noise: str, records: int, models: int, share: float, rng: np.random.Generator) -> MixedSimulation:
    """Simulate records that differ in difficulty and deviation; a share is memorised, by 2 to 6 standard deviations."""
    member = rng.random((models, records)) < 0.5
    difficulty, deviation = rng.normal(0, 4, records), np.exp(0.5 * rng.normal(size=records))
    memorised = rng.random(records) < share
    mu = np.where(memorised, rng.uniform(2, 6, records), 0.0)
    margin = difficulty + deviation * (mu * member + NOISES[noise](rng, member.shape))
    return MixedSimulation(Rotation({"margin": margin, "loss": -margin}, member, np.zeros(records, int)), memorised)


@dataclass(frozen=True)
class Lists:
    """Means over simulations: false discovery rate, power, and the same for two alternative lists.

    ``counted`` takes p-values by counting references; ``over_records`` compares a record's margin with that of non-members.
    """

    false_discovery_rate: float
    standard_error: float
    power: float
    counted_false_discovery_rate: float
    counted_power: float
    over_records_power: float


def lists(noise: str, repeats: int, records: int = 300, models: int = 33, share: float = 0.2, seed: int = 0) -> Lists:
    """Measure the lists in simulations with a share of memorised records."""
    rows = []
    for number in range(repeats):
        simulation = mixed_simulation(noise, records, models, share, np.random.default_rng([seed, models, number]))
        case = case_of(simulation.rotation, ("loss",), np.zeros(records, int))
        records_flagged = exposure.flagged_records(case)
        assert records_flagged is not None
        member, margin = case.truth.member, simulation.rotation.values["margin"]
        counted = out_model_stats(margin[0], margin[1:], simulation.rotation.member[1:]).p_values
        over_records = conformal_p_values(margin[0], margin[0, ~member])
        alternatives = [exposure.flagged(p_value, member) for p_value in (counted, over_records)]
        true = simulation.memorised & member
        rows.append([_rates(flagged, true) for flagged in (records_flagged.flagged, *alternatives)])
    by_model, by_count, by_record = np.mean(rows, axis=0)
    return Lists(
        false_discovery_rate=float(by_model[0]),
        standard_error=float(np.std([row[0][0] for row in rows]) / np.sqrt(repeats)),
        power=float(by_model[1]),
        counted_false_discovery_rate=float(by_count[0]),
        counted_power=float(by_count[1]),
        over_records_power=float(by_record[1]),
    )


def _rates(listed: np.ndarray, true: np.ndarray) -> tuple[float, float]:
    """Return the false share of a list, 0 if it is empty, and the share of memorised records that it contains."""
    return (listed & ~true).sum() / max(listed.sum(), 1), (listed & true).sum() / max(true.sum(), 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=400)
    options = parser.parse_args()
    rows = []
    for noise in NOISES:
        for models, share in ((17, 0.2), (33, 0.2), (33, 0.05), (33, 0.0), (65, 0.2)):
            results = lists(noise, options.repeats, models=models, share=share)
            row = {"noise": noise, "models": models, "memorised": share}
            row |= {name: round(value, 4) for name, value in vars(results).items()}
            print(*row.values(), sep="  ", flush=True)
            rows.append(row)
            report = {
                "command": "python -m benchmarks.error_rates.exposure",
                "repeats": options.repeats,
                "records": 300,
                "q": exposure.Q,
                "lists": rows,
            }
            (HERE / "exposure.json").write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
