"""``python -m benchmarks.error_rates.ties``: coverage of 95 % intervals if scores have large groups of ties.

Scores with two values (correctness) have few outcomes, whose probabilities are summed instead of simulated.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import numpy as np
from scipy.special import expit, logit, stdtrit
from scipy.stats import binom

from guestlist.metrics import ClusterSums, Estimate, positive_predictive_value
from guestlist.metrics.ranking import unanimous_bound

HERE = Path(__file__).parent
ENDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07)
PROBABILITIES = np.array([*ENDS, *np.arange(0.1, 0.91, 0.05), *(1 - end for end in ENDS[::-1])])
TWO_VALUES = ((10, 10), (20, 20), (60, 60), (10, 100), (500, 500), (20, 1000), (5000, 20), (20, 5000))
FEW_VALUES = ((20, 20), (10, 100), (500, 20), (300, 300))
PPV_SIZES = ((200, 200), (1000, 1000))  # numbers of members and non-members for predictive values
FPRS, PRIOR = (0.01, 0.05), 0.5


@dataclass(frozen=True)
class Exact:
    """Smallest coverage over a grid of probabilities, and the largest shares of intervals below and above the truth."""

    covered: float
    below: float
    above: float


@dataclass(frozen=True)
class Levels:
    """Scores 0, 1, 2, …, with probabilities for members and for non-members."""

    members: np.ndarray
    nonmembers: np.ndarray

    def draw(self, rng: np.random.Generator, members: int, nonmembers: int) -> tuple[np.ndarray, np.ndarray]:
        scores = [rng.choice(len(p), size=n, p=p) for p, n in ((self.members, members), (self.nonmembers, nonmembers))]
        return np.concatenate(scores).astype(np.float64), np.arange(members + nonmembers) < members

    @property
    def auc(self) -> float:
        return float(self.members @ (np.cumsum(self.nonmembers) - self.nonmembers / 2))

    def ppv(self, fpr: float, prior: float) -> float:
        """Return the PPV above the lowest score that at most a share ``fpr`` of non-members exceeds; NaN without flags."""
        above = [1 - np.cumsum(p) for p in (self.members, self.nonmembers)]
        lowest = int(np.argmax(above[1] <= fpr + 1e-12))
        tpr, false = (max(float(rates[lowest]), 0.0) for rates in above)
        flagged = prior * tpr + (1 - prior) * false
        return prior * tpr / flagged if flagged > 1e-12 else float("nan")


def of_levels(members: np.ndarray, nonmembers: np.ndarray) -> np.ndarray:
    """Return (2, samples) the ends of ``auc``'s interval, vectorised over many samples.

    The interval is the widest of three: DeLong's in log-odds with Student's quantile, the interval that no sample of this size
        excludes, and the interval from bounds on the mean placements.

    Args:
        members, nonmembers: (samples, levels) number of records with each score.
    """
    sizes = members[0].sum(), nonmembers[0].sum()
    observed = (members + nonmembers) > 0
    # Placements of every level in the other class.
    placements = _below(nonmembers) / sizes[1], 1 - _below(members) / sizes[0]
    value = (members * placements[0]).sum(axis=1) / sizes[0]
    parts, lows, highs, down, up = [], [], [], 0.0, 0.0
    for counts, placement, n in zip((members, nonmembers), placements, sizes, strict=True):
        parts.append((counts * np.square(placement - value[:, None])).sum(axis=1) / (n * (n - 1)))
        single = (counts > 0).sum(axis=1) == 1
        bound = np.where(single, unanimous_bound(n, 0.025), 1.0)
        lows.append(np.where(single, value * bound, 1.0))
        highs.append(np.where(single, 1 - (1 - value) * bound, 0.0))
        binary = observed.sum(axis=1) == 2
        floor = np.where(binary, np.where(observed, placement, 1.0).min(axis=1), 0.0)[:, None]
        reach = np.where(binary, np.where(observed, placement, 0.0).max(axis=1), 1.0)[:, None] - floor
        inside = np.clip((placement - floor) / reach, 0, 1)
        total, squares = (counts * inside).sum(axis=1), (counts * inside**2).sum(axis=1)
        sums = ClusterSums(total, squares, total, n, n, int(n))
        down = np.hypot(down, value - floor[:, 0] - reach[:, 0] * sums.lower(0.025))
        up = np.hypot(up, floor[:, 0] + reach[:, 0] * sums.upper(0.025) - value)
    variance = parts[0] + parts[1]
    nearest = unanimous_bound(min(sizes), 0.025)
    with np.errstate(divide="ignore", invalid="ignore"):  # without variance there is no DeLong interval
        degrees_of_freedom = variance**2 / (parts[0] ** 2 / (sizes[0] - 1) + parts[1] ** 2 / (sizes[1] - 1))
        half = stdtrit(degrees_of_freedom, 0.975) * np.sqrt(variance) / (value * (1 - value))
        smooth = expit(logit(value) - half), expit(logit(value) + half)
    low = reduce(np.fmin, (*lows, smooth[0], np.full(value.shape, nearest), value - down))
    high = reduce(np.fmax, (*highs, smooth[1], np.full(value.shape, 1 - nearest), value + up))
    return np.clip([low, high], 0.0, 1.0)


def _below(counts: np.ndarray) -> np.ndarray:
    """Return (samples, levels) the number with a smaller score, ties counting 0.5."""
    return np.cumsum(counts, axis=1) - counts / 2


def two_values(members: int, nonmembers: int, probabilities: np.ndarray = PROBABILITIES) -> Exact:
    """Return the exact coverage: all outcomes are enumerated."""
    counts = np.arange(members + 1.0), np.arange(nonmembers + 1.0)
    right, outside = (counted.ravel() for counted in np.meshgrid(*counts, indexing="ij"))
    ends = of_levels(np.stack([members - right, right], axis=1), np.stack([nonmembers - outside, outside], axis=1))
    low, high = ends.reshape(2, members + 1, nonmembers + 1)
    weights = [binom.pmf(k[:, None], n, probabilities) for k, n in zip(counts, (members, nonmembers), strict=True)]
    covered, below, above = 1.0, 0.0, 0.0
    for result, other in itertools.product(range(len(probabilities)), repeat=2):
        rows, columns = (np.flatnonzero(w[:, k] > 1e-12) for w, k in zip(weights, (result, other), strict=True))
        truth, part = (1 + probabilities[result] - probabilities[other]) / 2, np.ix_(rows, columns)
        misses = [
            float(weights[0][rows, result] @ (missed[part] @ weights[1][columns, other]))
            for missed in (high < truth - 1e-12, low > truth + 1e-12)
        ]
        covered, below, above = min(covered, 1 - sum(misses)), max(below, misses[0]), max(above, misses[1])
    return Exact(covered, below, above)


def shapes(levels: int) -> dict[str, np.ndarray]:
    """Return probabilities of the levels: equal, halved from one to the next, or one large and the others small."""
    halved = 0.5 ** np.arange(levels)
    low, middle = np.full(levels, 0.01), np.full(levels, 0.03)
    low[0] = 1 - low[1:].sum()
    middle[levels // 2] = 1 - 0.03 * (levels - 1)
    return {
        "equal": np.full(levels, 1 / levels),
        "halved": halved / halved.sum(),
        "one large, lowest": low,
        "one large, highest": low[::-1],
        "one large, middle": middle,
    }


def coverage(
    draw: Callable[[np.random.Generator], Estimate], truth: float, samples: int, seed: Sequence[int]
) -> tuple[float, float]:
    """Return the coverage of an interval, and the share of samples with an interval."""
    results = [draw(np.random.default_rng([*seed, k])) for k in range(samples)]
    defined = [result for result in results if not np.isnan(result.value)]
    inside = [result.low - 1e-12 <= truth <= result.high + 1e-12 for result in defined]
    return (float(np.mean(inside)) if inside else float("nan")), len(defined) / samples


def few_values(
    samples: int, numbers: Sequence[int] = (3, 5, 10), sizes: Sequence[tuple[int, int]] = FEW_VALUES
) -> list[dict]:
    """Measure the coverage of the AUC's interval for every pair of shapes."""
    rows = []
    for levels, (members, nonmembers) in itertools.product(numbers, sizes):
        for (result, inside), (other, outside) in itertools.product(shapes(levels).items(), repeat=2):
            rng, truth = np.random.default_rng([levels, members, len(rows)]), Levels(inside, outside).auc
            drawn = rng.multinomial(members, inside, samples), rng.multinomial(nonmembers, outside, samples)
            low, high = of_levels(*drawn)
            rows.append(
                {
                    "levels": levels,
                    "members": members,
                    "nonmembers": nonmembers,
                    "member shape": result,
                    "non-member shape": other,
                    "auc": round(truth, 4),
                    "covered": float(np.mean((low - 1e-12 <= truth) & (truth <= high + 1e-12))),
                    "below": float(np.mean(high < truth - 1e-12)),
                }
            )
    return rows


