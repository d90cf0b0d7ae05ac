"""``python -m benchmarks.auditing``: lower bounds on epsilon compared with jax_privacy.

Both get the same threshold, so that nothing is selected. For one run, the largest scores are guessed to be members (jax_privacy
guesses members only); for many runs, the threshold is a non-member's score, which counts as not above it. Its Gaussian bound
uses all thresholds at once, so it gets scores with two values, which have a single threshold between them. If the upper bounds
on both errors sum to more than 1, there is no evidence, and our bound is 0. jax_privacy 2.0.0 takes the absolute value there,
as if they were lower bounds of the reversed errors, and reports an epsilon for noise. The last row has uninformative scores.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers import python_of
from guestlist.privacy import Bonferroni, ClopperPearson, GaussianRuns, OneRun, OneRunCurve
from guestlist.privacy.lower_bounds import lower

HERE = Path(__file__).parent
PEER = "jax-privacy==2.0.0"
LEVEL = 0.05
THRESHOLDS_OF_TWO_VALUES = 3  # below, between and above: the level is divided by this number


def simulations(seeds: int) -> Iterator[dict[str, Any]]:
    """Yield scores, a threshold, and our bound."""
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        records = int(rng.integers(50, 2000))
        member = rng.random(records) < 0.5
        scores = rng.uniform(0.5, 3) * member + rng.normal(size=records)
        for delta in (1e-6, 1e-5, 1e-3):
            share = float(rng.choice([0.05, 0.2, 0.5]))
            threshold = float(np.sort(scores)[-round(share * records)])
            for bound, method in (
                ("one_run", OneRun(shares=(share,), guess="members")),
                ("one_run_gaussian", OneRunCurve(shares=(share,), guess="members", curve="gaussian")),
            ):
                yield _simulation(bound, scores, member, threshold, delta, _our_bound(scores, member, delta, method))
            outside = np.sort(scores[~member])[::-1]
            k = max(int(np.ceil(share * len(outside))), 1)
            beyond = float(np.nextafter(outside[k - 1], np.inf))
            our_bound = _our_bound(scores, member, delta, ClopperPearson(shares=(share,)))
            yield _simulation("clopper_pearson", scores, member, beyond, delta, our_bound)
            two = (scores > threshold) * 1.0
            of_zero = (two[~member].sum() + 0.5) / (
                ~member
            ).sum()  # the threshold is at the first non-member with the smaller value
            our_bound = _our_bound(
                two, member, delta, GaussianRuns(shares=(of_zero,)), LEVEL / THRESHOLDS_OF_TWO_VALUES
            )
            yield _simulation("gdp", two, member, 0.5, delta, our_bound)


def noise(runs: int) -> Iterator[dict[str, Any]]:
    """Yield scores that are independent of membership: any epsilon above 0 is false."""
    for seed in range(runs):
        rng = np.random.default_rng([1, seed])
        member, scores = rng.random(200) < 0.5, rng.normal(size=200)
        yield _simulation("gdp", scores, member, 0.0, 1e-5, _our_bound(scores, member, 1e-5, GaussianRuns()))


def _our_bound(scores: np.ndarray, member: np.ndarray, delta: float, method, level: float = LEVEL) -> float:
    return lower(scores, member, delta, method, Bonferroni(), level)


def _simulation(
    bound: str, scores: np.ndarray, member: np.ndarray, threshold: float, delta: float, our_bound: float
) -> dict[str, Any]:
    row = {"scores": scores.tolist(), "member": member.tolist(), "threshold": threshold, "delta": delta, "level": LEVEL}
    return {"bound": bound, **row, "ours": our_bound}


def compared(simulated: list[dict[str, Any]], their_bounds: list[float]) -> list[dict[str, Any]]:
    rows = []
    for bound in dict.fromkeys(simulation["bound"] for simulation in simulated):
        pairs = np.array(
            [(w["ours"], other) for w, other in zip(simulated, their_bounds, strict=True) if w["bound"] == bound]
        )
        rows.append(
            {
                "bound": bound,
                "audits": len(pairs),
                "above 0": int((pairs[:, 0] > 0).sum()),
                "largest": round(float(pairs.max()), 4),
                "largest difference": _largest(pairs[pairs[:, 0] > 0] if bound == "gdp" else pairs),
                "theirs above 0 where ours is 0": int(((pairs[:, 0] == 0) & (pairs[:, 1] > 0)).sum()),
            }
        )
    return rows


def _largest(pairs: np.ndarray) -> float:
    return float(f"{np.abs(pairs[:, 0] - pairs[:, 1]).max():.2g}")


def bounds_of_peer(simulated: list[dict[str, Any]]) -> list[float]:
    """Return the bounds of jax_privacy for the same scores."""
    row = json.dumps(
        [{name: value for name, value in simulation.items() if name != "ours"} for simulation in simulated]
    )
    run = subprocess.run(
        [python_of("jax_privacy", [PEER]), HERE / "child.py"], input=row, capture_output=True, text=True
    )
    if run.returncode:
        raise RuntimeError(run.stderr[-3000:])
    return json.loads(run.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.auditing", description=__doc__)
    parser.add_argument("audits", nargs="?", type=int, default=25, help="Simulated audits per bound.")
    simulated = list(simulations(parser.parse_args().audits))
    rows = compared(simulated, bounds_of_peer(simulated))
    null = list(noise(200))
    their_bounds = bounds_of_peer(null)
    false = {"bound": "gdp", "audits": len(null), "scores": "noise"}
    false |= {
        "ours above 0": sum(simulation["ours"] > 0 for simulation in null),
        "theirs above 0": sum(e > 0 for e in their_bounds),
    }
    rows.append(false)
    for row in rows:
        print(*row.values(), sep="  ")
    content = {"command": "python -m benchmarks.auditing", "peer": PEER, "level": LEVEL, "rows": rows}
    (HERE / "results.json").write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
