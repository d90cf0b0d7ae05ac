"""How risks are spread over members and over groups of them, and whether they rank members alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from scipy.stats import rankdata

from guestlist.arrays.digits import six_digits
from guestlist.case import Case
from guestlist.evaluate.correlation import MIN_CORRELATION_SIZE, is_constant, spearman
from guestlist.findings import headline, slices
from guestlist.risks import risks_of

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class RiskQuantiles:
    """Quantiles of one risk, at ``LEVELS``, over members: those with the values ``of`` some columns, or all."""

    risk: str
    values: Mapping[str, str]
    members: int
    quantiles: tuple[float, ...]

    def __post_init__(self):
        if len(self.quantiles) != (len(LEVELS) if self.members else 0):
            raise ValueError(
                f"Expected {len(LEVELS)} quantiles of {self.members} members, found {len(self.quantiles)}."
            )


@dataclass(frozen=True)
class RiskDistribution:
    """The spread of each risk, and rank correlations over members.

    ``names`` are those of the risks and, last, of the headline attack; ``spearman`` is theirs, NaN where one of two is constant.
    """

    quantiles: tuple[RiskQuantiles, ...]
    names: tuple[str, ...]
    spearman: tuple[tuple[float, ...], ...]


def find(case: Case) -> RiskDistribution | None:
    """None where there is no risk. Parts that are too small to judge are left out: their quantiles are single people."""
    asked, member = case.truth.evaluated, case.truth.member_evaluated
    found = {name: values[asked] for name, values in risks_of(case).items()}
    if not found:
        return None
    parts: list[tuple[Mapping[str, str], np.ndarray]] = [({}, member)]
    parts += [(part.values, part.mask & member) for part in slices.groups(case) if part.enough]
    spreads = [_spread(name, of, values[mask]) for name, values in found.items() for of, mask in parts]
    attack = case.of(headline.find).name
    ranked = {**found, attack: case.scores[attack][asked]}
    of_members = [values[member] for values in ranked.values()]
    matrix = tuple(six_digits(row) for row in _rank_correlations(of_members))
    return RiskDistribution(tuple(one for one in spreads if one.members), tuple(ranked), matrix)


def _spread(risk: str, of: Mapping[str, str], values: np.ndarray) -> RiskQuantiles:
    known = values[~np.isnan(values)]
    # Quantiles that some record has: between infinite values there is nothing to interpolate.
    quantiles = np.quantile(known, LEVELS, method="closest_observation") if len(known) else ()
    return RiskQuantiles(risk, of, len(known), tuple(float(quantile) for quantile in quantiles))


def _rank_correlations(columns: Sequence[np.ndarray]) -> np.ndarray:
    """(columns, columns) each pair once: it is the same the other way round."""
    matrix = np.empty((len(columns), len(columns)))
    whole = [
        len(column) >= MIN_CORRELATION_SIZE and not np.isnan(column).any() and not is_constant(column)
        for column in columns
    ]
    ranks = [rankdata(column) if able else column for column, able in zip(columns, whole, strict=True)]
    for i, j in combinations_with_replacement(range(len(columns)), 2):
        if whole[i] and whole[j]:  # ranked once for all pairs
            found = np.corrcoef(np.column_stack([ranks[i], ranks[j]]), rowvar=False)[1, 0]
        else:
            found = _rank_correlation(columns[i], columns[j])
        matrix[i, j] = matrix[j, i] = found
    return matrix


def _rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    known = ~np.isnan(a) & ~np.isnan(b)
    return spearman(a[known], b[known]).value
