"""Table VI: run time of SHAPr at the paper's numbers of records, and of leave-one-out for 100 records."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import guestlist as gl
from papers.shapr.data import SOURCES, Pool, drawn, load
from papers.shapr.models import Setting, query

THREADS = 2
HUNDRED = 100


@dataclass(frozen=True)
class Timing:
    """Elapsed seconds and CPU seconds; compare the latter on a shared machine.

    Args:
        what: "SHAPr" in the space of inputs; "privacy risk score" from known entropies.
    """

    dataset: str
    what: str
    members: int
    tests: int
    features: int
    seconds: float
    cpu_seconds: float


@dataclass(frozen=True)
class LeaveOneOut:
    """Seconds for ``records`` members of LOCATION: training a model without each, and SHAPr with the training of one model."""

    records: int
    seconds: float
    shapr_seconds: float
    shapr_alone: float


def timings(names: list[str], *, max_records: int | None = None, threads: int = THREADS) -> list[Timing]:
    """Time SHAPr and the risk score of every dataset, at the paper's sizes or with at most ``max_records`` records per set."""
    gl.risks.shapr([[0.0], [1.0]], [0, 1], [[0.5]], [1], n_jobs=threads)  # compiled before the measurement
    rows = []
    for name in names:
        source = SOURCES[name]
        members, tests = (min(size, max_records or size) for size in (source.members, source.tests))
        pool = drawn(load(name), members + tests)
        member = np.arange(len(pool.y)) < members
        sides = pool.x[member], pool.y[member], pool.x[~member], pool.y[~member]
        entropy = np.random.default_rng(0).gamma(0.5, size=len(pool.y))
        known = {"known_values": entropy, "known_labels": pool.y, "known_member": member}
        size = (members, int((~member).sum()), pool.x.shape[1])
        for what, work in {
            "SHAPr": lambda sides=sides: gl.risks.shapr(*sides, n_jobs=threads),
            "privacy risk score": lambda e=entropy, y=pool.y, known=known: gl.risks.risk_score(e, y, **known),
        }.items():
            rows.append(Timing(name, what, *size, *_timed(work)))
    return rows


def leave_one_out(pool: Pool, setting: Setting, *, records: int = HUNDRED) -> LeaveOneOut:
    """Time differential training privacy (Long et al. 2017), and SHAPr in the first layer."""
    pool = drawn(pool, 2 * records)
    x, y = pool.x[:records], pool.y[:records]
    network = setting.network(pool)

    def without(i: int) -> np.ndarray:
        others = np.arange(records) != i
        return query(setting.fit(network, gl.Data(x[others], y[others]), np.random.default_rng([3, i])), x[i : i + 1])

    def shapr() -> None:
        first = setting.fit(network, gl.Data(x, y), np.random.default_rng(3))[:2]
        spaces.append(query(first, pool.x))

    spaces: list[np.ndarray] = []
    (naive, _), (training, _) = _timed(lambda: [without(i) for i in range(records)]), _timed(shapr)
    alone, _ = _timed(lambda: gl.risks.shapr(spaces[0][:records], y, spaces[0][records:], pool.y[records:]))
    return LeaveOneOut(records, naive, training + alone, alone)


def _timed(work: Callable) -> tuple[float, float]:
    clock, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - clock, time.process_time() - cpu
