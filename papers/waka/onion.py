"""Tables III and IV, Figures 4 and 5: attacks before and after 10% of the records are removed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from guestlist.knn import waka_influence
from papers.waka.correlation import KS
from papers.waka.data import Pool
from papers.waka.games import Order, played, success, without
from papers.waka.measures import SHARE, auc_and_tpr, highest, spearman
from papers.waka.values import EXPOSURES, lists_and_order, value_of

# Changes of self-WaKA smaller than this are "near zero" in the three regimes of Figure 5.
NEAR_ZERO = 0.05
GRID = tuple(round(0.05 * step, 2) for step in range(21))  # attack success rates


@dataclass(frozen=True)
class Layer:
    """LiRA on the remaining records after a tenth was removed, as means over games.

    Args:
        removed_by: the value whose highest tenth was removed; "nothing", "random", or "asr".
        auc, tpr: metrics of models trained on the remaining records; the TPR is at 5 % FPR.
        unchanged_auc, unchanged_tpr: on the same records, for models trained on all records: the result of removal if
            no record's exposure depended on other records.
    """

    dataset: str
    k: int
    removed_by: str
    games: int
    auc: float
    tpr: float
    unchanged_auc: float
    unchanged_tpr: float


@dataclass(frozen=True)
class Influence:
    """Effect of removing the tenth with the highest self-WaKA on the remaining records, at K = 1.

    Args:
        spearman: correlation of the exact change of self-WaKA with the change of the success rate.
        regimes: mean change of the success rate where self-WaKA fell by more than 0.05, changed less, or rose by more.
        shares: shares of the records in the three regimes.
    """

    dataset: str
    spearman: float
    regimes: list[float | None]
    shares: list[float]


@dataclass(frozen=True)
class Success:
    """Distribution of the attack success rate over records at K = 1 (Figure 4).

    Args:
        removed_by: "nothing", or the value whose highest tenth was removed.
        below: share of the records whose rate is at most each value of ``GRID``.
    """

    dataset: str
    removed_by: str
    games: int
    mean: float
    below: list[float]


@dataclass(frozen=True)
class Games:
    """Scores (games, n) of all games on a pool, and the membership."""

    scores: np.ndarray
    member: np.ndarray

    def rates(self) -> np.ndarray:
        """Return (n,) attack success rate of each record."""
        return success(self.scores, self.member).mean(axis=0)

    def auc_and_tpr(self, records: np.ndarray | slice = slice(None)) -> tuple[float, float]:
        """Return means over games, among some of the records."""
        pairs = zip(self.scores[:, records], self.member[:, records], strict=True)
        return tuple(np.mean([auc_and_tpr(*pair) for pair in pairs], axis=0).tolist())


def layers(pool: Pool, *, repeats: int, seed: int = 0) -> tuple[list[Layer], list[Influence]]:
    """Return a layer per K and removal order, and the influences at K = 1.

    Args:
        repeats: number of batches of 18 games.
    """
    lists, order = lists_and_order(pool, seed)
    rows, influences = [], []
    for k in KS:
        all_games = games(order, k, repeats, seed)
        for name, removed in _removals(pool, k, all_games, seed).items():
            remaining_games = games(without(order, removed), k, repeats, seed + 1) if removed.any() else all_games
            rows.append(_layer(pool, k, name, removed, all_games, remaining_games))
            if k == 1 and name == "self-waka":
                influences.append(_influence(pool.name, replace(lists, k=1), removed, all_games, remaining_games))
    return rows, influences


def success_distributions(pool: Pool, *, repeats: int, seed: int = 0) -> list[Success]:
    """Return the distributions of success rates before and after removal by self-WaKA, at K = 1.

    Args:
        repeats: number of batches of 18 games.
    """
    order = lists_and_order(pool, seed)[1]
    removed = highest(value_of(pool, "self-waka", 1), SHARE)
    return [
        _success(pool.name, "nothing", games(order, 1, repeats, seed)),
        _success(pool.name, "self-waka", games(without(order, removed), 1, repeats, seed + 1)),
    ]


def games(order: Order, k: int, repeats: int, seed: int) -> Games:
    """Return the scores of all games at one K, in float32, so that hundreds of games of a large pool fit into memory."""
    batches = list(played(order, (k,), repeats, seed))
    scores = np.concatenate([batch.scores[k].astype(np.float32) for batch in batches])
    return Games(scores, np.concatenate([batch.member for batch in batches]))


def _removals(pool: Pool, k: int, all_games: Games, seed: int) -> dict[str, np.ndarray]:
    n = len(pool.x)
    masks = {"nothing": np.zeros(n, dtype=bool)}
    masks["random"] = highest(np.random.default_rng([seed, 10**6]).random(n), SHARE)
    masks["asr"] = highest(all_games.rates(), SHARE)
    return masks | {name: highest(value_of(pool, name, k), SHARE) for name in EXPOSURES}


def _layer(pool: Pool, k: int, name: str, removed: np.ndarray, all_games: Games, remaining_games: Games) -> Layer:
    return Layer(pool.name, k, name, len(remaining_games.scores), *remaining_games.auc_and_tpr(),
                 *all_games.auc_and_tpr(~removed))  # fmt: skip


def _success(dataset: str, removed_by: str, games: Games) -> Success:
    rates = games.rates()
    below = [float((rates <= rate + 1e-9).mean()) for rate in GRID]
    return Success(dataset, removed_by, len(games.scores), float(rates.mean()), below)


def _influence(dataset: str, lists, removed: np.ndarray, all_games: Games, remaining_games: Games) -> Influence:
    change = waka_influence(lists, removed)[~removed]
    success_change = remaining_games.rates() - all_games.rates()[~removed]
    regimes = (change < -NEAR_ZERO, np.abs(change) <= NEAR_ZERO, change > NEAR_ZERO)
    return Influence(
        dataset=dataset,
        spearman=spearman(change, success_change),
        regimes=[float(success_change[where].mean()) if where.any() else None for where in regimes],
        shares=[float(where.mean()) for where in regimes],
    )
