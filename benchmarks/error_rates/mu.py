"""``python -m benchmarks.error_rates.mu``: coverage of mu's 95 % intervals, also for the 20 largest values."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy.special import ndtri
from scipy.stats import betabinom

from guestlist._kernels.moments import moments
from guestlist.risks.memorisation import Effects, bounded_mu, effects, tail_excess

HERE = Path(__file__).parent
TOP = 20
TREES = 20
PARTS = ("forests", "votes", "normal", "heavy tails")


@dataclass(frozen=True)
class Simulation:
    """(models, records) margins and membership, and (records,) the true mu."""

    margin: np.ndarray
    member: np.ndarray
    mu: np.ndarray

    @cached_property
    def effects(self) -> Effects:
        results = effects(moments(self.margin, self.member), moments(self.margin, ~self.member))
        return results.with_tails(tail_excess(self.margin, self.member))


# Distributions of mu over records.
MU_DISTRIBUTIONS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "all equal": lambda rng, n: np.full(n, 0.5),
    "narrow": lambda rng, n: rng.normal(0.3, 0.3, n),
    "wide": lambda rng, n: rng.normal(1.0, 1.0, n),
    "exponential": lambda rng, n: rng.exponential(0.5, n),
    "log-normal": lambda rng, n: np.exp(rng.normal(-1, 1, n)),
    "Student's t, 3": lambda rng, n: 0.3 + 0.3 * rng.standard_t(3, n),
    "one in ten memorised": lambda rng, n: np.where(rng.random(n) < 0.1, 5.0, 0.1),
    "one in a hundred memorised": lambda rng, n: np.where(rng.random(n) < 0.01, rng.normal(4, 1, n), 0.0),
}


def normal_simulation(
    distribution: str, records: int, models: int, rng: np.random.Generator, degrees_of_freedom: float | None = None
) -> Simulation:
    """Simulate normal margins, or Student's t with standard deviation 1; records differ in difficulty, deviation and mu."""
    mu, deviation = MU_DISTRIBUTIONS[distribution](rng, records), np.exp(0.5 * rng.normal(size=records))
    member = rng.random((models, records)) < 0.5
    difficulty = rng.normal(size=records)
    if degrees_of_freedom is None:
        noise = rng.normal(size=member.shape)
    else:
        noise = rng.standard_t(degrees_of_freedom, size=member.shape)
        noise /= np.sqrt(degrees_of_freedom / (degrees_of_freedom - 2))
    return Simulation(deviation * (difficulty + mu * member + noise), member, mu)


def votes_simulation(records: int, models: int, rng: np.random.Generator) -> Simulation:
    """Simulate votes of ``TREES`` trees, a share of them trained on the record: discrete, skewed margins with many ties."""
    outside = rng.beta(3, 1.5, records)
    shares = np.stack([outside, outside + (1 - outside) * rng.beta(1.5, 3, records)])
    size = 10.0  # of the beta-binomial distribution: agreement of the trees of one model
    parts = size * shares, size * (1 - shares)
    votes = np.arange(TREES + 1)
    outputs = np.log((votes + 0.5) / (TREES - votes + 0.5))
    probabilities = betabinom.pmf(votes[:, None, None], TREES, *parts)
    mean = np.tensordot(outputs, probabilities, 1)
    variance = np.tensordot(outputs**2, probabilities, 1) - mean**2
    member = rng.random((models, records)) < 0.5
    inside = member.astype(int)
    p = rng.beta(np.take_along_axis(parts[0], inside, 0), np.take_along_axis(parts[1], inside, 0))
    return Simulation(outputs[rng.binomial(TREES, p)], member, (mean[1] - mean[0]) / np.sqrt(variance.mean(axis=0)))


