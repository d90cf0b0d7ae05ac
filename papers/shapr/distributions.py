"""Figures 4 and 5: distribution of the risks of one target's members, flagged and not flagged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from papers.shapr.measures import FIRST, SCORE, SELF_SHADOW, Repeat

BINS = 30


@dataclass(frozen=True)
class Distribution:
    """Shares of all members in bins of equal width between ``low`` and ``high``; the end bins include values beyond.

    Args:
        called, not_called: (bins,) shares of members that the modified-entropy attack flags, and of the others.
        at_risk: share of members above the risk's threshold.
        values: number of distinct values.
    """

    risk: str
    low: float
    high: float
    called: list[float]
    not_called: list[float]
    at_risk: float
    values: int


def distributions(repeat: Repeat) -> list[Distribution]:
    """Return the distributions of SHAPr in the first layer, times the number of members, and of the privacy risk score."""
    shapr = repeat.risks[FIRST] * repeat.member.sum()
    end = float(np.quantile(np.abs(shapr), 0.99))
    calls = repeat.calls[SELF_SHADOW][repeat.member] > 0
    return [
        _distribution(FIRST, shapr, calls, -end, end, 0.0),
        _distribution(SCORE, repeat.risks[SCORE], calls, 0.0, 1.0, 0.5),
    ]


def _distribution(
    risk: str, values: np.ndarray, called: np.ndarray, low: float, high: float, threshold: float
) -> Distribution:
    edges = np.linspace(low, high, BINS + 1)
    shares = [
        (np.histogram(np.clip(values[part], low, high), edges)[0] / len(values)).tolist() for part in (called, ~called)
    ]
    return Distribution(risk, low, high, *shares, float(np.mean(values > threshold)), len(np.unique(values)))