def ppv_simulations() -> dict[str, Levels]:
    """Return scores of a lookup table with some false matches, scores with few values, and scores with many."""
    tables = {
        f"table, {share:g} wrong": Levels(np.array([0.0, 1.0]), np.array([1 - share, share]))
        for share in (0.0, 0.004, 0.02, 0.04)
    }
    half_table = {"half of a table": Levels(np.array([0.5, 0.5]), np.array([0.98, 0.02]))}
    steps = {
        f"{levels} levels": Levels(shapes(levels)["equal"], shapes(levels)["halved"]) for levels in (3, 6, 10, 100)
    }
    return tables | half_table | steps


def predictive_values(samples: int, sizes: Sequence[tuple[int, int]] = PPV_SIZES) -> list:
    """Measure the coverage of the PPV's interval."""
    rows = []
    for (name, scores_of), (members, nonmembers), fpr in itertools.product(ppv_simulations().items(), sizes, FPRS):
        truth = scores_of.ppv(fpr, PRIOR)
        if np.isnan(truth):
            continue

        def draw(
            rng: np.random.Generator, scores_of=scores_of, members=members, nonmembers=nonmembers, fpr=fpr
        ) -> Estimate:
            return positive_predictive_value(*scores_of.draw(rng, members, nonmembers), fpr, PRIOR)

        covered, defined = coverage(draw, truth, samples, (members, nonmembers))
        rows.append(
            {
                "scores": name,
                "members": members,
                "nonmembers": nonmembers,
                "fpr": fpr,
                "ppv": round(truth, 4),
                "covered": covered,
                "share with a PPV": defined,
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2000)
    options = parser.parse_args()
    exact = []
    for members, nonmembers in TWO_VALUES:
        results = two_values(members, nonmembers)
        print(f"0 and 1, {members} against {nonmembers}: {results}", flush=True)
        exact.append(
            {
                "members": members,
                "nonmembers": nonmembers,
                "lowest coverage": round(results.covered, 5),
                "largest share below": round(results.below, 5),
                "largest share above": round(results.above, 5),
            }
        )
    values, predictive = few_values(options.samples), predictive_values(options.samples // 2)
    worst = sorted(values, key=lambda row: row["covered"])[:20]
    for row in (*worst, *predictive):
        print(*row.values(), sep="  ")
    results = {
        "command": "python -m benchmarks.error_rates.ties",
        "samples": options.samples,
        "samples of ppv": options.samples // 2,
        "nominal": 0.95,
        "auc of 0 and 1, summed over all outcomes": exact,
        "auc of few values, largest share below": max(row["below"] for row in values),
        "auc of few values, lowest coverage": min(row["covered"] for row in values),
        "ppv, lowest coverage": min(row["covered"] for row in predictive),
        "auc of few values, simulations": len(values),
        "auc of few values, the 20 with the lowest coverage": worst,
        "ppv": predictive,
    }
    (HERE / "ties.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
