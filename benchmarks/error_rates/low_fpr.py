"""``python -m benchmarks.error_rates.low_fpr``: coverage, width and power of the interval of TPR at a low FPR.

The interval is compared with a union bound: order statistics that bracket the threshold, Clopper-Pearson limits at either end,
each of the four ends with a quarter of the error. Some simulations have tied scores that end just at the FPR, where adding two
distances by squares (plain MOVER) fails. A second part measures how often an audit claims a leak of a few memorised records.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from scipy import special, stats

from guestlist._findings.significance import SIGNIFICANCE_LEVEL, TestFamily, attack_p_values
from guestlist.metrics import Estimate, auc, clopper_pearson_lower, clopper_pearson_upper, tpr_at_fpr

HERE = Path(__file__).parent
Draw = Callable[[np.random.Generator, int, int], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Simulation:
    """Scores of members and of non-members with a known TPR at ``fpr``."""

    draw: Draw
    truth: float
    members: int
    nonmembers: int
    fpr: float
    records_per_person: int = 1

    def sample(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        inside, outside = self.draw(rng, self.members, self.nonmembers)
        member = np.arange(self.members + self.nonmembers) < self.members
        if self.records_per_person == 1:
            return np.concatenate([inside, outside]), member, None
        persons = np.arange(len(member)) // self.records_per_person
        return np.concatenate([inside, outside]), member, persons


@dataclass(frozen=True)
class Row:
    """Shares of repeats in which an interval covers the truth, is below or above it, and is above the FPR.

    The union bound is compared where each record is its own person.
    """

    name: str
    truth: float
    covered: float
    below: float
    above: float
    power: float
    power_of_union_bound: float | None
    width_ratio: float | None


def normal(shift: float, members: int, nonmembers: int, fpr: float) -> Simulation:
    def draw(rng, n_members, n_nonmembers):
        return rng.normal(size=n_members) + shift, rng.normal(size=n_nonmembers)

    return Simulation(draw, float(special.ndtr(special.ndtri(fpr) + shift)), members, nonmembers, fpr)


def student(degrees_of_freedom: float, shift: float, members: int, nonmembers: int, fpr: float) -> Simulation:
    """Simulate heavy tails."""

    def draw(rng, n_members, n_nonmembers):
        return rng.standard_t(degrees_of_freedom, n_members) + shift, rng.standard_t(degrees_of_freedom, n_nonmembers)

    truth = stats.t.sf(stats.t.isf(fpr, degrees_of_freedom) - shift, degrees_of_freedom)
    return Simulation(draw, float(truth), members, nonmembers, fpr)


def memorised(share: float, members: int, nonmembers: int, fpr: float) -> Simulation:
    """Simulate a share of members with scores above all others."""

    def draw(rng, n_members, n_nonmembers):
        return rng.normal(size=n_members) + 6 * (rng.random(n_members) < share), rng.normal(size=n_nonmembers)

    truth = (1 - share) * fpr + share * special.ndtr(special.ndtri(fpr) + 6)
    return Simulation(draw, float(truth), members, nonmembers, fpr)


def values(inside: list[float], outside: list[float], members: int, nonmembers: int, fpr: float) -> Simulation:
    """Simulate scores 0, 1, 2, … with these probabilities."""

    def draw(rng, n_members, n_nonmembers):
        return (
            rng.choice(len(inside), n_members, p=inside).astype(float),
            rng.choice(len(outside), n_nonmembers, p=outside).astype(float),
        )

    above = 1 - np.cumsum(outside)
    threshold = int(np.argmax(above <= fpr + 1e-12))
    return Simulation(draw, float(np.sum(inside[threshold + 1 :])), members, nonmembers, fpr)


def rounded(shift: float, step: float, members: int, nonmembers: int, fpr: float) -> Simulation:
    """Simulate normal scores rounded to multiples of a step."""

    def draw(rng, n_members, n_nonmembers):
        return np.round((rng.normal(size=n_members) + shift) / step), np.round(rng.normal(size=n_nonmembers) / step)

    grid = np.arange(-200, 200)
    threshold = grid[np.argmax(special.ndtr(-(grid + 0.5) * step) <= fpr)]
    return Simulation(draw, float(special.ndtr(shift - (threshold + 0.5) * step)), members, nonmembers, fpr)


def persons(shift: float, each: int, members: int, nonmembers: int, fpr: float) -> Simulation:
    """Simulate several records of each person, with a correlation of 0.5."""

    def draw(rng, n_members, n_nonmembers):
        def correlated(n):
            return (np.repeat(rng.normal(size=n // each), each) + rng.normal(size=n)) / np.sqrt(2)

        return correlated(n_members) + shift, correlated(n_nonmembers)

    truth = float(special.ndtr(special.ndtri(fpr) + shift))
    return Simulation(draw, truth, members, nonmembers, fpr, records_per_person=each)


SIMULATIONS = {
    "normal, d 0, 1000 + 1000, 1%": normal(0.0, 1000, 1000, 0.01),
    "normal, d 0.5, 900 + 900, 1%": normal(0.5, 900, 900, 0.01),
    "normal, d 1, 400 + 400, 1%": normal(1.0, 400, 400, 0.01),
    "normal, d 2, 2000 + 370, 1%": normal(2.0, 2000, 370, 0.01),
    "normal, d 3, 1000 + 1000, 1%": normal(3.0, 1000, 1000, 0.01),
    "normal, d 3, 100 + 100, 5%": normal(3.0, 100, 100, 0.05),
    "normal, d 1, 20 + 20, 5%": normal(1.0, 20, 20, 0.05),
    "normal, d 1, 2000 + 50, 5%": normal(1.0, 2000, 50, 0.05),
    "normal, d 3, 50 + 2000, 1%": normal(3.0, 50, 2000, 0.01),
    "heavy tails (t1), 900 + 900, 5%": student(1, 2.0, 900, 900, 0.05),
    "heavy tails (t2), 900 + 900, 1%": student(2, 1.0, 900, 900, 0.01),
    "heavy tails (t3), 5000 + 5000, 0.1%": student(3, 2.0, 5000, 5000, 0.001),
    "2% memorised, 900 + 900, 1%": memorised(0.02, 900, 900, 0.01),
    "2% memorised, 900 + 900, 5%": memorised(0.02, 900, 900, 0.05),
    "rounded to 0.5, 1000 + 1000, 1%": rounded(1.0, 0.5, 1000, 1000, 0.01),
    "rounded to 1, 1000 + 1000, 5%": rounded(1.5, 1.0, 1000, 1000, 0.05),
    "2 values, 400 + 400, 5%": values([0.02, 0.98], [0.97, 0.03], 400, 400, 0.05),
    "3 values, 500 + 500, 5%": values([0.3, 0.3, 0.4], [0.6, 0.3, 0.1], 500, 500, 0.05),
    "2 values, ties end at the FPR, 400 + 400, 5%": values([0.1, 0.9], [0.95, 0.05], 400, 400, 0.05),
    "3 values, ties end at the FPR, 500 + 500, 5%": values([0.3, 0.3, 0.4], [0.6, 0.35, 0.05], 500, 500, 0.05),
    "3 values, ties end at the FPR, 900 + 900, 1%": values([0.2, 0.5, 0.3], [0.5, 0.49, 0.01], 900, 900, 0.01),
    "4 records per person, d 1, 1000 + 1000, 5%": persons(1.0, 4, 1000, 1000, 0.05),
    "4 records per person, d 0, 2000 + 2000, 1%": persons(0.0, 4, 2000, 2000, 0.01),
}


def union_bound(scores: np.ndarray, member: np.ndarray, fpr: float, error: float = 0.05) -> Estimate:
    """Return the interval with a quarter of the error at each end of the bracket and of the Clopper-Pearson limits."""
    inside = scores[member]
    outside = np.sort(scores[~member])[::-1]
    n_members, n = len(inside), len(outside)

    def above(rank: int) -> int:
        if rank < 0:
            return 0
        return n_members if rank >= n else int((inside > outside[rank]).sum())

    strict = int(stats.binom.ppf(error / 4, n, fpr)) - 1
    lenient = int(stats.binom.isf(error / 4, n, fpr))
    value = above(int(np.floor(fpr * n + 1e-9))) / n_members
    low = float(clopper_pearson_lower(above(strict), n_members, error / 4))
    return Estimate(value, low, float(clopper_pearson_upper(above(lenient), n_members, error / 4)))


def measured(name: str, repeats: int, seed: int = 0) -> Row:
    simulation = SIMULATIONS[name]
    intervals, unions = [], []
    for repeat in range(repeats):
        scores, member, owners = simulation.sample(np.random.default_rng([seed, repeat]))
        intervals.append(tpr_at_fpr(scores, member, simulation.fpr, clusters=owners))
        if owners is None:
            unions.append(union_bound(scores, member, simulation.fpr))
    low, high = np.array([(result.low, result.high) for result in intervals]).T
    below = float(np.mean(high < simulation.truth - 1e-12))
    above = float(np.mean(low > simulation.truth + 1e-12))
    width = float((high - low).mean())
    return Row(
        name=name,
        truth=round(simulation.truth, 4),
        covered=round(1 - below - above, 4),
        below=below,
        above=above,
        power=float(np.mean(low > simulation.fpr)),
        power_of_union_bound=float(np.mean([result.low > simulation.fpr for result in unions])) if unions else None,
        width_ratio=round(width / float(np.mean([result.high - result.low for result in unions])), 3)
        if unions
        else None,
    )


def claims(share: float, shift: float, repeats: int, n: int = 900, fprs: tuple[float, ...] = (0.01, 0.05)) -> dict:
    """Return how often the headline attack is claimed to beat guessing: by its AUC, by a TPR, by either."""
    member = np.arange(2 * n) < n
    counts = {"AUC": 0, "TPR": 0, "either": 0, "uncorrected interval at 1% excludes guessing": 0}
    for repeat in range(repeats):
        rng = np.random.default_rng([7, repeat])
        scores = rng.normal(size=2 * n) + shift * member
        scores[:n] += 6 * (rng.random(n) < share)
        excluded = {("attack", fpr) for fpr in fprs if tpr_at_fpr(scores, member, fpr).low > fpr}
        ranked = {("attack", None)} if auc(scores, member).low > 0.5 else set()
        observed = TestFamily(
            {"attack": scores}, {"attack": fprs}, ("attack",), frozenset(excluded | ranked), below=False
        )
        adjusted = attack_p_values(observed, member, rng)
        by_auc = bool(ranked) and adjusted.auc["attack"] <= SIGNIFICANCE_LEVEL
        by_rate = any(adjusted.rates[metric] <= SIGNIFICANCE_LEVEL for metric in excluded)
        counts["AUC"] += by_auc
        counts["TPR"] += by_rate
        counts["either"] += by_auc or by_rate
        counts["uncorrected interval at 1% excludes guessing"] += ("attack", 0.01) in excluded
    return {"memorised": share, "shift": shift} | {name: count / repeats for name, count in counts.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=2000)
    options = parser.parse_args()
    rows = []
    for name in SIMULATIONS:
        rows.append(measured(name, options.repeats))
        print(rows[-1], flush=True)
    claim_rates = [claims(share, shift, options.repeats // 5) for share, shift in ((0.02, 0), (0, 0.12), (0, 0))]
    print(*claim_rates, sep="\n")
    compared = [row for row in rows if row.width_ratio is not None]
    untied = [row for row in compared if "value" not in row.name and "rounded" not in row.name]
    results = {
        "command": "python -m benchmarks.error_rates.low_fpr",
        "repeats": options.repeats,
        "nominal": 0.95,
        "lowest coverage": min(row.covered for row in rows),
        "mean width ratio": round(float(np.mean([row.width_ratio for row in compared])), 3),
        "mean width ratio without ties": round(float(np.mean([row.width_ratio for row in untied])), 3),
        "intervals": [asdict(row) for row in rows],
        "repeats of claims": options.repeats // 5,
        "claims of the headline at 900 + 900": claim_rates,
    }
    (HERE / "rates.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
