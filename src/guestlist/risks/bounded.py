"""A risk of each record with its interval."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class WithInterval(NamedTuple):
    """(records,) each: the risk, and the ends of its interval; NaN where a record has none."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
