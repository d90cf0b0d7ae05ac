"""One tool's audit in a separate process: prints elapsed and CPU seconds, disk and scores as JSON on its last line."""

import inspect
import json
import logging
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from split import fitted


def megabytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


class Clock:
    """Elapsed and CPU seconds since it was made; CPU seconds include processes that have ended."""

    def __init__(self):
        self._elapsed = time.perf_counter()
        self._cpu = sum(os.times()[:4])

    def read(self) -> dict[str, float]:
        return {"seconds": time.perf_counter() - self._elapsed, "CPU seconds": sum(os.times()[:4]) - self._cpu}


def guestlist(seed: int, references: int, out: Path) -> dict:
    from with_guestlist import audit

    model, members, nonmembers = fitted(seed)
    clock = Clock()
    results = audit(model, members, nonmembers, out, references)
    times = clock.read()
    scores = {f.name: results.records[f"score_{f.name}"].tolist() for f in results.outcomes}
    return {**times, "scores": scores, "headline": results.headline.name, "lines": lines(audit)}


def sacroml(seed: int, references: int, out: Path) -> dict:
    from with_sacroml import audit

    logging.disable(logging.CRITICAL)
    model, members, nonmembers = fitted(seed)
    clock = Clock()
    reports = {"online-carlini": audit(model, members, nonmembers, str(out), references)}
    times = clock.read()
    # Its other modes, from its stored shadow models: the best of them counts, the first was timed.
    for mode in ("offline", "offline-carlini", "online-carlini"):
        for fixed in (False, True):
            name = f"{mode}{', fixed variance' if fixed else ''}"
            reports[name] = reports.get(name) or audit(model, members, nonmembers, str(out), references, mode, fixed)
    scores = {name: individual(report)["member_prob"] for name, report in reports.items()}
    return {**times, "scores": scores, "lines": lines(audit)}


def individual(report: dict) -> dict:
    return report["attack_experiment_logger"]["attack_instance_logger"]["instance_0"]["individual"]


def lines(function) -> int:
    return len([line for line in inspect.getsource(function).splitlines()[1:] if line.strip()])


if __name__ == "__main__":
    tool, seed, references, out = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    warnings.simplefilter("ignore")
    result = {"guestlist": guestlist, "sacroml": sacroml}[tool](seed, references, out)
    result["scores"] = {name: np.nan_to_num(np.asarray(s, float)).tolist() for name, s in result["scores"].items()}
    print(json.dumps({**result, "megabytes": megabytes(out)}))
