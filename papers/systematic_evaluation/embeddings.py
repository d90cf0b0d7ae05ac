"""Figure 9: a target's last hidden layer on members and non-members of the classes with the lowest and highest risk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from papers.systematic_evaluation.data import Records
from papers.systematic_evaluation.pairs import Pair, Study, trained
from papers.systematic_evaluation.risk_scores import risk_scores

CLASSES = 5  # classes with the lowest, and with the highest, risk
ITERATIONS = 1000  # iterations of t-SNE
FEWEST = 20  # minimum number of members of a displayed class; the paper requires 100


@dataclass(frozen=True)
class MappedClass:
    """A class of the first target.

    Args:
        end: "low" or "high" risk.
        risk: mean risk score of its members.
        near_members, near_nonmembers: shares of them whose nearest other member, among the displayed classes, has the
            same class in the last hidden layer.
        members_at, nonmembers_at: (x, y) coordinates in the t-SNE map.
    """

    dataset: str
    end: str
    label: int
    risk: float
    near_members: float
    near_nonmembers: float
    members_at: list[tuple[float, float]]
    nonmembers_at: list[tuple[float, float]]


@dataclass(frozen=True)
class Ends:
    """Share of non-members near members of their own class, in the classes at one end, for each target."""

    dataset: str
    end: str
    near_nonmembers: list[float]


def embeddings(study: Study, records: Records, cache: Path, *, repeats: int) -> tuple[list[MappedClass], list[Ends]]:
    """Return the mapped classes of the first target, and one row per end over all targets."""
    pairs = [trained(study, records, cache, seed=seed) for seed in range(repeats)]
    classes_by_end = [_classes(pair) for pair in pairs]
    near = [_near_by_class(pair, ends) for pair, ends in zip(pairs, classes_by_end, strict=True)]
    ends = []
    for end in ("low", "high"):
        shares = [float(np.mean([near[at][label][1] for label in classes_by_end[at][end]])) for at in range(repeats)]
        ends.append(Ends(study.name, end, shares))
    return _mapped_classes(study.name, pairs[0], classes_by_end[0], near[0]), ends


def _classes(pair: Pair) -> dict[str, list[int]]:
    """Return the labels of the classes with the lowest and highest mean risk score, from low to high."""
    target, risks = pair.target, risk_scores(pair)
    large = np.flatnonzero(np.bincount(target.labels[target.member]) >= FEWEST)
    order = sorted(large.tolist(), key=lambda label: risks[target.member & (target.labels == label)].mean())
    return {"low": order[:CLASSES], "high": order[-CLASSES:]}


def _near_by_class(pair: Pair, ends: dict[str, list[int]]) -> dict[int, tuple[float, float]]:
    """Return label to the shares of members and of non-members whose nearest member has the same class."""
    from sklearn.neighbors import NearestNeighbors

    target, is_displayed = pair.target, np.isin(pair.target.labels, ends["low"] + ends["high"])
    inside = np.flatnonzero(is_displayed & target.member)
    nearest = NearestNeighbors(n_neighbors=2).fit(pair.hidden[inside])
    everyone = np.flatnonzero(is_displayed)
    neighbours = inside[nearest.kneighbors(pair.hidden[everyone], return_distance=False)]
    # The nearest member of a member is itself, unless another has equal features.
    other = np.where(neighbours[:, 0] == everyone, neighbours[:, 1], neighbours[:, 0])
    same, member, labels = (
        target.labels[other] == target.labels[everyone],
        target.member[everyone],
        target.labels[everyone],
    )
    return {
        label: tuple(float(same[(labels == label) & side].mean()) for side in (member, ~member))
        for label in ends["low"] + ends["high"]
    }


def _mapped_classes(dataset: str, pair: Pair, ends: dict[str, list[int]], near: dict) -> list[MappedClass]:
    from sklearn.manifold import TSNE

    target, risks = pair.target, risk_scores(pair)
    everyone = np.flatnonzero(np.isin(target.labels, ends["low"] + ends["high"]))
    perplexity = min(30.0, (len(everyone) - 1) / 3)
    coordinates = np.full((len(target.labels), 2), np.nan)
    tsne = TSNE(perplexity=perplexity, random_state=0, init="pca", max_iter=ITERATIONS)
    coordinates[everyone] = tsne.fit_transform(pair.hidden[everyone])
    rows = []
    for end, labels in ends.items():
        for label in labels:
            inside, outside = ((target.labels == label) & side for side in (target.member, ~target.member))
            at = (np.round(coordinates[side].astype(float), 1).tolist() for side in (inside, outside))
            rows.append(MappedClass(dataset, end, int(label), float(risks[inside].mean()), *near[label], *at))
    return rows
