"""Figure 2: effect of removing the members with the highest SHAPr, and training again, on the remaining members.

The control removes the same number of members at random, which gives the effect of a smaller training set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import guestlist as gl
from papers.shapr.alone import Averages, Part, averages, each, owner_view
from papers.shapr.measures import EMBEDDINGS, FIRST, shapr_in
from papers.shapr.models import Setting, TrainedModels, load_or_train
from papers.shapr.summaries import Summary, summarise

DATASETS = ("location30",)  # PURCHASE and TEXAS, also in the paper, are not available
REPEATS = 5
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5)
HIGHEST, RANDOM = "highest SHAPr", "at random"

Networks = Mapping[tuple[str, float], Sequence[Any]]


@dataclass(frozen=True)
class Removed:
    """Metrics of the remaining members, in the first network and in the network trained without the removed members.

    Args:
        by: rule that selects the removed members.
        share: share of the members that were removed.
        after: metrics after removal; differences are from ``before``, for the same members.
        attack: attack accuracy of ``after``; differences are from random removal of the same number.
    """

    dataset: str
    by: str
    share: float
    before: Averages
    after: Averages
    attack: Summary


def remaining(trained: TrainedModels, k: int, by: str, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Return (records,) masks of the remaining members, and of the same number of non-members."""
    member, nonmember = (np.flatnonzero(trained.member[k] == side) for side in (True, False))
    rng = np.random.default_rng([4, k])
    chance, others = rng.permutation(member), rng.permutation(nonmember)
    if by == HIGHEST:
        value = shapr_in(EMBEDDINGS[FIRST](trained, k), trained.member[k], trained.pool.y)
        order = member[np.argsort(-value, kind="stable")]
    else:
        order = chance
    masks = np.zeros((2, len(trained.pool.y)), dtype=bool)
    gone = round(share * len(member))
    masks[0, order[gone:]] = masks[1, others[gone:]] = True
    return masks[0], masks[1]


def train_networks(
    trained: TrainedModels, setting: Setting, shares: Sequence[float] = SHARES
) -> tuple[Networks, float]:
    """Return one network per rule, share and target, and the seconds of training."""
    networks: dict[tuple[str, float], Sequence[Any]] = {}
    seconds = 0.0
    for by in (HIGHEST, RANDOM):
        for share in shares:
            modules = []
            for k in range(setting.repeats):
                stay, _ = remaining(trained, k, by, share)
                inputs = setting.network(trained.pool), gl.Data(trained.pool.x[stay], trained.pool.y[stay])
                path = trained.folder / f"without-{share:g}-{by.replace(' ', '-')}-{k}.pt"
                rng = np.random.default_rng([2, k])
                module, took = load_or_train(path, inputs[0], lambda inputs=inputs, rng=rng: setting.fit(*inputs, rng))
                modules.append(module)
                seconds += took
            networks[by, share] = modules
    return networks, seconds


def tables(trained: TrainedModels, setting: Setting, networks: Networks) -> dict[str, list]:
    return {"sweep": _sweep(trained, networks)}


def _sweep(trained: TrainedModels, networks: Networks) -> list[Removed]:
    pool = trained.pool
    firsts = [owner_view(module, pool.x, pool.y, trained.member[k]) for k, module in enumerate(trained.targets)]
    first_views: dict[tuple[str, float], list[Part]] = {}
    second_views: dict[tuple[str, float], list[Part]] = {}
    for key, modules in networks.items():
        first_views[key], second_views[key] = [], []
        for k, module in enumerate(modules):
            stay, others = remaining(trained, k, *key)
            both = stay | others
            second = owner_view(module, pool.x[both], pool.y[both], stay[both])
            first_views[key].append((firsts[k], stay[trained.member[k]]))
            second_views[key].append((second, np.ones(len(second.shapr), dtype=bool)))
    return [
        Removed(
            pool.name,
            *key,
            averages(first_views[key]),
            averages(second_views[key], first_views[key]),
            summarise(each("attack", second_views[key]), each("attack", second_views[RANDOM, key[1]])),
        )
        for key in networks
    ]
