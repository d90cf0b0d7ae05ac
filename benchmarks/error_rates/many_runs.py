"""``python -m benchmarks.error_rates.many_runs``: false contradictions of a true claim by ``gl.play_many``.

Mechanisms with known epsilon replace training: they output whether the candidate record is in their training set, by randomised
response or with Gaussian noise. All other steps are public functions: the game draws inclusion at random, models
are trained, written and read, margins become scores, and a claim is tested.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin

import guestlist as gl
from guestlist.privacy import gaussian_epsilon

HERE = Path(__file__).parent
DELTA, OTHERS = 1e-5, 3
METHODS = {
    "Clopper-Pearson": gl.privacy.ClopperPearson(),
    "Gaussian": gl.privacy.GaussianRuns(),
    "Bayesian": gl.privacy.BayesianRuns(),
}
POOL = np.arange(1.0 + OTHERS)[:, None], np.array([1, 0, 1, 0])  # the first is the candidate record


class Mechanism(ClassifierMixin, BaseEstimator):
    """Model that outputs, with noise, whether the candidate record was in its training set.

    Args:
        epsilon: epsilon of randomised response; None for Gaussian noise.
        mu: effect of the record on the output, in standard deviations of the noise.
    """

    def __init__(self, epsilon: float | None = None, mu: float = 0.0, random_state: int | None = None):
        self.epsilon = epsilon
        self.mu = mu
        self.random_state = random_state

    def fit(self, x, y):
        rng = np.random.default_rng(self.random_state)
        inside = bool((np.asarray(x) == 0).any())
        if self.epsilon is None:
            self.output_ = self.mu * inside + rng.normal()
        else:
            self.output_ = 1.0 if inside == (rng.random() < expit(self.epsilon)) else -1.0
        self.classes_ = np.array([0, 1])
        return self

    def predict_proba(self, x):
        return np.tile([expit(-self.output_), expit(self.output_)], (len(x), 1))

    def predict(self, x):
        return np.full(len(x), int(self.output_ > 0))


@dataclass(frozen=True)
class KnownEpsilon:
    """A mechanism and its true epsilon."""

    mechanism: Mechanism
    epsilon: float
    gaussian: bool = False


MECHANISMS = {
    "randomised response, ε = 0": KnownEpsilon(Mechanism(epsilon=0.0), 0.0, gaussian=True),
    "randomised response, ε = 0.5": KnownEpsilon(Mechanism(epsilon=0.5), 0.5),
    "Gaussian noise, μ = 1": KnownEpsilon(Mechanism(mu=1.0), gaussian_epsilon(1.0, DELTA), gaussian=True),
}


@dataclass(frozen=True)
class Row:
    """Results of audits of one mechanism by one method.

    Args:
        truth: true epsilon of the mechanism, which was claimed.
        false_claims: share of audits that contradicted it.
        half_contradicted: share that would have contradicted a claim of half as much.
    """

    mechanism: str
    method: str
    truth: float
    false_claims: float
    half_contradicted: float
    mean_bound: float
    provable: float
    runs: int
    audits: int


def audited(known: KnownEpsilon, seed: int, runs: int) -> dict[str, gl.Epsilon]:
    """Run one audit, and evaluate it with every method that is valid for the mechanism."""
    first, *others = [name for name in METHODS if known.gaussian or name != "Gaussian"]
    options: dict[str, Any] = {"claimed": gl.Claim(known.epsilon, DELTA), "engine": gl.Here(), "progress": False}
    game = gl.games.Strong(against="nothing", record="data:0")
    with tempfile.TemporaryDirectory() as folder:
        audit_folder = f"{folder}/a"
        results = gl.play_many(
            game, known.mechanism, POOL, runs=runs, seed=seed, folder=audit_folder, method=METHODS[first], **options
        )
        case = gl.read_case(audit_folder)
        evaluated = {
            method: gl.epsilon_bound(case, delta=DELTA, claimed=known.epsilon, method=METHODS[method])
            for method in others
        }
        return {first: results, **evaluated}


def rows(mechanisms: dict[str, KnownEpsilon], audits: int, runs: int) -> Iterator[Row]:
    """Yield one row for each mechanism and valid method."""
    for name, known in mechanisms.items():
        results = [audited(known, seed, runs) for seed in range(audits)]
        for method in results[0]:
            evaluated = [result[method] for result in results]
            bounds = np.array([result.bound.epsilon for result in evaluated if result.bound is not None])
            provable = np.array([result.bound.provable for result in evaluated if result.bound is not None])
            assert len(bounds) == audits
            yield Row(
                name,
                method,
                known.epsilon,
                float(np.mean([result.contradicted for result in evaluated])),
                float((bounds > known.epsilon / 2).mean()),
                float(bounds.mean()),
                float(provable.mean()),
                runs,
                audits,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--audits", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=60, help="models of each audit")
    options = parser.parse_args()
    stored = []
    for row in rows(MECHANISMS, options.audits, options.runs):
        stored.append(
            {name: round(value, 4) if isinstance(value, float) else value for name, value in vars(row).items()}
        )
        print(*stored[-1].values(), sep="  ", flush=True)
        command = f"python -m benchmarks.error_rates.many_runs --audits {options.audits} --runs {options.runs}"
        content = {"command": command, "delta": DELTA, "rows": stored}
        (HERE / "many_runs.json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
