"""``python -m benchmarks.error_rates.canaries``: bounds by type of canaries, and false contradictions of a true claim.

A network is trained on records of Adult by DP-Adam, as in ``guestlist dp``, and attacked by its losses. Without noise, the
bound grows with the quality of the canaries. With the noise that the claim needs, a contradiction is an error of the audit.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import guestlist as gl
from guestlist.datasets import load

HERE = Path(__file__).parent
EPSILON, DELTA = 1.0, 1e-5
BATCH, EPOCHS, LEARNING_RATE, HIDDEN = 256, 20, 0.01, 128


@dataclass(frozen=True)
class Row:
    """Mean bound over seeds, and share of contradicted claims."""

    game: str
    noise: str
    runs: int
    contradicted: float
    mean_bound: float
    largest_bound: float
    mean_auc: float


def games(canaries: int) -> dict[str, Any]:
    return {
        "wrong label, chosen": gl.games.Canaries(canaries),
        "wrong label, at random": gl.games.Canaries(canaries, candidates=canaries),
        "true label, chosen": gl.games.Canaries(canaries, labels="own"),
        "randomised inclusion of all records": gl.games.Bernoulli(0.5),
    }


def pool(records: int) -> gl.Data:
    table = load("adult").sample(records, random_state=0)
    x = gl.datasets.as_numbers(table.drop(columns=["income", "split"], errors="ignore")).to_numpy(dtype=np.float32)
    return gl.Data(x, (table["income"].astype(str) == sorted(table["income"].astype(str).unique())[0]).to_numpy(int))


def row(name: str, game, label: str, noise: float, runs: int, data: gl.Data) -> Row:
    recipe = gl.defences.DpSgd(
        noise, rate=BATCH / len(data), epochs=EPOCHS, learning_rate=LEARNING_RATE, optimizer="adam"
    )
    results = [
        gl.play(
            game,
            recipe,
            data,
            model=gl.defences.mlp(data.x.shape[1], 2, hidden=(HIDDEN,)),
            references=0,
            attacks=["loss"],
            engine=gl.Here(),
            seed=seed,
            claimed=gl.Claim(EPSILON, DELTA),
            progress=False,
        )
        for seed in range(runs)
    ]
    evaluated = [result.epsilon for result in results if result.epsilon is not None]
    bounds = np.array([result.bound.epsilon for result in evaluated if result.bound is not None])
    assert len(bounds) == runs
    contradicted = float(np.mean([result.contradicted for result in evaluated]))
    auc = float(np.mean([result.attack("loss").auc.value for result in results]))
    return Row(name, label, runs, contradicted, float(bounds.mean()), float(bounds.max()), auc)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=3000)
    parser.add_argument("--canaries", type=int, default=300)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--noisy-runs", type=int, default=40, help="runs with the noise that the claim needs")
    options = parser.parse_args()
    data, results = pool(options.records), []
    steps = gl.defences.DpSgd(0.0, rate=BATCH / len(data), epochs=EPOCHS).steps
    needed = gl.privacy.noise_for(EPSILON, rate=BATCH / len(data), steps=steps, delta=DELTA)
    all_games = games(options.canaries)
    plans = [(name, game, "off", 0.0, options.runs) for name, game in all_games.items()]
    plans.append(("wrong label, chosen", next(iter(all_games.values())), "as claimed", needed, options.noisy_runs))
    for name, game, label, noise, runs in plans:
        result = vars(row(name, game, label, noise, runs, data))
        results.append({key: round(value, 4) if isinstance(value, float) else value for key, value in result.items()})
        print(*results[-1].values(), sep="  ", flush=True)
        content = {
            "command": f"python -m benchmarks.error_rates.canaries --records {options.records} --canaries {options.canaries} "
            f"--runs {options.runs} --noisy-runs {options.noisy_runs}",
            "records": options.records,
            "canaries": options.canaries,
            "claimed": {"epsilon": EPSILON, "delta": DELTA},
            "rows": results,
        }
        (HERE / "canaries.json").write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
