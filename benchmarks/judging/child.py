"""Audit a forest on digits twice in one folder and print the CPU seconds of the second time, which trains nothing."""

import sys
import tempfile
import time
import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

import guestlist as gl

RECORDS = 2000


def main(references: int, repeats: int) -> None:
    warnings.simplefilter("ignore")
    x, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    rows = np.r_[np.arange(len(y)), rng.choice(len(y), RECORDS - len(y), replace=False)]
    # Digits has 1,797 records; those taken twice get a little noise, so that no record has a twin.
    x = x[rows] + np.r_[np.zeros(len(y)), np.ones(RECORDS - len(y))][:, None] * rng.normal(0, 0.1, (RECORDS, 64))
    y, order = y[rows], rng.permutation(RECORDS)
    sides = [(x[part], y[part]) for part in np.array_split(order, 2)]
    model = RandomForestClassifier(50, random_state=0).fit(*sides[0])
    with tempfile.TemporaryDirectory() as place:
        gl.audit(model, *sides, references=references, folder=place + "/audit", jobs=1)
        times = []
        for _ in range(repeats):
            start = time.process_time()
            gl.audit(model, *sides, references=references, folder=place + "/audit", jobs=1)
            times.append(time.process_time() - start)
    print(min(times))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
