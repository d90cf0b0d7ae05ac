"""Figure 9: where a target's last hidden layer puts members and non-members of the classes at least and at most risk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from papers.systematic_evaluation.data import Records
from papers.systematic_evaluation.pairs import Pair, Study, trained
from papers.systematic_evaluation.risk_scores import risk_scores

CLASSES = 5  # at either end
ITERATIONS = 1000  # of t-SNE
FEWEST = 20  # members of a class that is shown; the paper asks for 100


@dataclass(frozen=True)
class Shown:
    """A class of the first target.

    Args:
        end: "low" or "high" risk.
        risk: mean risk score of its members.
        near_members, near_nonmembers: shares of them whose nearest other member of the classes shown is of their own class,
            in the last hidden layer.
        members_at, nonmembers_at: (x, y) of each in the t-SNE map.
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
    """Over targets, the share of non-members near members of their own class, in the classes at one end."""

    dataset: str
    end: str
    near_nonmembers: list[float]


def embeddings(study: Study, records: Records, place: Path, *, repeats: int) -> tuple[list[Shown], list[Ends]]:
    """The classes of the first target, mapped; and a row per end over all targets."""
    pairs = [trained(study, records, place, seed=seed) for seed in range(repeats)]
    found = [_classes(pair) for pair in pairs]
    near = [_near_by_class(pair, ends) for pair, ends in zip(pairs, found, strict=True)]
    ends = []
    for end in ("low", "high"):
        shares = [float(np.mean([near[at][label][1] for label in found[at][end]])) for at in range(repeats)]
        ends.append(Ends(study.name, end, shares))
    return _shown(study.name, pairs[0], found[0], near[0]), ends


def _classes(pair: Pair) -> dict[str, list[int]]:
    """Labels of the classes at either end of the mean risk score, from low to high."""
    target, risks = pair.target, risk_scores(pair)
    large = np.flatnonzero(np.bincount(target.labels[target.member]) >= FEWEST)
    order = sorted(large.tolist(), key=lambda label: risks[target.member & (target.labels == label)].mean())
    return {"low": order[:CLASSES], "high": order[-CLASSES:]}


def _near_by_class(pair: Pair, ends: dict[str, list[int]]) -> dict[int, tuple[float, float]]:
    """Label to the shares of members and of non-members whose nearest member is of their class."""
    from sklearn.neighbors import NearestNeighbors

    target, shown = pair.target, np.isin(pair.target.labels, ends["low"] + ends["high"])
    inside = np.flatnonzero(shown & target.member)
    nearest = NearestNeighbors(n_neighbors=2).fit(pair.hidden[inside])
    everyone = np.flatnonzero(shown)
    neighbours = inside[nearest.kneighbors(pair.hidden[everyone], return_distance=False)]
    # A member is its own nearest one, unless another is equal to it.
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


def _shown(dataset: str, pair: Pair, ends: dict[str, list[int]], near: dict) -> list[Shown]:
    from sklearn.manifold import TSNE

    target, risks = pair.target, risk_scores(pair)
    everyone = np.flatnonzero(np.isin(target.labels, ends["low"] + ends["high"]))
    perplexity = min(30.0, (len(everyone) - 1) / 3)
    places = np.full((len(target.labels), 2), np.nan)
    tsne = TSNE(perplexity=perplexity, random_state=0, init="pca", max_iter=ITERATIONS)
    places[everyone] = tsne.fit_transform(pair.hidden[everyone])
    rows = []
    for end, labels in ends.items():
        for label in labels:
            inside, outside = ((target.labels == label) & side for side in (target.member, ~target.member))
            at = (np.round(places[side].astype(float), 1).tolist() for side in (inside, outside))
            rows.append(Shown(dataset, end, int(label), float(risks[inside].mean()), *near[label], *at))
    return rows