def forest_simulations(records: int, models: int, repeats: int, truth: int) -> list[Simulation]:
    """Train forests of ten trees; the true mu is that of ``truth`` other forests."""
    from sklearn.ensemble import RandomForestClassifier

    from guestlist.models import signals_of_probabilities
    from guestlist.models.scales import zero_replacement

    rng = np.random.default_rng(0)
    x = rng.normal(size=(records, 6))
    y = (x[:, 0] + x[:, 1] * x[:, 2] + rng.normal(0, 1, records) > 0).astype(int)
    member = rng.random((truth + repeats * models, records)) < 0.5
    outputs = []
    for k, trained in enumerate(member):
        forest = RandomForestClassifier(10, random_state=k).fit(x[trained], y[trained])
        outputs.append(forest.predict_proba(x))
    floor = zero_replacement(np.concatenate(outputs))
    margin = np.stack([signals_of_probabilities(p, y, floor)["margin"] for p in outputs])
    inside, outside = (moments(margin[:truth], member[:truth] == status) for status in (True, False))
    mu = (inside.mean - outside.mean) / np.sqrt((inside.variance + outside.variance) / 2)
    parts = [slice(truth + k * models, truth + (k + 1) * models) for k in range(repeats)]
    return [Simulation(margin[part], member[part], mu) for part in parts]


@dataclass(frozen=True)
class Coverage:
    """Coverage of intervals: for all records, for the largest, and for the largest if selection is ignored."""

    all: float
    largest: float
    largest_unadjusted: float


def coverage(simulations: list[Simulation]) -> Coverage:
    """Return the mean coverage over simulations."""
    rows = []
    for simulation in simulations:
        known = ~np.isnan(simulation.effects.estimate)
        results, mu = simulation.effects.take(known), simulation.mu[known]
        interval, raw = bounded_mu(results), results.unbiased
        inside = (interval.low <= mu) & (mu <= interval.high)
        plain = np.abs(mu - raw) <= ndtri(0.975) * results.error
        top, top_raw = (np.argsort(-values, kind="stable")[:TOP] for values in (interval.value, raw))
        rows.append((inside.mean(), inside[top].mean(), plain[top_raw].mean()))
    return Coverage(*(float(share) for share in np.mean(rows, axis=0)))


def normal_simulations(
    distribution: str, records: int, models: int, repeats: int, degrees_of_freedom: float | None = None
) -> list[Simulation]:
    streams = [np.random.default_rng([1, models, k]) for k in range(repeats)]
    return [normal_simulation(distribution, records, models, rng, degrees_of_freedom) for rng in streams]


def votes_simulations(records: int, models: int, repeats: int) -> list[Simulation]:
    return [votes_simulation(records, models, np.random.default_rng([2, models, k])) for k in range(repeats)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--records", type=int, default=2000)
    parser.add_argument("--forests", type=int, default=1000, help="number of forests for the true mu")
    parser.add_argument(
        "--parts", nargs="*", choices=PARTS, default=PARTS, help="parts to run; the others keep their results"
    )
    options, path = parser.parse_args(), HERE / "mu.json"
    stored = json.loads(path.read_text())["coverage"] if path.exists() else []
    rows = {(row["simulation"], row["models"]): row for row in stored}

    def add(name: str, models: int, simulations: list[Simulation]) -> None:
        shares = {name: round(value, 4) for name, value in vars(coverage(simulations)).items()}
        row = {"simulation": name, "models": models, "repeats": len(simulations), **shares}
        print(*row.values(), sep="  ", flush=True)
        rows[name, models] = row

    if "forests" in options.parts:
        add("trained forests", 64, forest_simulations(400, 64, options.repeats // 2, options.forests))
    if "votes" in options.parts:
        for models in (16, 64):
            add("votes of trees", models, votes_simulations(options.records, models, options.repeats))
    if "normal" in options.parts:
        for models in (16, 64):
            for distribution in MU_DISTRIBUTIONS:
                add(distribution, models, normal_simulations(distribution, options.records, models, options.repeats))
    if "heavy tails" in options.parts:
        for distribution in MU_DISTRIBUTIONS:
            simulations = normal_simulations(distribution, options.records, 32, options.repeats, degrees_of_freedom=3)
            add(f"{distribution}; margins of Student's t, 3", 32, simulations)
    results = {
        "command": "python -m benchmarks.error_rates.mu",
        "records": options.records,
        "largest": TOP,
        "forests": {"records": 400, "for the true mu": options.forests},
        "nominal": 0.95,
        "coverage": list(rows.values()),
    }
    path.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
