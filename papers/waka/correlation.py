"""Table I and Figure 1: correlation of attack success on a record with its self-WaKA."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from papers.waka.data import Pool
from papers.waka.games import PAIRS, success_rates
from papers.waka.measures import binned_spearman, bins, spearman
from papers.waka.values import EXPOSURES, best_success, lists_and_order, value_of

KS = (1, 5)


@dataclass(frozen=True)
class Correlation:
    """Correlation of attack success rates (ASR) with the values of a pool's records, at one K.

    Args:
        spearman: value to rank correlation with the ASR of each record.
        percentiles: the same between means over percentiles of the value.
        exact: correlation of self-WaKA with the exact success rate of the best possible attack.
        split_half: correlation of the ASR in one half of the games with that in the other; noise keeps it below 1.
        deciles: mean ASR in each tenth of the records, from the lowest self-WaKA to the highest.
    """

    dataset: str
    k: int
    games: int
    spearman: dict[str, float]
    percentiles: dict[str, float]
    exact: float
    split_half: float
    deciles: list[float]


def correlations(pool: Pool, *, repeats: int, seed: int = 0) -> list[Correlation]:
    """Return one row per K, from ``repeats`` batches of 18 games."""
    _, order = lists_and_order(pool, seed)
    rates = success_rates(order, KS, repeats, seed)
    return [_correlation(pool, k, rates[k]) for k in KS]


def _correlation(pool: Pool, k: int, rates: np.ndarray) -> Correlation:
    values = {name: value_of(pool, name, k) for name in EXPOSURES}
    rate = rates.mean(axis=0)
    return Correlation(
        dataset=pool.name,
        k=k,
        games=2 * PAIRS * len(rates),
        spearman={name: spearman(value, rate) for name, value in values.items()},
        percentiles={name: binned_spearman(value, rate) for name, value in values.items()},
        exact=spearman(values["self-waka"], best_success(pool, k)),
        split_half=spearman(rates[::2].mean(axis=0), rates[1::2].mean(axis=0)) if len(rates) > 1 else np.nan,
        deciles=[float(rate[rows].mean()) for rows in bins(values["self-waka"], 10)],
    )
