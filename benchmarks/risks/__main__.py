"""Run times of risks: ``python -m benchmarks.risks``, a few minutes.

* SHAPr of all of MNIST, 60,000 training records and 10,000 test records in 784 dimensions, on two threads; the paper took
  2,747 s. For comparison, in the same run, the time of numpy for the distances and their order, which an exact method
  needs.
* Every risk that needs only the matrices of references, 20,000 records and 64 models; and the means that two of them use, by a
  plain loop over some records, scaled to all records.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

import guestlist as gl
from guestlist.risks import RISKS
from guestlist.risks.influence import membership_influence
from guestlist.selfcheck.simulations import gaussian_simulation

HERE = Path(__file__).parent
PUBLISHED = 2747.0  # seconds, SHAPr's Table VI
SAMPLE = 200  # records of the loops


class Seconds(NamedTuple):
    wall: float
    cpu: float


@dataclass(frozen=True)
class Row:
    """A computation, its duration, and the duration of a simple implementation."""

    computation: str
    seconds: float
    cpu: float
    comparison: str = ""
    comparison_seconds: float | None = None


def timed(work: Callable[[], object]) -> Seconds:
    wall, cpu = time.perf_counter(), os.times()
    work()
    after = os.times()
    return Seconds(time.perf_counter() - wall, after.user + after.system - cpu.user - cpu.system)


def shapr_of_mnist(records: int, tests: int) -> Row:
    """Time SHAPr in the space of inputs, and numpy's distances and their order, on a hundredth of the test records."""
    folder = Path(os.environ["GUESTLIST_DATA"])
    with np.load(folder / "mnist.npz") as mnist:
        x, y = mnist["x_train"][:records].reshape(-1, 784) / np.float32(255), mnist["y_train"][:records]
        x_test, y_test = mnist["x_test"][:tests].reshape(-1, 784) / np.float32(255), mnist["y_test"][:tests]
    gl.risks.shapr(x[:200], y[:200], x_test[:20], y_test[:20], n_jobs=2)  # compiled before the measurement
    shapr_time = timed(lambda: gl.risks.shapr(x, y, x_test, y_test, n_jobs=2))
    some = max(tests // 100, 1)
    plain = timed(lambda: np.argsort(np.square(x).sum(1) - 2 * x_test[:some] @ x.T, axis=1, kind="stable"))
    return Row(
        f"SHAPr of {len(x):,} x {len(x_test):,} images of 784 pixels",
        shapr_time.wall,
        shapr_time.cpu,
        "numpy: only distances and their order",
        plain.wall * len(x_test) / some,
    )


def of_matrices(records: int, models: int) -> list[Row]:
    """Time each risk that needs only outputs of references, then all of them together."""
    case = case_of(records, models)
    rows, total = [], Seconds(0.0, 0.0)
    for name, row in RISKS.items():
        if row.references and not row.evidence:
            fresh = case_of(records, models)  # no cached results of another risk
            took = timed(lambda row=row, fresh=fresh: row.risk(fresh))
            rows.append(Row(name, *took))
            total = Seconds(total.wall + took.wall, total.cpu + took.cpu)
    member, correct = case.view.reference_member, case.view.reference("correct")
    chosen = np.arange(min(100, records))
    took = timed(lambda: membership_influence(correct, member, chosen))
    rows.append(Row(f"influence of {len(chosen)} records on all", *took))
    loop = timed(lambda: by_loops(case, min(SAMPLE, records)))
    rows.append(
        Row(
            "all of them",
            total.wall + took.wall,
            total.cpu + took.cpu,
            "memorisation and mu's means by a loop over records",
            loop.wall * records / min(SAMPLE, records),
        )
    )
    return rows


def case_of(records: int, models: int) -> gl.Case:
    """Return a simulated target, its references and the membership."""
    import pandas as pd

    from guestlist._case import Case, Setting, Truth

    simulation = gaussian_simulation(1.0, records=records, models=models + 1, seed=0)
    table = pd.DataFrame({"id": np.arange(records).astype(str), "label": "0", "class": simulation.labels})
    truth = Truth(simulation.member[0].copy(), np.ones(records, bool))
    return Case(simulation.facing(0), truth, table, None, {}, Setting("made up", 2, "logits"))


def by_loops(case: gl.Case, records: int) -> None:
    member, correct, margin = case.view.reference_member, case.view.reference("correct"), case.view.reference("margin")
    for i in range(records):
        inside = member[:, i]
        correct[inside, i].mean() - correct[~inside, i].mean()
        (margin[inside, i].mean() - margin[~inside, i].mean()) / np.sqrt(
            margin[inside, i].var() + margin[~inside, i].var()
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--models", type=int, default=64)
    options = parser.parse_args()
    rows = of_matrices(options.records, options.models)
    if "GUESTLIST_DATA" in os.environ:
        rows.append(shapr_of_mnist(60_000, 10_000))
    else:
        print("SHAPr of MNIST is omitted. Set GUESTLIST_DATA to the folder of mnist.npz.")
    for row in rows:
        comparison = "" if row.comparison_seconds is None else f"; {row.comparison}: {row.comparison_seconds:.1f} s"
        print(f"{row.computation}: {row.seconds:.2f} s, {row.cpu:.2f} s of CPU{comparison}")
    results = {"records": options.records, "models": options.models, "published_seconds": PUBLISHED}
    results["rows"] = [{k: round(v, 3) if isinstance(v, float) else v for k, v in asdict(row).items()} for row in rows]
    (HERE / "results.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
