"""``python -m benchmarks.collection``: one job against a bare loop over the same models, two jobs against one.

And two bare loops side by side, each with half of the models, against one with all: what two cores allow where they share a
clock, caches and memory. No engine can do better than that.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.neural_network import MLPClassifier

from benchmarks.collection.loops import bare, two_bare
from guestlist.collecting.asking import asked
from guestlist.collecting.engines.engine import Engine
from guestlist.collecting.engines.local import Local
from guestlist.collecting.inputs import Inputs, prepare, store_for
from guestlist.collecting.references import train_references
from guestlist.collecting.site import open_site
from guestlist.games import Bernoulli, draw

HERE = Path(__file__).parent
MODELS = {
    "forest": RandomForestClassifier(100, random_state=0),
    "network": MLPClassifier((64,), max_iter=100, tol=0, n_iter_no_change=1000, random_state=0),
}


def collected(inputs: Inputs, references: int, engine: Engine) -> float:
    """Seconds until all references are in the folder; starting and ending processes included."""
    with tempfile.TemporaryDirectory() as place:
        store = store_for(inputs, Path(place) / "audit", references=references, seed=0)
        said = asked(inputs.target, inputs.pool)  # beforehand
        site = open_site(store, inputs.target, inputs.pool, said, engine=engine)
        start = time.perf_counter()
        train_references(site.with_references(references))
        return time.perf_counter() - start


def ratios(model, references: int) -> dict[str, float]:
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    x, y = x[order], y[order]
    model.fit(x[:898], y[:898])
    inputs = prepare(model, (x[:898], y[:898]), (x[898:], y[898:]))
    rows = draw(Bernoulli(898 / len(y)), inputs.pool, 1 + references, seed=0).member[1:]
    loop, two_loops = bare(model, x, y, rows), two_bare(model, x, y, rows)
    one, two = (collected(inputs, references, Local(jobs)) for jobs in (1, 2))
    return {
        "one job / bare loop": one / loop,
        "two jobs / one job": two / one,
        "two bare loops / one": two_loops / loop,
        "two jobs / two bare loops": two / two_loops,
        "bare loop, s": loop,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    # Processes take as long to start for few models as for many: both are told.
    parser.add_argument("--references", type=int, nargs="+", default=[100, 300])
    parser.add_argument("--repeats", type=int, default=3, help="the medians are kept")
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
