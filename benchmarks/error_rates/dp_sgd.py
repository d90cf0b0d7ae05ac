"""``python -m benchmarks.error_rates.dp_sgd``: contradictions of the epsilon of private training, with noise and without.

Canaries are random records with random labels, which a model can only memorise. A linear model with more features than records
memorises all of them without noise.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import guestlist as gl

HERE = Path(__file__).parent
EPSILON, DELTA = 1.0, 1e-5
RATE, EPOCHS, LEARNING_RATE = 0.1, 6, 2.0
FEATURES = 4  # features per record


@dataclass(frozen=True)
class Row:
    """Share of contradicted claims, and bounds."""

    noise: str
    runs: int
    contradicted: float
    mean_bound: float
    largest_bound: float
    provable: float
    mean_auc: float


def audited(seed: int, noise: float, records: int) -> gl.Results:
    """Audit one model of canaries with randomised inclusion, with its claim, by its losses."""
    import torch

    rng = np.random.default_rng([3, seed])
    features = FEATURES * records
    x = (rng.normal(size=(records, features)) / np.sqrt(features)).astype(np.float32)
    recipe = gl.defences.DpSgd(noise=noise, rate=RATE, epochs=EPOCHS, learning_rate=LEARNING_RATE)
    return gl.play(
        gl.games.Bernoulli(0.5),
        recipe,
        (x, rng.integers(2, size=records)),
        model=torch.nn.Linear(features, 2),
        references=0,
        attacks=["loss"],
        claimed=gl.Claim(EPSILON, DELTA),
        seed=seed,
        engine=gl.Here(),
    )


def noises() -> dict[str, float]:
    """Return the noise that the claim needs, and no noise."""
    steps = gl.defences.DpSgd(noise=0, rate=RATE, epochs=EPOCHS).steps
    return {"as claimed": gl.privacy.noise_for(EPSILON, rate=RATE, steps=steps, delta=DELTA), "off": 0.0}


def row(label: str, noise: float, runs: int, records: int) -> Row:
    """Audit one model per seed."""
    results = [audited(seed, noise, records) for seed in range(runs)]
    evaluated = [result.epsilon for result in results if result.epsilon is not None]
    bounds = np.array([result.bound.epsilon for result in evaluated if result.bound is not None])
    assert len(bounds) == runs
    return Row(
        label,
        runs,
        float(np.mean([result.contradicted for result in evaluated])),
        float(bounds.mean()),
        float(bounds.max()),
        float(np.mean([result.bound.provable for result in evaluated if result.bound is not None])),
        float(np.mean([result.attack("loss").auc.value for result in results])),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--records", type=int, default=300)
    options = parser.parse_args()
    results = []
    for label, noise in noises().items():
        columns = vars(row(label, noise, options.runs, options.records))
        results.append({key: round(value, 4) if isinstance(value, float) else value for key, value in columns.items()})
        print(*results[-1].values(), sep="  ", flush=True)
    content = {
        "command": f"python -m benchmarks.error_rates.dp_sgd --runs {options.runs} --records {options.records}",
        "records": options.records,
        "claimed": {"epsilon": EPSILON, "delta": DELTA},
        "rows": results,
    }
    (HERE / "dp_sgd.json").write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
