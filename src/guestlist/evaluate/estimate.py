"""A number with its interval: the only form in which results are published."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Estimate(NamedTuple):
    """A value and the ends of its confidence interval; NaN where it is withheld."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        if np.isnan(self.value):
            return "withheld"
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


WITHHELD = Estimate(float("nan"), float("nan"), float("nan"))
