"""Figure 1: networks with an L2 penalty of growing weight, on all members and on those at risk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import guestlist as gl
from papers.shapr.alone import Averages, averages, seen, whole
from papers.shapr.models import Setting, World, kept, trained_by

DATASETS = ("location30",)  # PURCHASE and TEXAS, the paper's others, are not here
REPEATS = 5
WEIGHTS = (0.0, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)  # the paper does not print its own

Networks = Mapping[float, Sequence[Any]]


@dataclass(frozen=True)
class Regularised:
    """All members of the targets of one weight; differences are from weight 0."""

    dataset: str
    weight: float
    figures: Averages


def trained(world: World, setting: Setting, weights: Sequence[float] = WEIGHTS) -> tuple[Networks, float]:
    """By weight, one network for each target; and the seconds of their training. Without a weight, it is the target itself."""
    networks: dict[float, Sequence[Any]] = {0.0: world.targets}
    seconds = 0.0
    for weight in weights[1:]:
        fit = replace(setting.fit, objective=gl.defences.L2(weight))
        found = []
        for k in range(setting.repeats):
            given = trained_by(world.pool, world.member[k], setting, k)
            path = world.folder / f"l2-{weight:g}-{k}.pt"
            module, took = kept(path, given[0], lambda fit=fit, given=given: fit(*given))
            found.append(module)
            seconds += took
        networks[weight] = found
    return networks, seconds


def tables(world: World, setting: Setting, networks: Networks) -> dict[str, list]:
    return {"sweep": _sweep(world, networks)}


def _sweep(world: World, networks: Networks) -> list[Regularised]:
    parts = {
        weight: [whole(seen(module, world.pool.x, world.pool.y, world.member[k])) for k, module in enumerate(modules)]
        for weight, modules in networks.items()
    }
    return [Regularised(world.pool.name, weight, averages(part, parts[0.0])) for weight, part in parts.items()]
