"""Weights under which non-members are on average what members are: exponential tilting, or entropy balancing.

The log-odds of membership are linear in the columns, with coefficients that make the weighted non-members' mean of every
column that of the members (Hainmueller 2012; Zhao 2019). A probability that is fitted by its likelihood, on other records, comes
close to that only where there are many: what it misses would be taken for the model's doing.

Columns in which the sides differ by no more than chance explains need no balance, and weights that balance many of them would
rest on a few non-members. So every column has a penalty, by how far its difference is beyond chance: one of t standard errors is
made up for but for a part of 1 / t², as James and Stein (1961) would have it, and one below a standard error not at all.
"""

from __future__ import annotations

import numpy as np

MOST = 128  # columns, those in which the sides differ most
LEAST = 1e-3  # penalty: sides that do not overlap keep finite odds
STEPS, HALVINGS, CLOSE = 100, 30, 1e-8


def log_odds(columns: np.ndarray, member: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """(records,) of membership, whose exponentials are the weights of non-members: as many in all as there are members.

    Args:
        columns: (records, columns) what is to be balanced.
        member: (records,) true for members, of which there are some, as there are non-members.
        unit: (records,) numbers of the persons, or records, that count as one.
    """
    read = _scaled(columns)
    beyond = standard_errors(read, member, unit) ** 2 - 1
    kept = np.argsort(-beyond, kind="stable")[:MOST]
    kept = np.sort(kept[beyond[kept] > 0])
    penalty = np.maximum(1 / beyond[kept], LEAST)
    with_one = np.hstack([np.ones((len(read), 1)), read[:, kept]])
    return with_one @ _fitted(with_one, member, np.append(0.0, penalty))


def standard_errors(read: np.ndarray, member: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """(columns,) by how many standard errors the means of the sides differ; units are independent, their records are not."""
    apart, variance = np.zeros(read.shape[1]), np.zeros(read.shape[1])
    for side, sign in ((member, 1), (~member, -1)):
        mean = read[side].mean(axis=0)
        who = np.unique(unit[side], return_inverse=True)[1]
        sums = np.zeros((who.max() + 1, read.shape[1]))
        np.add.at(sums, who, read[side] - mean)
        apart += sign * mean
        variance += np.square(sums).sum(axis=0) / side.sum() ** 2
    return apart / np.sqrt(np.maximum(variance, 1e-12))


def _scaled(columns: np.ndarray) -> np.ndarray:
    """Centred, of unit spread; without those that do not vary."""
    centred = columns - columns.mean(axis=0)
    spread = centred.std(axis=0)
    return centred[:, spread > 1e-9] / spread[spread > 1e-9]


def _fitted(read: np.ndarray, member: np.ndarray, penalty: np.ndarray) -> np.ndarray:
    """(columns,) coefficients, the first of a constant, by Newton's method.

    Args:
        penalty: (columns,) on the square of each, for every non-member.
    """
    members, others = read[member], read[~member]
    total, ridge = members.sum(axis=0), len(others) * penalty

    def loss(found: np.ndarray) -> float:
        with np.errstate(over="ignore"):  # too long a step, which is halved
            return float(np.exp(others @ found).sum() - total @ found + (ridge * found) @ found / 2)

    found = np.zeros(read.shape[1])
    found[0] = np.log(len(members) / len(others))
    now = loss(found)
    for _ in range(STEPS):
        weights = np.exp(others @ found)
        slope = weights @ others - total + ridge * found
        step = np.linalg.solve((others * weights[:, None]).T @ others + np.diag(ridge + 1e-9), slope)
        for _ in range(HALVINGS):
            then = loss(found - step)
            if then <= now:
                break
            step = step / 2
        else:
            break  # as low as numbers of this precision tell
        found, now = found - step, then
        if np.abs(step).max() < CLOSE:
            break
    return found
