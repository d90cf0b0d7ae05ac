"""``python -m benchmarks.error_rates.epsilon``: error rate of lower bounds on epsilon, and their size.

Every mechanism treats records independently, so its scores serve twice: as those of many records of one run, and as those of
many runs of one record.
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
REVEALED = 1e-3  # probability with which a mechanism reveals the membership of a record
CANDIDATES = ("loss", "entropy", "lira", "lira_offline", "lira_bayes", "reference")
Scores = tuple[np.ndarray, np.ndarray]  # scores and membership


@dataclass(frozen=True)
class Mechanism:
    """A mechanism with known epsilon.

    Args:
        draw: function (records, rng) to scores and membership.
        epsilon, delta: guarantee of the mechanism.
        gaussian: whether its curve is Gaussian, or below.
        fixed: whether the number of members is fixed.
        one_model: whether its scores belong to one model, so that they are not independent trials.
    """

    draw: Callable[[int, np.random.Generator], Scores]
    epsilon: float
    delta: float = DELTA
    gaussian: bool = False
    fixed: bool = False
    one_model: bool = False


def random_inclusion(records: int, rng: np.random.Generator) -> np.ndarray:
    return rng.random(records) < 0.5


def fixed_size(records: int, rng: np.random.Generator) -> np.ndarray:
    return rng.permutation(records) < records // 2


def response(epsilon: float, members=random_inclusion) -> Callable[[int, np.random.Generator], Scores]:
    """Simulate randomised response: the truth with probability 1 / (1 + exp(−epsilon)). All scores are tied."""

    def draw(records: int, rng: np.random.Generator) -> Scores:
        member = members(records, rng)
        return np.where(rng.random(records) < expit(epsilon), member, ~member) * 1.0, member

    return draw


def noisy(mu: float, steps: float = 0.0, members=random_inclusion) -> Callable[[int, np.random.Generator], Scores]:
    """Simulate membership with Gaussian noise, rounded to multiples of ``steps`` if they are positive."""

    def draw(records: int, rng: np.random.Generator) -> Scores:
        member = members(records, rng)
        scores = mu * member + rng.normal(size=records)
        return np.round(scores / steps) * steps if steps else scores, member

    return draw


def revealing(records: int, rng: np.random.Generator) -> Scores:
    """Simulate randomised response at epsilon 1 that reveals the membership of a record with probability ``REVEALED``."""
    scores, member = response(1.0)(records, rng)
    return np.where(rng.random(records) < REVEALED, np.where(member, 9.0, -9.0), scores), member


def selected_attack(records: int, rng: np.random.Generator) -> Scores:
    """Score Gaussian margins by the attack that is selected on stand-in targets of the same recipe."""
    simulation = gaussian_simulation(1.0, records=records, models=11, seed=int(rng.integers(2**31)))
    results = choose(stand_in_targets(simulation), {name: ATTACKS[name] for name in CANDIDATES})
    return ATTACKS[results.name].score(simulation.facing(0)), simulation.member[0]


GAUSSIAN = gaussian_epsilon(1.0, DELTA)
MECHANISMS = {
    "randomised response, ε = 0": Mechanism(response(0.0), 0.0, gaussian=True),
    "randomised response, ε = 1": Mechanism(response(1.0), 1.0),
    "randomised response, ε = 3": Mechanism(response(3.0), 3.0),
    "Gaussian noise, μ = 1": Mechanism(noisy(1.0), GAUSSIAN, gaussian=True),
    "Gaussian noise, tied scores": Mechanism(noisy(1.0, steps=1.0), GAUSSIAN, gaussian=True),
    "reveals membership with probability δ = 0.001": Mechanism(revealing, 1.0, REVEALED),
    "attack selected by guestlist": Mechanism(selected_attack, GAUSSIAN, gaussian=True, one_model=True),
    "fixed size, ε = 0": Mechanism(response(0.0, fixed_size), 0.0, gaussian=True, fixed=True, one_model=True),
    "fixed size, ε = 1": Mechanism(response(1.0, fixed_size), 1.0, fixed=True, one_model=True),
    "fixed size, Gaussian noise": Mechanism(
        noisy(1.0, members=fixed_size), GAUSSIAN, gaussian=True, fixed=True, one_model=True
    ),
}
METHODS: dict[str, Callable[[Mechanism], BoundMethod]] = {
    "one run": lambda mechanism: OneRun(**_membership(mechanism)),
    "one run, curve": lambda mechanism: OneRunCurve(**_membership(mechanism)),
    "one run, Gaussian curve": lambda mechanism: OneRunCurve(**_membership(mechanism), curve="gaussian"),
    "many runs, Clopper-Pearson": lambda mechanism: ClopperPearson(),
    "many runs, Gaussian": lambda mechanism: GaussianRuns(),
    "many runs, Bayesian": lambda mechanism: BayesianRuns(),
}
UNCORRECTED = ("one run", "many runs, Clopper-Pearson")  # methods also run with the uncorrected choice
NEED_GAUSSIAN_NOISE = ("one run, Gaussian curve", "many runs, Gaussian")  # valid only for Gaussian curves


@dataclass(frozen=True)
class Uncorrected:
    """Best threshold, selected without correction for the selection: an invalid method."""

    def lower(self, method: BoundMethod, scores: np.ndarray, member: np.ndarray, delta: float, level: float) -> float:
        return max(method.bound(scores, member, result, delta, level) for result in method.candidates(member))


THRESHOLDS = {
    "Bonferroni": Bonferroni(),
    "hold-out": HoldOut(),
    "median": Median(splits=3),
    "uncorrected": Uncorrected(),
}


@dataclass(frozen=True)
class Row:
    """Share of bounds above the true epsilon of a mechanism, and mean bound."""

    mechanism: str
    method: str
    threshold: str
    truth: float
    false_claims: float
    mean_bound: float
    runs: int


def rows(mechanisms: dict[str, Mechanism], methods, thresholds, runs: int, records: int) -> Iterator[Row]:
    """Yield one row for each mechanism, valid method and threshold choice."""
    for name, mechanism in mechanisms.items():
        valid = [method for method in methods if _is_valid(method, mechanism)]
        drawn = [mechanism.draw(records, np.random.default_rng([7, k])) for k in range(runs if valid else 0)]
        for method in valid:
            bound = METHODS[method](mechanism)
            for threshold in thresholds:
                if threshold == "uncorrected" and method not in UNCORRECTED:
                    continue
                choice: Any = THRESHOLDS[threshold]
                bounds = np.array([lower(*result, mechanism.delta, bound, choice, LEVEL) for result in drawn])
                false = float((bounds > mechanism.epsilon).mean())
                yield Row(name, method, threshold, mechanism.epsilon, false, float(bounds.mean()), runs)


def _is_valid(method: str, mechanism: Mechanism) -> bool:
    """Return whether a method is valid for a mechanism."""
    if method.startswith("many") and mechanism.one_model:
        return False
    return mechanism.gaussian or method not in NEED_GAUSSIAN_NOISE


def _membership(mechanism: Mechanism) -> dict[str, Any]:
    return {"membership": FixedSize()} if mechanism.fixed else {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--records", type=int, default=200)
    options = parser.parse_args()
    content = {
        "command": f"python -m benchmarks.error_rates.epsilon --runs {options.runs} --records {options.records}",
        "records": options.records,
        "level": LEVEL,
        "rows": [],
    }
    slow = [method for method in METHODS if method.endswith("Bayesian")]
    quick = [method for method in METHODS if method not in slow]
    parts = (rows(MECHANISMS, methods, THRESHOLDS, options.runs, options.records) for methods in (quick, slow))
    for row in itertools.chain.from_iterable(parts):
        columns = {key: round(value, 4) if isinstance(value, float) else value for key, value in vars(row).items()}
        print(*columns.values(), sep="  ", flush=True)
        content = {**content, "rows": [*content["rows"], columns]}
        # Results are written after every row, because the run is long.
        (HERE / "epsilon.json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
