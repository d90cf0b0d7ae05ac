"""Can members be told from non-members without the model? A classifier that never asks it, and an exact test of it.

A classifier learns on some of the records who is a member, from features, label and groups alone, and is judged on others. If
members and non-members come from one source it does no better than when memberships are exchanged at random and everything
is done again, so the share of exchanges that do as well is a p-value. (An interval around the AUC of cross-fitted scores would
not do: folds learn from each other's records, and it excludes one half too often.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from guestlist.arrays.ranks import aucs
from guestlist.blind.columns import columns_of, design, plain
from guestlist.blind.propensity import chances
from guestlist.blind.ridge import Fold, cross_fitted, folds, selected_terms
from guestlist.blind.second_order import second_order
from guestlist.blind.units import exchanged, folds_of, some_of, units_of
from guestlist.data import Data
from guestlist.hashes import row_hashes

LEVEL = 0.05
POWER_80 = 1.645 + 0.842  # standard deviations from the mean of the exchanges to what is seen four times in five
FOLDS = 5
MOST_RECORDS = 2000  # of either side
# Exchanges are drawn until so many did as well (Besag & Clifford 1991), or to the last.
ENOUGH, EXCHANGES, AT_ONCE = 20, 399, 100
CLASSIFIER = "ridge with squares and products"


@dataclass(frozen=True)
class Blind:
    """How well members are told from non-members without asking the model.

    Args:
        auc: of the classifier on records that it did not learn from.
        p_value: share of exchanges of membership under which it does as well.
        permutations: exchanges that were tried.
        detectable_auc: the smallest AUC of this classifier that would have been seen, at the 5 % level, four times in five.
        members, nonmembers: records that were looked at.
        units: persons, or records, whose membership was exchanged.
        columns: of features that were looked at.
        looked_at: ``features``, ``label``, ``groups``.
        classifier: its name.
        spread: standard deviation of its AUC under exchanges of membership.
        game: that drew members and non-members from different parts of the people; empty where the sides are the user's own.
    """

    auc: float
    p_value: float
    permutations: int
    detectable_auc: float
    members: int
    nonmembers: int
    units: int
    columns: int
    looked_at: tuple[str, ...]
    classifier: str = CLASSIFIER
    spread: float = float("nan")
    game: str = ""

    @property
    def told(self) -> bool:
        """Whether chance does not explain it."""
        return self.p_value <= LEVEL


@dataclass(frozen=True, eq=False)
class Unasked:
    """What is said of each record without asking the model, by classifiers that did not learn from it.

    Args:
        score: (records,) of the classifier; comparable within a fold. NaN: the record was not looked at.
        fold: (records,) number of the fold; -1 where the record was not looked at.
        chance: (records,) probability of membership among the records that were looked at.
    """

    score: np.ndarray
    fold: np.ndarray
    chance: np.ndarray

    @property
    def seen(self) -> np.ndarray:
        """(records,) true for those that were looked at."""
        return self.fold >= 0

    @property
    def across_folds(self) -> np.ndarray:
        """(records,) the score, comparable between folds as well: records are dealt out to them at random."""
        found = np.full(len(self.score), np.nan)
        for one in np.unique(self.fold[self.seen]):
            inside = self.fold == one
            centred = self.score[inside] - self.score[inside].mean()
            found[inside] = centred / max(float(centred.std()), 1e-12)
        return found


class Found(NamedTuple):
    """What the classifier reaches, and what it says of each record."""

    blind: Blind
    unasked: Unasked


def blind(
    x: np.ndarray | pd.DataFrame | None,
    y: np.ndarray | None,
    member: np.ndarray,
    persons: np.ndarray | None = None,
    groups: Mapping[str, np.ndarray] | None = None,
    *,
    values: bool = False,
    rng: np.random.Generator,
) -> Blind | None:
    """How well members are told from non-members by features, label and groups; arguments as for :func:`look`."""
    found = _looked(x, y, member, persons, groups, values=values, rng=rng)
    return None if found is None else found[0]


def look(
    x: np.ndarray | pd.DataFrame | None,
    y: np.ndarray | None,
    member: np.ndarray,
    persons: np.ndarray | None = None,
    groups: Mapping[str, np.ndarray] | None = None,
    *,
    values: bool = False,
    rng: np.random.Generator,
    hashes: np.ndarray | None = None,
) -> Found | None:
    """How well members are told from non-members by features, label and groups, and what that says of each record.

    Args:
        x: (records, …) features; None where there are none.
        y: (records,) labels: classes or, if ``values``, numbers; None where nobody knows them.
        member: (records,) true for members.
        persons: (records,) whose records these are; by default each stands alone, but for copies (``units_of``).
        groups: name to (records,) texts.
        hashes: (records,) of features and label, where they are known already.

    Returns:
        None where there are too few records to compare any that the classifier did not learn from.
    """
    found = _looked(x, y, member, persons, groups, values=values, rng=rng, hashes=hashes)
    return None if found is None else Found(found[0], found[1]())


def _looked(
    x: np.ndarray | pd.DataFrame | None,
    y: np.ndarray | None,
    member: np.ndarray,
    persons: np.ndarray | None,
    groups: Mapping[str, np.ndarray] | None,
    *,
    values: bool,
    rng: np.random.Generator,
    hashes: np.ndarray | None = None,
) -> tuple[Blind, Callable[[], Unasked]] | None:
    """How well members are told; and what says it of each record, which takes several times as long."""
    none = x is None or not np.prod(np.shape(x)[1:])
    x = np.zeros((len(member), 1)) if x is None or none else x
    names = set(map(str, x.columns)) if isinstance(x, pd.DataFrame) else set()
    others = {name: texts for name, texts in (groups or {}).items() if name not in names}
    labelled, y = y is not None, np.zeros(len(member), dtype=np.int64) if y is None else y
    data = Data(x, y, groups=others)
    counted, unit = units_of(member, persons, row_hashes(data) if hashes is None else hashes)
    some = some_of(unit, member[counted], MOST_RECORDS, rng)
    rows, unit = counted[some], np.unique(unit[some], return_inverse=True)[1]
    data, member = data.take(rows), member[rows]
    fold, columns = folds_of(unit, FOLDS, rng), columns_of(data.x, rng)
    read = design(columns, data.y, data.groups, fold, values=values, rng=rng)
    terms = second_order(read.combined.values, read.combined.source, unit, rng)
    parts = folds(read.linear, fold, terms)
    auc = float(within_folds(parts, member[None])[0])
    if np.isnan(auc):
        return None
    p_value, others_aucs = _test(auc, parts, unit, member, rng)
    reached = Blind(
        auc=auc,
        p_value=p_value,
        permutations=len(others_aucs),
        detectable_auc=float(others_aucs.mean() + POWER_80 * others_aucs.std(ddof=1)),
        members=int(member.sum()),
        nonmembers=int((~member).sum()),
        units=int(unit.max()) + 1,
        columns=0 if none else columns.sources,
        looked_at=tuple(
            name for name, there in {"features": not none, "label": labelled, "groups": bool(groups)}.items() if there
        ),
        spread=float(others_aucs.std(ddof=1)),
    )

    def unasked() -> Unasked:
        side = np.where(member, 1.0, -1.0)
        (score,) = cross_fitted(parts, side[None])
        given, labels = plain(columns, data.y, data.groups, values=values)
        found = terms.values[:, selected_terms(parts, side)]
        return _spread_out(len(y), rows, score, fold, chances(given, labels, found, score, fold, member, unit))

    return reached, unasked


def _spread_out(records: int, rows: np.ndarray, score: np.ndarray, fold: np.ndarray, chance: np.ndarray) -> Unasked:
    """What is said of some of the records, over all of them."""
    found = Unasked(np.full(records, np.nan), np.full(records, -1), np.full(records, np.nan))
    for whole, part in ((found.score, score), (found.fold, fold), (found.chance, chance)):
        whole[rows] = part
    return found


def within_folds(parts: tuple[Fold, ...], member: np.ndarray) -> np.ndarray:
    """(labellings,) AUC of cross-fitted predictions over the pairs of records that lie in one fold; NaN without any."""
    scores = cross_fitted(parts, np.where(member, 1.0, -1.0))
    won, pairs = np.zeros(len(member)), np.zeros(len(member))
    for part in parts:
        truth = member[:, part.inside]
        many = truth.sum(axis=1) * (~truth).sum(axis=1)
        won += np.nan_to_num(aucs(scores[:, part.inside], truth)) * many
        pairs += many
    with np.errstate(invalid="ignore"):  # 0 / 0 is NaN: no fold has both sides
        return won / pairs


def _test(
    auc: float, parts: tuple[Fold, ...], unit: np.ndarray, member: np.ndarray, rng: np.random.Generator
) -> tuple[float, np.ndarray]:
    """The p-value, and the AUCs under exchanges of membership."""
    tried = np.empty(0)
    while len(tried) < EXCHANGES:
        count = min(AT_ONCE, EXCHANGES - len(tried))
        more = within_folds(parts, exchanged(unit, member, count, rng))
        tried = np.append(tried, np.where(np.isnan(more), 0.5, more))
        as_well = np.cumsum(tried >= auc)
        if as_well[-1] >= ENOUGH:
            return ENOUGH / (1 + int(np.argmax(as_well >= ENOUGH))), tried
    return (1 + int(as_well[-1])) / (1 + len(tried)), tried
