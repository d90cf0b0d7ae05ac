"""Weights that give non-members the column means of members: exponential tilting, or entropy balancing.

The log-odds of membership are linear in the columns, with coefficients that make the weighted non-members' mean of every
column that of the members (Hainmueller 2012; Zhao 2019). A probability that is fitted by maximum likelihood on other records
comes close to that only if there are many records: the remaining imbalance would be attributed to the model.

Columns whose difference is explained by chance need no balance, and weights that balance many of them would rest on a few
non-members. So each column has a penalty that depends on its difference: of t standard errors, a share of 1 / t² remains (as
James and Stein 1961), and a difference below one standard error is not balanced.
"""

from __future__ import annotations

import numpy as np

MOST_COLUMNS = 128  # those that differ most between members and non-members
LEAST_PENALTY = 1e-3  # keeps the odds finite if members and non-members do not overlap
STEPS = 100
HALVINGS = 30
TOLERANCE = 1e-8


def log_odds(columns: np.ndarray, member: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Return (records,) log-odds of membership; their exponentials are the weights of non-members.

    The weights of the non-members add up to the number of members.

    Args:
        columns: (records, columns) to balance.
        member: (records,) true for members; there are members and non-members.
        unit: (records,) numbers of the persons, or records, that count as one.
    """
    scaled = _scaled(columns)
    excess = standard_errors(scaled, member, unit) ** 2 - 1
    chosen = np.argsort(-excess, kind="stable")[:MOST_COLUMNS]
    chosen = np.sort(chosen[excess[chosen] > 0])
    penalty = np.maximum(1 / excess[chosen], LEAST_PENALTY)
    with_constant = np.hstack([np.ones((len(scaled), 1)), scaled[:, chosen]])
    return with_constant @ _balancing_coefficients(with_constant, member, np.append(0.0, penalty))


def standard_errors(columns: np.ndarray, member: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """(columns,) differences of the means of members and non-members in standard errors, clustered by unit."""
    difference = np.zeros(columns.shape[1])
    variance = np.zeros(columns.shape[1])
    for in_class, sign in ((member, 1), (~member, -1)):
        mean = columns[in_class].mean(axis=0)
        cluster = np.unique(unit[in_class], return_inverse=True)[1]
        sums = np.zeros((cluster.max() + 1, columns.shape[1]))
        np.add.at(sums, cluster, columns[in_class] - mean)
        difference += sign * mean
        variance += np.square(sums).sum(axis=0) / in_class.sum() ** 2
    return difference / np.sqrt(np.maximum(variance, 1e-12))


def _scaled(columns: np.ndarray) -> np.ndarray:
    """Return the columns that vary, centred, with unit standard deviation."""
    centred = columns - columns.mean(axis=0)
    deviation = centred.std(axis=0)
    varies = deviation > 1e-9
    return centred[:, varies] / deviation[varies]


def _balancing_coefficients(columns: np.ndarray, member: np.ndarray, penalty: np.ndarray) -> np.ndarray:
    """Compute (columns,) coefficients, the first of a constant, by Newton's method.

    Args:
        columns: (records, columns), the first constant.
        member: (records,) true for members.
        penalty: (columns,) on the square of each coefficient, per non-member.
    """
    members = columns[member]
    others = columns[~member]
    total = members.sum(axis=0)
    ridge = len(others) * penalty

    def loss(candidate: np.ndarray) -> float:
        with np.errstate(over="ignore"):  # The step was too long, and is halved.
            return float(np.exp(others @ candidate).sum() - total @ candidate + (ridge * candidate) @ candidate / 2)

    coefficients = np.zeros(columns.shape[1])
    coefficients[0] = np.log(len(members) / len(others))
    current = loss(coefficients)
    for _ in range(STEPS):
        weights = np.exp(others @ coefficients)
        slope = weights @ others - total + ridge * coefficients
        step = np.linalg.solve((others * weights[:, None]).T @ others + np.diag(ridge + 1e-9), slope)
        for _ in range(HALVINGS):
            proposed = loss(coefficients - step)
            if proposed <= current:
                break
            step = step / 2
        else:
            break  # The loss is as low as float64 can resolve.
        coefficients = coefficients - step
        current = proposed
        if np.abs(step).max() < TOLERANCE:
            break
    return coefficients
