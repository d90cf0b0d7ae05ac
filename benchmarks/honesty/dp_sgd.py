"""``python -m benchmarks.honesty.dp_sgd``: is the epsilon of private training contradicted, and is it with the noise off?

Canaries are random records with random labels: nothing about them can be learnt but by heart. A linear model with more
features than records learns them all, if nothing holds it back.
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
FEATURES = 4  # for every record


@dataclass(frozen=True)
class Row:
    """How often the claim was contradicted, and what was proved."""

    world: str
    runs: int
    contradicted: float
    mean_bound: float
    largest_bound: float
    provable: float
    mean_auc: float


def audited(seed: int, noise: float, records: int) -> gl.Results:
    """One model of coin-tossed canaries, with its claim, judged by its losses."""
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
    """The noise that keeps the promise, and none."""
    steps = gl.defences.DpSgd(noise=0, rate=RATE, epochs=EPOCHS).steps
    return {"noise as promised": gl.privacy.noise_for(EPSILON, rate=RATE, steps=steps, delta=DELTA), "noise off": 0.0}


def row(world: str, noise: float, runs: int, records: int) -> Row:
    found = [audited(seed, noise, records) for seed in range(runs)]
    judged = [one.epsilon for one in found if one.epsilon is not None]
    bounds = np.array([one.bound.epsilon for one in judged if one.bound is not None])
    assert len(bounds) == runs
    return Row(
        world,
        runs,
        float(np.mean([one.contradicted for one in judged])),
        float(bounds.mean()),
        float(bounds.max()),
        float(np.mean([one.bound.provable for one in judged if one.bound is not None])),
        float(np.mean([one.attack("loss").auc.value for one in found])),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--records", type=int, default=300)
    options = parser.parse_args()
    found = []
    for world, noise in noises().items():
        told = vars(row(world, noise, options.runs, options.records))
        found.append({key: round(value, 4) if isinstance(value, float) else value for key, value in told.items()})
        print(*found[-1].values(), sep="  ", flush=True)
    content = {
        "command": f"python -m benchmarks.honesty.dp_sgd --runs {options.runs} --records {options.records}",
        "records": options.records,
        "claimed": {"epsilon": EPSILON, "delta": DELTA},
        "rows": found,
    }
    (HERE / "dp_sgd.json").write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
