"""Figures 6 and 7 and Table X: training with FGSM noise on half of the members, and the risk that follows the attack.

A perturbed member can be queried with its noise, or without, by an attacker who has the record but not the noise. The paper
does not state which; its argument assumes the latter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import pearsonr

import guestlist as gl
from papers.shapr.alone import Averages, Part, averages, each, owner_view, with_queries
from papers.shapr.models import Setting, TrainedModels, train_changed, trained_by
from papers.shapr.summaries import Summary, summarise

DATASETS = ("location30", "flowers", "meps", "credit", "census", "mnist", "fashion_mnist", "usps")  # quickest first
REPEATS = 5
SIZES = (0, 1, 16, 64, 128, 256, 352)  # in units of 1/255; the paper's sizes are 1 to 352
NOISY, CLEAN = "noisy", "clean"
TRAINED, KNOWN = "as trained on", "as known"
MIXED = "as trained on, the attack as known"
WAYS = {
    TRAINED: (TRAINED, TRAINED),
    KNOWN: (KNOWN, KNOWN),
    MIXED: (TRAINED, KNOWN),
}  # records that the risk and the attack read
QUERIES = {"shapr": (TRAINED, KNOWN), "score": (TRAINED, KNOWN, MIXED)}  # SHAPr always reads the training records

Networks = Mapping[int, Sequence[Any]]


@dataclass(frozen=True)
class Noised:
    """Metrics of one half of the members; differences are from the network without noise.

    Args:
        size: size of the noise, times 255.
        half: with the noise, or without.
        queried: form in which the attack and the risk score query perturbed members. SHAPr reads them with their noise.
    """

    dataset: str
    size: int
    half: str
    queried: str
    metrics: Averages


@dataclass(frozen=True)
class Correlation:
    """Pearson's correlation, over sizes of the noise, of the mean risk of the noisy half and the attack's accuracy on it.

    Args:
        r, p: correlation of means over repeats, and its p-value.
        each: correlations of single repeats.
    """

    dataset: str
    risk: str
    queried: str
    r: float
    p: float
    each: Summary


def perturbed(trained: TrainedModels, setting: Setting, k: int, size: int) -> tuple[gl.Data, np.ndarray]:
    """Return the training records of target ``k``, and a mask of those with noise, which is the same for every size."""
    recipe = gl.defences.FgsmNoise(size / 255, fit=setting.fit)
    _, data, _ = trained_by(trained.pool, trained.member[k], setting, k)
    return recipe.perturbed(trained.targets[k], data, np.random.default_rng([5, k]))


def train_networks(trained: TrainedModels, setting: Setting, sizes: Sequence[int] = SIZES) -> tuple[Networks, float]:
    """Return one network per size and target, and the seconds of training; without noise, it is the target itself."""
    networks: dict[int, Sequence[Any]] = {0: trained.targets}
    seconds = 0.0
    for size in sizes[1:]:
        records = [perturbed(trained, setting, k, size)[0] for k in range(setting.repeats)]
        networks[size], took = train_changed(trained, setting, f"noise-{size}", records)
        seconds += took
    return networks, seconds


def tables(trained: TrainedModels, setting: Setting, networks: Networks) -> dict[str, list]:
    parts: dict[tuple[str, str], dict[int, list[Part]]] = {
        (half, queried): {size: [] for size in networks} for half in (NOISY, CLEAN) for queried in (TRAINED, KNOWN)
    }
    for size, modules in networks.items():
        for k, module in enumerate(modules):
            data, noisy = perturbed(trained, setting, k, size)
            x = trained.pool.x.copy()
            x[trained.member[k]] = data.x
            trained_view = owner_view(module, x, trained.pool.y, trained.member[k])
            known_view = with_queries(trained_view, module, trained.pool.x, trained.pool.y)
            for queried, view in ((TRAINED, trained_view), (KNOWN, known_view)):
                parts[NOISY, queried][size].append((view, noisy))
                parts[CLEAN, queried][size].append((view, ~noisy))
    rows = [
        Noised(trained.pool.name, size, half, queried, averages(part, by_size[0]))
        for (half, queried), by_size in parts.items()
        for size, part in by_size.items()
    ]
    correlations = [
        _correlation(trained.pool.name, risk, queried, *(parts[NOISY, way] for way in WAYS[queried]))
        for risk, ways in QUERIES.items()
        for queried in ways
    ]
    return {"sweep": rows, "correlations": correlations}


def _correlation(
    dataset: str,
    risk: str,
    queried: str,
    of_risk: Mapping[int, Sequence[Part]],
    of_attack: Mapping[int, Sequence[Part]],
) -> Correlation:
    risks = np.array([each(risk, part) for part in of_risk.values()])
    attack = np.array([each("attack", part) for part in of_attack.values()])
    together = pearson(risks.mean(axis=1), attack.mean(axis=1))
    singles = summarise([pearson(*both)[0] for both in zip(risks.T, attack.T, strict=True)])
    return Correlation(dataset, risk, queried, *together, singles)


def pearson(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """Return the correlation and its p-value; NaN if one of the two is constant."""
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan"), float("nan")
    correlation = pearsonr(a, b)
    return float(correlation.statistic), float(correlation.pvalue)
