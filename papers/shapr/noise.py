"""Figures 6 and 7 and Table X: half of the members are trained on with FGSM noise. Which risk follows the attack?

A member that was moved can be asked about as it was trained on, or as it is known to an attacker who has the record but not
the noise. The paper does not say which; it argues with the latter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import pearsonr

import guestlist as gl
from papers.shapr.alone import Averages, Part, averages, each, seen
from papers.shapr.models import Setting, World, kept, trained_by
from papers.shapr.spread import Spread, spread

DATASETS = ("location30", "mnist", "usps", "credit", "census")
REPEATS = 3
SIZES = (0, 1, 16, 64, 128, 256, 352)  # of 255; the paper's go from 1 to 352
NOISY, CLEAN = "noisy", "clean"
TRAINED, KNOWN = "as trained on", "as known"
MIXED = "as trained on, the attack as known"
WAYS = {TRAINED: (TRAINED, TRAINED), KNOWN: (KNOWN, KNOWN), MIXED: (TRAINED, KNOWN)}  # of the risk and of the attack
ASKED = {"shapr": (TRAINED, KNOWN), "score": (TRAINED, KNOWN, MIXED)}  # SHAPr always has what was trained on

Networks = Mapping[int, Sequence[Any]]


@dataclass(frozen=True)
class Noised:
    """One half of the members; differences are from the network without noise.

    Args:
        size: of the noise, times 255.
        half: with the noise, or without.
        asked: how the attack and the risk score ask about members that were moved. SHAPr sees them as they were trained on.
    """

    dataset: str
    size: int
    half: str
    asked: str
    figures: Averages


@dataclass(frozen=True)
class Correlation:
    """Pearson's, over the sizes of the noise, of a mean risk of the noisy half with the attack's accuracy on it.

    Args:
        r, p: of means over repeats, and whether it could be 0.
        each: of single repeats.
    """

    dataset: str
    risk: str
    asked: str
    r: float
    p: float
    each: Spread


def moved(world: World, setting: Setting, k: int, size: int) -> tuple[gl.Data, np.ndarray]:
    """The members of target ``k`` as they are trained on, and which have noise: the same ones at any size."""
    recipe = gl.defences.FgsmNoise(size / 255, fit=setting.fit)
    _, data, _ = trained_by(world.pool, world.member[k], setting, k)
    return recipe.perturbed(world.targets[k], data, np.random.default_rng([5, k]))


def trained(world: World, setting: Setting, sizes: Sequence[int] = SIZES) -> tuple[Networks, float]:
    """By size, one network for each target; and the seconds of their training. Without noise, it is the target itself."""
    networks: dict[int, Sequence[Any]] = {0: world.targets}
    seconds = 0.0
    for size in sizes[1:]:
        found = []
        for k in range(setting.repeats):
            network, _, rng = trained_by(world.pool, world.member[k], setting, k)
            given = network, moved(world, setting, k, size)[0], rng
            path = world.folder / f"noise-{size}-{k}.pt"
            module, took = kept(path, network, lambda given=given: setting.fit(*given))
            found.append(module)
            seconds += took
        networks[size] = found
    return networks, seconds


def tables(world: World, setting: Setting, networks: Networks) -> dict[str, list]:
    parts: dict[tuple[str, str], dict[int, list[Part]]] = {
        (half, asked): {size: [] for size in networks} for half in (NOISY, CLEAN) for asked in (TRAINED, KNOWN)
    }
    for size, modules in networks.items():
        for k, module in enumerate(modules):
            data, noisy = moved(world, setting, k, size)
            x = world.pool.x.copy()
            x[world.member[k]] = data.x
            for asked, known in ((TRAINED, x), (KNOWN, world.pool.x)):
                one = seen(module, x, world.pool.y, world.member[k], known=known)
                parts[NOISY, asked][size].append((one, noisy))
                parts[CLEAN, asked][size].append((one, ~noisy))
    rows = [
        Noised(world.pool.name, size, half, asked, averages(part, of[0]))
        for (half, asked), of in parts.items()
        for size, part in of.items()
    ]
    correlations = [
        _correlation(world.pool.name, risk, asked, *(parts[NOISY, way] for way in WAYS[asked]))
        for risk, ways in ASKED.items()
        for asked in ways
    ]
    return {"sweep": rows, "correlations": correlations}


def _correlation(
    dataset: str, risk: str, asked: str, of_risk: Mapping[int, Sequence[Part]], of_attack: Mapping[int, Sequence[Part]]
) -> Correlation:
    risks = np.array([each(risk, part) for part in of_risk.values()])
    attack = np.array([each("attack", part) for part in of_attack.values()])
    together = pearson(risks.mean(axis=1), attack.mean(axis=1))
    singles = spread([pearson(*both)[0] for both in zip(risks.T, attack.T, strict=True)])
    return Correlation(dataset, risk, asked, *together, singles)


def pearson(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """The correlation and its p-value; NaN where one side does not vary."""
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan"), float("nan")
    found = pearsonr(a, b)
    return float(found.statistic), float(found.pvalue)
