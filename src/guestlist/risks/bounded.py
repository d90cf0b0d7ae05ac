"""Risk values with confidence intervals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class WithInterval(NamedTuple):
    """(records,) values of a risk, and the ends of their intervals; NaN where a record has none."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
