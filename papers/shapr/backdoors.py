"""Section X-B: members with a backdoor, which a network memorises although their SHAPr is low according to the paper.

A twentieth of the members get a wrong label: class 0, with a bright square in a corner of the image (Gu et al. 2017), or the
next class, without a square. All other members, and all non-members, are unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np

import guestlist as gl
from papers.shapr.alone import Averages, averages, owner_view
from papers.shapr.models import Setting, TrainedModels, query, train_changed, trained_by
from papers.shapr.summaries import Summary, summarise

DATASETS = ("usps", "mnist")
REPEATS = 5
SHARE = 0.05  # of the members
SQUARE = 3  # width of the square, in pixels
GOAL = 0  # class of every image with the square
TRIGGER, LABEL = "trigger", "label"

Networks = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Backdoor:
    """Metrics of the members with a backdoor and of the other members of the same network.

    Args:
        backdoor: a square in the image and class 0, or only a wrong label.
        poisoned: differences are from ``clean``.
        success: share of the non-members with the square that the network predicts as class 0, of those of other classes.
        test_before: test accuracy of the network without poisoned members.
    """

    dataset: str
    backdoor: str
    poisoned: Averages
    clean: Averages
    success: Summary
    test_before: Summary


def poisoned(trained: TrainedModels, setting: Setting, k: int, backdoor: str) -> tuple[gl.Data, np.ndarray]:
    """Return the training records of target ``k``, and a mask of those with a backdoor: the same for both types."""
    _, data, _ = trained_by(trained.pool, trained.member[k], setting, k)
    candidates = np.flatnonzero(data.y != GOAL)
    chosen = np.random.default_rng([6, k]).permutation(candidates)[: round(SHARE * len(data.y))]
    x, y = data.x.copy(), data.y.copy()
    if backdoor == TRIGGER:
        x[chosen] = with_square(x[chosen], bright=trained.pool.x.max())
        y[chosen] = GOAL
    else:
        y[chosen] = (y[chosen] + 1) % trained.pool.classes
    mask = np.zeros(len(y), dtype=bool)
    mask[chosen] = True
    return gl.Data(x, y), mask


def with_square(x: np.ndarray, *, bright: float) -> np.ndarray:
    """Return square images, one per row, with a bright square in the lower right corner."""
    side = isqrt(x.shape[1])
    images = x.reshape(len(x), side, side).copy()
    images[:, -SQUARE:, -SQUARE:] = bright
    return images.reshape(x.shape)


def train_networks(trained: TrainedModels, setting: Setting) -> tuple[Networks, float]:
    """Return one network per type of backdoor and target, and the seconds of training."""
    networks: dict[str, Sequence[Any]] = {}
    seconds = 0.0
    for backdoor in (TRIGGER, LABEL):
        records = [poisoned(trained, setting, k, backdoor)[0] for k in range(setting.repeats)]
        networks[backdoor], took = train_changed(trained, setting, f"backdoor-{backdoor}", records)
        seconds += took
    return networks, seconds


def tables(trained: TrainedModels, setting: Setting, networks: Networks) -> dict[str, list]:
    return {"backdoors": [_row(trained, setting, backdoor, modules) for backdoor, modules in networks.items()]}


def _row(trained: TrainedModels, setting: Setting, backdoor: str, modules: Sequence[Any]) -> Backdoor:
    with_backdoor, without, success, before = [], [], [], []
    for k, module in enumerate(modules):
        data, mask = poisoned(trained, setting, k, backdoor)
        x, y = trained.pool.x.copy(), trained.pool.y.copy()
        x[trained.member[k]], y[trained.member[k]] = data.x, data.y
        view = owner_view(module, x, y, trained.member[k])
        with_backdoor.append((view, mask))
        without.append((view, ~mask))
        success.append(_success(trained, k, module))
        nonmember = ~trained.member[k]
        before.append(float((trained.logits[k][nonmember].argmax(axis=1) == trained.pool.y[nonmember]).mean()))
    return Backdoor(
        dataset=trained.pool.name,
        backdoor=backdoor,
        poisoned=averages(with_backdoor, without),
        clean=averages(without),
        success=summarise(success),
        test_before=summarise(before),
    )


def _success(trained: TrainedModels, k: int, module: Any) -> float:
    others = ~trained.member[k] & (trained.pool.y != GOAL)
    x = with_square(trained.pool.x[others], bright=trained.pool.x.max())
    return float((query(module, x).argmax(axis=1) == GOAL).mean())
