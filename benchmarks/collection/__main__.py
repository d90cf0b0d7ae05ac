"""``python -m benchmarks.collection``: one job compared with a plain loop over the same number of models, two jobs with one.

The limit is two plain loops in parallel, each with half of the models, compared with one loop: two cores share a clock, caches
and memory, and no engine can be faster.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.neural_network import MLPClassifier

from benchmarks.collection.loops import plain_loop, two_plain_loops
from guestlist._collect import (
    CollectContext,
    Inputs,
    open_context,
    prepare,
    query_target,
    store_of_inputs,
    train_references,
)
from guestlist._collect.engines.engine import Engine
from guestlist._collect.engines.local import Local
from guestlist.games import Bernoulli, draw

HERE = Path(__file__).parent
IN_TURN = 10  # models
MODELS = {
    "forest": RandomForestClassifier(100, random_state=0),
    "network": MLPClassifier((64,), max_iter=100, tol=0, n_iter_no_change=1000, random_state=0),
}


def opened(inputs: Inputs, folder: str, references: int, engine: Engine) -> CollectContext:
    """Return a context in which the target was queried and no reference was trained yet."""
    store = store_of_inputs(inputs, Path(folder) / "audit", references=references, seed=0)
    outputs, _ = query_target(inputs.target, inputs.pool)
    return open_context(store, inputs.target, inputs.pool, outputs, engine=engine)


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def loop_and_one_job(inputs: Inputs, references: int, loop: Callable[[slice], float]) -> tuple[float, float]:
    """Return seconds of a plain loop and of one job, alternating after a few models, because the machine's speed varies."""
    taken = {"loop": 0.0, "one": 0.0}
    with tempfile.TemporaryDirectory() as folder:
        context = opened(inputs, folder, references, Local(1))
        for start in range(0, references, IN_TURN):
            stop = min(start + IN_TURN, references)
            works = {
                "loop": lambda part=slice(start, stop): loop(part),
                "one": lambda count=stop: train_references(context.with_references(count)),
            }
            for name in sorted(works, reverse=start // IN_TURN % 2 == 1):
                taken[name] += seconds(works[name])
    return taken["loop"], taken["one"]


def two_jobs(inputs: Inputs, references: int) -> float:
    """Return seconds until all references are in the folder, including start and end of processes."""
    with tempfile.TemporaryDirectory() as folder:
        context = opened(inputs, folder, references, Local(2))
        return seconds(lambda: train_references(context.with_references(references)))


def ratios(model, references: int) -> dict[str, float]:
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    x, y = x[order], y[order]
    model.fit(x[:898], y[:898])
    inputs = prepare(model, (x[:898], y[:898]), (x[898:], y[898:]))
    rows = draw(Bernoulli(898 / len(y)), inputs.pool, 1 + references, seed=0).member[1:]
    # The run with two processes is in the middle of the run with one, for the same reason.
    half = references // 2
    loop, one_job = loop_and_one_job(inputs, half, lambda part: plain_loop(model, x, y, rows[:half][part]))
    two, two_loops = two_jobs(inputs, references), two_plain_loops(model, x, y, rows)
    second_half = loop_and_one_job(inputs, references - half, lambda part: plain_loop(model, x, y, rows[half:][part]))
    loop, one_job = loop + second_half[0], one_job + second_half[1]
    return {
        "one job / plain loop": one_job / loop,
        "two jobs / one job": two / one_job,
        "two plain loops / one": two_loops / loop,
        "two jobs / two plain loops": two / two_loops,
        "plain loop, s": loop,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    # Processes take as long to start for few models as for many, so both are printed.
    parser.add_argument("--references", type=int, nargs="+", default=[100, 300])
    parser.add_argument("--repeats", type=int, default=3, help="number of runs, of which the median counts")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    results = []
    for references, (name, model) in product(options.references, MODELS.items()):
        runs = [ratios(clone(model), references) for _ in range(options.repeats)]
        medians = {key: round(statistics.median(run[key] for run in runs), 3) for key in runs[0]}
        results.append({"models": name, "references": references, **medians})
        print(results[-1], flush=True)
    (HERE / "results.json").write_text(json.dumps({"repeats": options.repeats, "rows": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
