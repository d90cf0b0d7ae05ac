"""Membership games on K-NN targets, without fitting models.

All targets and shadow models train on parts of one pool, so one list of the nearest records of each record is enough: the
first K members of a model in the list give its output. One pass gives the outputs for every K up to the largest.

Pools are split in halves, and both halves train a model. Exactly half of the models contain each record, so an attack that
flags every record has a success rate of exactly 0.5.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numba
import numpy as np

import guestlist as gl
from guestlist.knn import NeighbourLists

SHADOWS = 16  # same number as in the paper
PAIRS = SHADOWS // 2 + 1  # partitions whose halves take turns as target and 16 shadow models


@dataclass(frozen=True)
class Order:
    """Nearest records of each record, including itself, nearest first; those of i at ``starts[i]:starts[i + 1]``.

    Args:
        starts: (n + 1,).
        index: row of each neighbour.
        wrong: true where it has a different label.
    """

    starts: np.ndarray
    index: np.ndarray
    wrong: np.ndarray

    @property
    def n(self) -> int:
        return len(self.starts) - 1


def order_of(lists: NeighbourLists, rng: np.random.Generator) -> Order:
    """Return the lists with each record included in its own; ties are in one random order of the records."""
    all_rows = np.arange(lists.n)
    owner = np.append(np.repeat(all_rows, np.diff(lists.starts)), all_rows)
    index = np.append(lists.index, all_rows)
    distance = np.append(lists.distance, np.zeros(lists.n))
    wrong = np.append(~lists.agree, np.zeros(lists.n, dtype=bool))
    by = np.lexsort((rng.permutation(lists.n)[index], distance, owner))
    return Order(lists.starts + np.arange(lists.n + 1), index[by], wrong[by])


def without(order: Order, removed: np.ndarray) -> Order:
    """Return the order among the remaining records, renumbered; ``removed`` is a mask (n,)."""
    owner = np.repeat(np.arange(order.n), np.diff(order.starts))
    stays = ~removed[owner] & ~removed[order.index]
    counts = np.bincount(owner[stays], minlength=order.n)[~removed]
    number = np.cumsum(~removed) - 1
    return Order(np.append(0, np.cumsum(counts)), number[order.index[stays]], order.wrong[stays])


def losses(order: Order, member: np.ndarray, k: int, rows: np.ndarray | None = None) -> np.ndarray:
    """Return (k, models, rows) losses of K-NN models for K = 1, …, k: the share of the K nearest members that are wrong.

    Args:
        member: (models, n) true where a model trained on a record.
        rows: the queried records; by default all.
    """
    rows = np.arange(order.n) if rows is None else np.asarray(rows)
    votes = np.empty((k, len(member), len(rows)), dtype=np.int8)
    if not _count_votes(order.starts, order.index, order.wrong, member, rows, votes):
        raise ValueError(f"Expected lists that reach k={k} members of every model. Make them with more to spare.")
    return votes / np.arange(1, k + 1)[:, None, None]


@numba.njit(nogil=True, cache=True)
def _count_votes(starts, index, wrong, member, rows, votes):
    k = len(votes)
    for m in range(len(member)):
        for at in range(len(rows)):
            n_found, against = 0, 0
            for e in range(starts[rows[at]], starts[rows[at] + 1]):
                if member[m, index[e]]:
                    against += wrong[e]
                    votes[n_found, m, at] = against
                    n_found += 1
                    if n_found == k:
                        break
            if n_found < k:
                return False
    return True


def partitions(n: int, pairs: int, rng: np.random.Generator) -> np.ndarray:
    """Return (2 pairs, n) membership: rows 2j and 2j + 1 are the two halves of a random partition."""
    half = np.arange(n) < n // 2
    first = np.stack([rng.permutation(half) for _ in range(pairs)])
    return np.stack([first, ~first], axis=1).reshape(2 * pairs, n)


def rotated_lira(signal: np.ndarray, member: np.ndarray) -> np.ndarray:
    """Return (models, n) LiRA scores of every model as target; its references are all others except its other half.

    ``signal`` rises with the fit: minus the loss of a K-NN model, or the margin of another.
    """
    together = np.repeat(np.arange(len(member) // 2), 2)
    labels = np.zeros(member.shape[1], dtype=int)  # LiRA does not use labels
    return gl.attacks.ATTACKS["lira"].score(gl.attacks.Rotation({"margin": signal}, member, labels, together))


def lira(
    target: np.ndarray,
    shadow: np.ndarray,
    shadow_member: np.ndarray,
    *,
    variance: Literal["pooled", "record"] = "pooled",
) -> np.ndarray:
    """Return (n,) LiRA scores of one target from the signals (shadows, n) of models with known members."""
    labels = np.zeros(len(target), dtype=int)
    signals = gl.attacks.Signals({"margin": np.vstack([target, shadow])}, shadow_member, labels)
    return gl.attacks.ATTACKS[f"lira_{variance}"].score(signals)


def success(scores: np.ndarray, member: np.ndarray) -> np.ndarray:
    """Return (models, n): 1 if the score is above 0 for a member or below 0 for a non-member, 0.5 if it is 0, else 0."""
    return np.where(scores == 0, 0.5, (scores > 0) == member)


@dataclass(frozen=True)
class Batch:
    """Eighteen games: (models, n) membership, and scores for each requested K."""

    member: np.ndarray
    scores: dict[int, np.ndarray]


def played(order: Order, ks: tuple[int, ...], repeats: int, seed: int) -> Iterator[Batch]:
    """Yield batches of 18 games, each with LiRA from 16 shadow models; every batch has its own random stream."""
    for b in range(repeats):
        member = partitions(order.n, PAIRS, np.random.default_rng([seed, b]))
        loss = losses(order, member, max(ks))
        yield Batch(member, {k: rotated_lira(-loss[k - 1], member) for k in ks})


def success_rates(order: Order, ks: tuple[int, ...], repeats: int, seed: int) -> dict[int, np.ndarray]:
    """Return K to (repeats, n) attack success rates of each record, one row per batch of 18 games."""
    rates = {k: np.empty((repeats, order.n)) for k in ks}
    for b, batch in enumerate(played(order, ks, repeats, seed)):
        for k in ks:
            rates[k][b] = success(batch.scores[k], batch.member).mean(axis=0)
    return rates
