"""Audit a logistic regression on the digits with 32 references; print nothing."""

from __future__ import annotations

import sys
import warnings

from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import guestlist as gl


def main() -> None:
    jobs = None if sys.argv[1] == "default" else int(sys.argv[1])
    x, y = load_digits(return_X_y=True)
    members, nonmembers = (x[::2] / 16, y[::2]), (x[1::2] / 16, y[1::2])
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
