"""Count the functions and modules that a small audit visits, and its hops between modules.

    python -m benchmarks.architecture.tracer              # print the counts
    python -m benchmarks.architecture.tracer --add NAME   # add them to tracer.json too, under a name, such as a commit

A *hop* is a call of a function of guestlist whose nearest caller within guestlist is in a different module. The audit runs in
this process. It runs once before it is counted, so that imports and compilation are not counted.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType

import numpy as np
from sklearn.tree import DecisionTreeClassifier

import guestlist as gl

RESULTS = Path(__file__).with_name("tracer.json")
SOURCE = str(Path(gl.__file__).parent)


class Tracer:
    """Profiler that counts calls of functions of guestlist."""

    def __init__(self):
        self.calls: Counter[CodeType] = Counter()
        self.hops: Counter[tuple[str, str]] = Counter()
        self._modules: list[str] = []  # stack of guestlist's modules

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        path = frame.f_code.co_filename
        if event not in ("call", "return") or not path.startswith(SOURCE):
            return
        if event == "return":
            if self._modules:
                self._modules.pop()
            return
        if self._modules and self._modules[-1] != path:
            self.hops[self._modules[-1], path] += 1
        self._modules.append(path)
        self.calls[frame.f_code] += 1

    def counts(self) -> dict[str, int]:
        """Return the numbers of visited functions and modules, of calls and of hops."""
        return {
            "functions": len(self.calls),
            "modules": len({code.co_filename for code in self.calls}),
            "calls": sum(self.calls.values()),
            "hops": sum(self.hops.values()),
        }


def small_audit() -> None:
    """Audit a tree of 120 records with eight references."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=120)
    x = rng.normal(size=(120, 5)) + np.eye(5)[y]
    model = DecisionTreeClassifier(random_state=0).fit(x[:60], y[:60])
    sets = (x[:60], y[:60]), (x[60:], y[60:])
    gl.audit(model, *sets, references=8, engine=gl.Here(), progress=False)


def traced(audit: Callable[[], None] = small_audit) -> Tracer:
    """Run an audit twice, and count the second time."""
    audit()
    tracer = Tracer()
    sys.setprofile(tracer)
    try:
        audit()
    finally:
        sys.setprofile(None)
    return tracer


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.architecture.tracer", description=__doc__)
    parser.add_argument("--add", metavar="NAME", help="add the counts to tracer.json under this name")
    options = parser.parse_args()
    counts = traced().counts()
    print(json.dumps(counts))
    if options.add:
        known = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
        RESULTS.write_text(json.dumps({**known, options.add: counts}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
