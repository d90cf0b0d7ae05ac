"""Figures 4 and 5: how the risks of one target's members are spread, those that are called and those that are not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from papers.shapr.measures import FIRST, OWN, SCORE, Repeat

BINS = 30


@dataclass(frozen=True)
class Distribution:
    """Shares of all members in bins of equal width between ``low`` and ``high``; what lies beyond is in the end bins.

    Args:
        called, not_called: (bins,) of the members that the modified-entropy attack calls, and of the others.
        at_risk: share of members above the risk's threshold.
        values: how many different values there are.
    """

    risk: str
    low: float
    high: float
    called: list[float]
    not_called: list[float]
    at_risk: float
    values: int


def distributions(one: Repeat) -> list[Distribution]:
    """Of SHAPr in the first layer, times the number of members, and of the privacy risk score."""
    shapr = one.risks[FIRST] * one.member.sum()
    end = float(np.quantile(np.abs(shapr), 0.99))
    calls = one.calls[OWN][one.member] > 0
    return [_of(FIRST, shapr, calls, -end, end, 0.0), _of(SCORE, one.risks[SCORE], calls, 0.0, 1.0, 0.5)]


def _of(risk: str, values: np.ndarray, called: np.ndarray, low: float, high: float, threshold: float) -> Distribution:
    edges = np.linspace(low, high, BINS + 1)
    shares = [
        (np.histogram(np.clip(values[part], low, high), edges)[0] / len(values)).tolist() for part in (called, ~called)
    ]
    return Distribution(risk, low, high, *shares, float(np.mean(values > threshold)), len(np.unique(values)))
