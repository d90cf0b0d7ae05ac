"""How risks are spread over members and over groups of them, and whether they rank members alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from guestlist.case import Case
from guestlist.findings import headline
from guestlist.findings.attacks import rounded
from guestlist.findings.groups import FEWEST
from guestlist.findings.records import group_columns, record_table
from guestlist.risks import risks_of
from guestlist.risks.worth import spearman

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class Spread:
    """Quantiles of one risk, at ``LEVELS``, over the members of one group; ``group`` is empty for all members."""

    risk: str
    group: str
    value: str
    members: int
    quantiles: tuple[float, ...]


@dataclass(frozen=True)
class RiskSpread:
    """The spread of each risk, and rank correlations over members.

    ``names`` are those of the risks and, last, of the headline attack; ``spearman`` is theirs, NaN where one of two is constant.
    """

    spreads: tuple[Spread, ...]
    names: tuple[str, ...]
    spearman: tuple[tuple[float, ...], ...]


def find(case: Case) -> RiskSpread | None:
    """None where there is no risk. Groups with fewer than ten members are left out: their quantiles are single people."""
    found = {name: values[case.truth.asked] for name, values in risks_of(case).items()}
    if not found:
        return None
    records = case.of(record_table)
    member = records["member"].to_numpy()
    spreads = []
    for name, values in found.items():
        groups = [("", "", member)]
        groups += [
            (column, str(value), member & (records[f"group_{column}"] == value).to_numpy())
            for column in group_columns(records)
            for value in sorted(records[f"group_{column}"].dropna().unique(), key=str)
        ]
        spreads += [_spread(name, *group[:2], values[group[2]]) for group in groups]
    attack = case.of(headline.find).name
    ranked = {**found, attack: records[f"score_{attack}"].to_numpy()}
    of_members = [values[member] for values in ranked.values()]
    matrix = tuple(rounded(np.array([_rank_correlation(a, b) for b in of_members])) for a in of_members)
    return RiskSpread(tuple(one for one in spreads if one.members >= FEWEST), tuple(ranked), matrix)


def _spread(risk: str, group: str, value: str, values: np.ndarray) -> Spread:
    known = values[~np.isnan(values)]
    # Quantiles that some record has: between infinite values there is nothing to interpolate.
    quantiles = np.quantile(known, LEVELS, method="closest_observation") if len(known) else ()
    return Spread(risk, group, value, len(known), tuple(float(quantile) for quantile in quantiles))


def _rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    known = ~np.isnan(a) & ~np.isnan(b)
    return spearman(a[known], b[known]).value
