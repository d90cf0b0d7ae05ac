"""``python -m benchmarks.honesty.ties``: how often 95 % intervals hold the truth where scores are equal in lumps.

Scores of two values (is the answer right?) have so few outcomes that their chances are summed, not simulated.
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

from guestlist.evaluate import Estimate, auc, positive_predictive_value
from guestlist.evaluate.intervals import lower_share, unanimous_bound, upper_share

HERE = Path(__file__).parent
ENDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07)
CHANCES = np.array([*ENDS, *np.arange(0.1, 0.91, 0.05), *(1 - end for end in ENDS[::-1])])
TWO_VALUES = ((10, 10), (20, 20), (60, 60), (10, 100), (500, 500), (20, 1000), (5000, 20), (20, 5000))
FEW_VALUES = ((20, 20), (10, 100), (500, 20), (300, 300))
CALLED = ((200, 200), (1000, 1000))  # for predictive values
FPRS, PRIOR = (0.01, 0.05), 0.5


@dataclass(frozen=True)
class Exact:
    """Over a grid of chances: the least share of samples that hold the truth, and the largest that lie below, or above it."""

    covered: float
    below: float
    above: float


@dataclass(frozen=True)
class Levels:
    """Scores 0, 1, 2, …, with chances for members and for non-members."""

    members: np.ndarray
    nonmembers: np.ndarray

    def draw(self, rng: np.random.Generator, members: int, nonmembers: int) -> tuple[np.ndarray, np.ndarray]:
        scores = [rng.choice(len(p), size=n, p=p) for p, n in ((self.members, members), (self.nonmembers, nonmembers))]
        return np.concatenate(scores).astype(np.float64), np.arange(members + nonmembers) < members

    @property
    def auc(self) -> float:
        return float(self.members @ (np.cumsum(self.nonmembers) - self.nonmembers / 2))

    def ppv(self, fpr: float, prior: float) -> float:
        """Of calls above the lowest score that at most a share ``fpr`` of non-members exceeds; NaN where nobody is."""
        above = [1 - np.cumsum(p) for p in (self.members, self.nonmembers)]
        lowest = int(np.argmax(above[1] <= fpr + 1e-12))
        tpr, false = (max(float(rates[lowest]), 0.0) for rates in above)
        called = prior * tpr + (1 - prior) * false
        return prior * tpr / called if called > 1e-12 else float("nan")


def of_two_values(right: np.ndarray, members: int, right_outside: np.ndarray, nonmembers: int) -> np.ndarray:
    """(2, …) the ends of ``auc``'s interval for scores of 0 and 1, written out for many outcomes at once.

    The widest of three: Newcombe's for the advantage, DeLong's in log-odds with Student's quantile, and what no sample
    of this size excludes.
    """
    shares, sizes = (right / members, right_outside / nonmembers), (members, nonmembers)
    value = (1 + shares[0] - shares[1]) / 2
    down = shares[0] - lower_share(right, members, 0.025), upper_share(right_outside, nonmembers, 0.025) - shares[1]
    up = upper_share(right, members, 0.025) - shares[0], shares[1] - lower_share(right_outside, nonmembers, 0.025)
    parts = [share * (1 - share) / 4 / (n - 1) for share, n in zip(shares, sizes, strict=True)]
    variance = parts[0] + parts[1]
    with np.errstate(divide="ignore", invalid="ignore"):  # no spread: nothing from DeLong
        freedom = variance**2 / (parts[0] ** 2 / (members - 1) + parts[1] ** 2 / (nonmembers - 1))
        half = stdtrit(freedom, 0.975) * np.sqrt(variance) / (value * (1 - value))
        smooth = expit(logit(value) - half), expit(logit(value) + half)
    room = unanimous_bound(min(sizes), 0.025)
    lows, highs = [value - np.hypot(*down) / 2, smooth[0], room], [value + np.hypot(*up) / 2, smooth[1], 1 - room]
    for share, n in zip(shares, sizes, strict=True):  # a side whose records are all alike
        bound = np.where(np.isin(share, (0.0, 1.0)), unanimous_bound(n, 0.025), 1.0)
        lows.append(value * bound)
        highs.append(1 - (1 - value) * bound)
    ends = reduce(np.fmin, np.broadcast_arrays(*lows)), reduce(np.fmax, np.broadcast_arrays(*highs))
    return np.clip(np.stack(ends), 0.0, 1.0)


def two_values(members: int, nonmembers: int, chances: np.ndarray = CHANCES) -> Exact:
    """All outcomes are enumerated, so this is the coverage itself, not an estimate of it."""
    counts = np.arange(members + 1.0), np.arange(nonmembers + 1.0)
    low, high = of_two_values(counts[0][:, None], members, counts[1], nonmembers)
    weights = [binom.pmf(k[:, None], n, chances) for k, n in zip(counts, (members, nonmembers), strict=True)]
    covered, below, above = 1.0, 0.0, 0.0
    for one, other in itertools.product(range(len(chances)), repeat=2):
        rows, columns = (np.flatnonzero(w[:, k] > 1e-12) for w, k in zip(weights, (one, other), strict=True))
        truth, part = (1 + chances[one] - chances[other]) / 2, np.ix_(rows, columns)
        misses = [
            float(weights[0][rows, one] @ (missed[part] @ weights[1][columns, other]))
            for missed in (high < truth - 1e-12, low > truth + 1e-12)
        ]
        covered, below, above = min(covered, 1 - sum(misses)), max(below, misses[0]), max(above, misses[1])
    return Exact(covered, below, above)


def shapes(levels: int) -> dict[str, np.ndarray]:
    """Chances of each level: alike, halved from one to the next, or one lump and a little of the others."""
    halved = 0.5 ** np.arange(levels)
    low, middle = np.full(levels, 0.01), np.full(levels, 0.03)
    low[0] = 1 - low[1:].sum()
    middle[levels // 2] = 1 - 0.03 * (levels - 1)
    return {
        "alike": np.full(levels, 1 / levels),
        "halved": halved / halved.sum(),
        "lump below": low,
        "lump above": low[::-1],
        "lump between": middle,
    }


def held(
    draw: Callable[[np.random.Generator], Estimate], truth: float, samples: int, seed: Sequence[int]
) -> tuple[float, float]:
    """Shares of the samples in which an interval held the truth, and in which there was one."""
    found = [draw(np.random.default_rng([*seed, k])) for k in range(samples)]
    given = [one for one in found if not np.isnan(one.value)]
    inside = [one.low - 1e-12 <= truth <= one.high + 1e-12 for one in given]
    return (float(np.mean(inside)) if inside else float("nan")), len(given) / samples


def few_values(
    samples: int, numbers: Sequence[int] = (3, 5, 10), sizes: Sequence[tuple[int, int]] = FEW_VALUES
) -> list:
    rows = []
    for levels, (members, nonmembers) in itertools.product(numbers, sizes):
        for (one, inside), (other, outside) in itertools.product(shapes(levels).items(), repeat=2):
            world = Levels(inside, outside)

            def draw(rng: np.random.Generator, world=world, members=members, nonmembers=nonmembers) -> Estimate:
                return auc(*world.draw(rng, members, nonmembers))

            share, _ = held(draw, world.auc, samples, (levels, members, nonmembers))
            rows.append(
                {
                    "levels": levels,
                    "members": members,
                    "nonmembers": nonmembers,
                    "member shape": one,
                    "non-member shape": other,
                    "auc": round(world.auc, 4),
                    "covered": share,
                }
            )
    return rows


def called_worlds() -> dict[str, Levels]:
    """A table that knows its members, and answers a few others as if it did; scores of few values; of very many."""
    tables = {
        f"table, {share:g} wrong": Levels(np.array([0.0, 1.0]), np.array([1 - share, share]))
        for share in (0.0, 0.004, 0.02, 0.04)
    }
    half = {"half a table": Levels(np.array([0.5, 0.5]), np.array([0.98, 0.02]))}
    steps = {
        f"{levels} levels": Levels(shapes(levels)["alike"], shapes(levels)["halved"]) for levels in (3, 6, 10, 100)
    }
    return tables | half | steps


def predictive_values(samples: int, sizes: Sequence[tuple[int, int]] = CALLED) -> list:
    rows = []
    for (name, world), (members, nonmembers), fpr in itertools.product(called_worlds().items(), sizes, FPRS):
        truth = world.ppv(fpr, PRIOR)
        if np.isnan(truth):
            continue

        def draw(rng: np.random.Generator, world=world, members=members, nonmembers=nonmembers, fpr=fpr) -> Estimate:
            return positive_predictive_value(*world.draw(rng, members, nonmembers), fpr, PRIOR)

        share, given = held(draw, truth, samples, (members, nonmembers))
        rows.append(
            {
                "world": name,
                "members": members,
                "nonmembers": nonmembers,
                "fpr": fpr,
                "ppv": round(truth, 4),
                "covered": share,
                "given": given,
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2000)
    options = parser.parse_args()
    exact = []
    for members, nonmembers in TWO_VALUES:
        found = two_values(members, nonmembers)
        print(f"0 and 1, {members} against {nonmembers}: {found}", flush=True)
        exact.append(
            {
                "members": members,
                "nonmembers": nonmembers,
                "least covered": round(found.covered, 5),
                "most below": round(found.below, 5),
                "most above": round(found.above, 5),
            }
        )
    values, predictive = few_values(options.samples), predictive_values(options.samples)
    for row in (*sorted(values, key=lambda row: row["covered"])[:20], *predictive):
        print(*row.values(), sep="  ")
    found = {
        "command": "python -m benchmarks.honesty.ties",
        "samples": options.samples,
        "nominal": 0.95,
        "auc of 0 and 1, summed over all outcomes": exact,
        "auc of few values, smallest": min(row["covered"] for row in values),
        "ppv, smallest": min(row["covered"] for row in predictive),
        "auc of few values": values,
        "ppv": predictive,
    }
    (HERE / "ties.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
