"""Figure 1: networks with an L2 penalty of growing weight, on all members and on those at risk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import guestlist as gl
from papers.shapr.alone import Averages, all_members, averages, owner_view
from papers.shapr.models import Setting, TrainedModels, load_or_train, trained_by

DATASETS = ("location30", "flowers", "credit")  # the paper's PURCHASE and TEXAS are not available
REPEATS = 5
WEIGHTS = (0.0, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)  # the paper does not state its weights

Networks = Mapping[float, Sequence[Any]]


@dataclass(frozen=True)
class Regularised:
    """Metrics of all members of the targets with one weight; differences are from weight 0."""

    dataset: str
    weight: float
    metrics: Averages


def train_networks(
    trained: TrainedModels, setting: Setting, weights: Sequence[float] = WEIGHTS
) -> tuple[Networks, float]:
    """Return one network per weight and target, and the seconds of training; with weight 0, it is the target itself."""
    networks: dict[float, Sequence[Any]] = {0.0: trained.targets}
    seconds = 0.0
    for weight in weights[1:]:
        fit = replace(setting.fit, objective=gl.defences.L2(weight))
        modules = []
        for k in range(setting.repeats):
            inputs = trained_by(trained.pool, trained.member[k], setting, k)
            path = trained.folder / f"l2-{weight:g}-{k}.pt"
            module, took = load_or_train(path, inputs[0], lambda fit=fit, inputs=inputs: fit(*inputs))
            modules.append(module)
            seconds += took
        networks[weight] = modules
    return networks, seconds


def tables(trained: TrainedModels, setting: Setting, networks: Networks) -> dict[str, list]:
    return {"sweep": _sweep(trained, networks)}


def _sweep(trained: TrainedModels, networks: Networks) -> list[Regularised]:
    parts = {
        weight: [
            all_members(owner_view(module, trained.pool.x, trained.pool.y, trained.member[k]))
            for k, module in enumerate(modules)
        ]
        for weight, modules in networks.items()
    }
    return [Regularised(trained.pool.name, weight, averages(part, parts[0.0])) for weight, part in parts.items()]
