"""Figure 2: the members with the highest SHAPr are removed, and the network is trained anew. Are those who remain safer?

As many members removed at random show what a smaller training set does by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import guestlist as gl
from papers.shapr.alone import Averages, Part, averages, each, seen
from papers.shapr.measures import FIRST, PLACES, shapr_in
from papers.shapr.models import Setting, World, kept
from papers.shapr.spread import Spread, spread

DATASETS = ("location30",)  # PURCHASE and TEXAS, the paper's others, are not here
REPEATS = 5
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5)
HIGHEST, RANDOM = "highest SHAPr", "at random"

Networks = Mapping[tuple[str, float], Sequence[Any]]


@dataclass(frozen=True)
class Removed:
    """The members who remain, in their first network and in the one that was trained without the others.

    Args:
        by: who was removed.
        share: of the members that were removed.
        after: differences are from ``before``, which is about the same members.
        attack: that of ``after``; differences are from the removal of as many at random.
    """

    dataset: str
    by: str
    share: float
    before: Averages
    after: Averages
    attack: Spread


def remaining(world: World, k: int, by: str, share: float) -> tuple[np.ndarray, np.ndarray]:
    """(records,) true for the members, and for the non-members, who remain: equally many."""
    member, nonmember = (np.flatnonzero(world.member[k] == side) for side in (True, False))
    rng = np.random.default_rng([4, k])
    chance, others = rng.permutation(member), rng.permutation(nonmember)
    if by == HIGHEST:
        value = shapr_in(PLACES[FIRST](world, k), world.member[k], world.pool.y)
        order = member[np.argsort(-value, kind="stable")]
    else:
        order = chance
    masks = np.zeros((2, len(world.pool.y)), dtype=bool)
    gone = round(share * len(member))
    masks[0, order[gone:]] = masks[1, others[gone:]] = True
    return masks[0], masks[1]


def trained(world: World, setting: Setting, shares: Sequence[float] = SHARES) -> tuple[Networks, float]:
    """By who was removed and how many, one network for each target; and the seconds of their training."""
    networks: dict[tuple[str, float], Sequence[Any]] = {}
    seconds = 0.0
    for by in (HIGHEST, RANDOM):
        for share in shares:
            found = []
            for k in range(setting.repeats):
                rest, _ = remaining(world, k, by, share)
                given = setting.network(world.pool), gl.Data(world.pool.x[rest], world.pool.y[rest])
                path = world.folder / f"without-{share:g}-{by.replace(' ', '-')}-{k}.pt"
                rng = np.random.default_rng([2, k])
                module, took = kept(path, given[0], lambda given=given, rng=rng: setting.fit(*given, rng))
                found.append(module)
                seconds += took
            networks[by, share] = found
    return networks, seconds


def tables(world: World, setting: Setting, networks: Networks) -> dict[str, list]:
    return {"sweep": _sweep(world, networks)}


def _sweep(world: World, networks: Networks) -> list[Removed]:
    pool = world.pool
    firsts = [seen(module, pool.x, pool.y, world.member[k]) for k, module in enumerate(world.targets)]
    before: dict[tuple[str, float], list[Part]] = {}
    after: dict[tuple[str, float], list[Part]] = {}
    for key, modules in networks.items():
        before[key], after[key] = [], []
        for k, module in enumerate(modules):
            rest, others = remaining(world, k, *key)
            both = rest | others
            second = seen(module, pool.x[both], pool.y[both], rest[both])
            before[key].append((firsts[k], rest[world.member[k]]))
            after[key].append((second, np.ones(len(second.shapr), dtype=bool)))
    return [
        Removed(
            pool.name,
            *key,
            averages(before[key]),
            averages(after[key], before[key]),
            spread(each("attack", after[key]), each("attack", after[RANDOM, key[1]])),
        )
        for key in networks
    ]
