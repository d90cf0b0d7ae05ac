"""Audit a forest on digits twice in one folder and print the CPU seconds of the second time, which trains nothing.

It also prints the seconds without the findings that were added since the compared commit.
"""

import sys
import tempfile
import time
import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

import guestlist as gl

RECORDS = 2000
# Modules of findings at that commit; all others were added since.
EARLIER = (
    "subject",
    "references",
    "headline",
    "attacks",
    "hypothesis_tests",
    "agreement",
    "groups",
    "records",
    "checks",
    "untested",
    "provenance",
)


class Added:
    """CPU seconds of findings that were added since, without the findings that they call."""

    def __init__(self) -> None:
        self.seconds, self._inner = 0.0, [0.0]

    def timed(self, function, added: bool):
        def wrapped(*arguments, **extra):
            start = time.process_time()
            self._inner.append(0.0)
            results = function(*arguments, **extra)
            taken, inner = time.process_time() - start, self._inner.pop()
            self._inner[-1] += taken
            self.seconds += added * (taken - inner)
            return results

        return wrapped

    def watch(self) -> None:
        """Time every finding, and the additions to earlier ones: same recipe, halves, distances from the headline."""
        from guestlist import _case
        from guestlist._audit import flow
        from guestlist._findings import attacks, groups, headline
        from guestlist.models import input_checks

        queried = _case.Case.of

        def of(result, find):
            added = find.__module__.rpartition(".")[2] not in EARLIER and find.__module__.startswith(
                "guestlist._findings"
            )
            added |= find.__module__.startswith("guestlist.risks")
            return self.timed(lambda: queried(result, find), added)()

        _case.Case.of = of
        for module, name in (
            (attacks, "attack_p_values"),
            (attacks, "_beyond"),
            (groups, "group_p_values"),
            (flow, "_run_baseline"),
            (input_checks, "count_duplicates"),
            (input_checks, "repeated_in_population"),
        ):
            setattr(module, name, self.timed(getattr(module, name), True))
        # Scoring of every attack on all stand-in targets is old; selection on half of them for the other half is new.
        on_all, on_half = self.timed(headline._tried, False), self.timed(headline._tried, True)
        headline._tried = lambda *arguments, **extra: (on_all if "keep" in extra else on_half)(*arguments, **extra)


def main(references: int, repeats: int) -> None:
    warnings.simplefilter("ignore")
    x, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    rows = np.r_[np.arange(len(y)), rng.choice(len(y), RECORDS - len(y), replace=False)]
    # Digits has 1,797 records; those taken twice get a little noise, so that there are no duplicates.
    x = x[rows] + np.r_[np.zeros(len(y)), np.ones(RECORDS - len(y))][:, None] * rng.normal(0, 0.1, (RECORDS, 64))
    y, order = y[rows], rng.permutation(RECORDS)
    both_sets = [(x[part], y[part]) for part in np.array_split(order, 2)]
    model = RandomForestClassifier(50, random_state=0).fit(*both_sets[0])
    with tempfile.TemporaryDirectory() as folder:
        gl.audit(model, *both_sets, references=references, folder=folder + "/audit", jobs=1)
        added, times = Added(), []
        if hasattr(gl, "FINDINGS"):
            added.watch()
        for _ in range(repeats):
            start, added.seconds = time.process_time(), 0.0
            gl.audit(model, *both_sets, references=references, folder=folder + "/audit", jobs=1)
            times.append((time.process_time() - start, added.seconds))
    total, added_seconds = min(times)
    print(total, total - added_seconds)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
