"""``python -m benchmarks.honesty.epsilon``: error rate of lower bounds on epsilon, and their size.

Every mechanism here treats records independently, so its scores are used twice: as those of many records of one run, and as
those of many runs of one record.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

from guestlist._findings.headline import choose, stand_in_targets
from guestlist.attacks import ATTACKS
from guestlist.privacy import (
    BayesianRuns,
    Bonferroni,
    BoundMethod,
    ClopperPearson,
    FixedSize,
    GaussianRuns,
    HoldOut,
    Median,
    OneRun,
    OneRunCurve,
    gaussian_epsilon,
)
from guestlist.privacy.lower_bounds import lower
from guestlist.selfcheck.simulations import gaussian_simulation

HERE = Path(__file__).parent
LEVEL, DELTA = 0.05, 1e-5
BLURTED = 1e-3  # probability with which a mechanism reveals the membership of a record
CHOSEN_AMONG = ("loss", "entropy", "lira", "lira_offline", "lira_bayes", "reference")
Scores = tuple[np.ndarray, np.ndarray]  # scores and membership


@dataclass(frozen=True)
class World:
    """A mechanism whose epsilon is known.

    Args:
        draw: function (records, rng) to scores and membership.
        epsilon, delta: guarantee of the mechanism.
        gaussian: whether its curve is Gaussian, or below.
        fixed: whether the number of members is fixed.
        one_model: whether its scores are of one model only, and would not be independent trials.
    """

    draw: Callable[[int, np.random.Generator], Scores]
    epsilon: float
    delta: float = DELTA
    gaussian: bool = False
    fixed: bool = False
    one_model: bool = False


def coins(records: int, rng: np.random.Generator) -> np.ndarray:
    return rng.random(records) < 0.5


def halves(records: int, rng: np.random.Generator) -> np.ndarray:
    return rng.permutation(records) < records // 2


def response(epsilon: float, members=coins) -> Callable[[int, np.random.Generator], Scores]:
    """Randomised response: the truth with probability 1 / (1 + exp(−epsilon)). All scores are tied with many others."""

    def draw(records: int, rng: np.random.Generator) -> Scores:
        member = members(records, rng)
        return np.where(rng.random(records) < expit(epsilon), member, ~member) * 1.0, member

    return draw


def noisy(mu: float, steps: float = 0.0, members=coins) -> Callable[[int, np.random.Generator], Scores]:
    """Membership with Gaussian noise, rounded to steps if there are any."""

    def draw(records: int, rng: np.random.Generator) -> Scores:
        member = members(records, rng)
        scores = mu * member + rng.normal(size=records)
        return np.round(scores / steps) * steps if steps else scores, member

    return draw


def blurting(records: int, rng: np.random.Generator) -> Scores:
    """Randomised response at epsilon 1 that reveals the membership of a record with probability ``BLURTED``."""
    scores, member = response(1.0)(records, rng)
    return np.where(rng.random(records) < BLURTED, np.where(member, 9.0, -9.0), scores), member


def chosen(records: int, rng: np.random.Generator) -> Scores:
    """Gaussian noise on margins, seen by the attack that does best on stand-in targets of the same recipe."""
    world = gaussian_simulation(1.0, records=records, models=11, seed=int(rng.integers(2**31)))
    results = choose(stand_in_targets(world), {name: ATTACKS[name] for name in CHOSEN_AMONG})
    return ATTACKS[results.name].score(world.facing(0)), world.member[0]


GAUSSIAN = gaussian_epsilon(1.0, DELTA)
WORLDS = {
    "randomised response, ε = 0": World(response(0.0), 0.0, gaussian=True),
    "randomised response, ε = 1": World(response(1.0), 1.0),
    "randomised response, ε = 3": World(response(3.0), 3.0),
    "Gaussian noise, μ = 1": World(noisy(1.0), GAUSSIAN, gaussian=True),
    "Gaussian noise, tied scores": World(noisy(1.0, steps=1.0), GAUSSIAN, gaussian=True),
    "says the truth with probability δ = 0.001": World(blurting, 1.0, BLURTED),
    "attack chosen by the tool": World(chosen, GAUSSIAN, gaussian=True, one_model=True),
    "fixed size, ε = 0": World(response(0.0, halves), 0.0, gaussian=True, fixed=True, one_model=True),
    "fixed size, ε = 1": World(response(1.0, halves), 1.0, fixed=True, one_model=True),
    "fixed size, Gaussian noise": World(
        noisy(1.0, members=halves), GAUSSIAN, gaussian=True, fixed=True, one_model=True
    ),
}
METHODS: dict[str, Callable[[World], BoundMethod]] = {
    "one run": lambda world: OneRun(**_drawn(world)),
    "one run, curve": lambda world: OneRunCurve(**_drawn(world)),
    "one run, Gaussian curve": lambda world: OneRunCurve(**_drawn(world), curve="gaussian"),
    "many runs, Clopper-Pearson": lambda world: ClopperPearson(),
    "many runs, Gaussian": lambda world: GaussianRuns(),
    "many runs, Bayesian": lambda world: BayesianRuns(),
}
SHOWN_FREE = ("one run", "many runs, Clopper-Pearson")  # methods shown with an uncorrected threshold choice
OF_GAUSSIAN_NOISE = ("one run, Gaussian curve", "many runs, Gaussian")  # valid only for Gaussian curves


@dataclass(frozen=True)
class Free:
    """Best threshold, chosen with the truth and without correction: an invalid method."""

    def lower(self, method: BoundMethod, scores: np.ndarray, member: np.ndarray, delta: float, level: float) -> float:
        return max(method.bound(scores, member, result, delta, level) for result in method.candidates(member))


THRESHOLDS = {"Bonferroni": Bonferroni(), "hold-out": HoldOut(), "median": Median(splits=3), "free": Free()}


@dataclass(frozen=True)
class Row:
    """Share of bounds above the truth in a simulation, and mean bound."""

    world: str
    method: str
    threshold: str
    truth: float
    false_claims: float
    mean_bound: float
    runs: int


def rows(worlds: dict[str, World], methods, thresholds, runs: int, records: int) -> Iterator[Row]:
    for name, world in worlds.items():
        able = [method for method in methods if _promised(method, world)]
        drawn = [world.draw(records, np.random.default_rng([7, k])) for k in range(runs if able else 0)]
        for method in able:
            recipe = METHODS[method](world)
            for threshold in thresholds:
                if threshold == "free" and method not in SHOWN_FREE:
                    continue
                paid: Any = THRESHOLDS[threshold]
                bounds = np.array([lower(*result, world.delta, recipe, paid, LEVEL) for result in drawn])
                false = float((bounds > world.epsilon).mean())
                yield Row(name, method, threshold, world.epsilon, false, float(bounds.mean()), runs)


def _promised(method: str, world: World) -> bool:
    """Return whether a method is valid for a simulation."""
    if method.startswith("many") and world.one_model:
        return False
    return world.gaussian or method not in OF_GAUSSIAN_NOISE


def _drawn(world: World) -> dict[str, Any]:
    return {"membership": FixedSize()} if world.fixed else {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--records", type=int, default=200)
    options = parser.parse_args()
    content = {
        "command": f"python -m benchmarks.honesty.epsilon --runs {options.runs} --records {options.records}",
        "records": options.records,
        "level": LEVEL,
        "rows": [],
    }
    slow = [method for method in METHODS if method.endswith("Bayesian")]
    quick = [method for method in METHODS if method not in slow]
    parts = (rows(WORLDS, methods, THRESHOLDS, options.runs, options.records) for methods in (quick, slow))
    for row in itertools.chain.from_iterable(parts):
        printed = {key: round(value, 4) if isinstance(value, float) else value for key, value in vars(row).items()}
        print(*printed.values(), sep="  ", flush=True)
        content = {**content, "rows": [*content["rows"], printed]}
        # Results are written after every row, because the run is long.
        (HERE / "epsilon.json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
