"""Audit a logistic regression on the digits with 32 references, or only fit as many models; print nothing."""

from __future__ import annotations

import sys
import warnings

from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import guestlist as gl


def main() -> None:
    x, y = load_digits(return_X_y=True)
    members, nonmembers = (x[::2] / 16, y[::2]), (x[1::2] / 16, y[1::2])
    if sys.argv[1] == "fits":
        for _ in range(33):
            LogisticRegression(max_iter=200).fit(*members)
        return
    jobs = None if sys.argv[1] == "default" else int(sys.argv[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gl.audit(
            LogisticRegression(max_iter=200).fit(*members),
            members,
            nonmembers,
            references=32,
            jobs=jobs,
            progress=False,
        )


if __name__ == "__main__":
    main()
