"""Games with dependent members (Humphries et al. 2023): mixtures, bias, clusters and sources."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd

from guestlist._util import close_matches, number, reason, stream
from guestlist.data import MISSING, Data
from guestlist.errors import InputError
from guestlist.games.bernoulli import check_sizes, draw_inclusion_by_class, person_numbers


@dataclass(frozen=True)
class Draw:
    """A number of records from a part of the pool.

    Attributes:
        mask: (records,) true for the part.
        count: Number of records drawn; None: all.
        description: Description of the part, for messages.
    """

    mask: np.ndarray
    count: int | None
    description: str


@dataclass(frozen=True)
class Parts:
    """Parts of the pool that members and non-members are drawn from.

    Attributes:
        members: Draws that give the members.
        nonmembers: Draws that give the non-members.
    """

    members: Sequence[Draw]
    nonmembers: Sequence[Draw]


class Mixture(ABC):
    """Base of games of dependent records.

    The target draws from parts of the pool. References train on a random part of it, about as large as the target's.
    """

    name: ClassVar[str]
    iid: bool
    rate: float | None

    @property
    def is_iid(self) -> bool:
        """True if members and non-members differ only by chance."""
        return self.iid

    @abstractmethod
    def n_members(self, data: Data) -> int:
        """Return the approximate number of the target's members."""

    @abstractmethod
    def parts(self, data: Data) -> Parts:
        """Return the parts of the pool that members and non-members are drawn from."""

    def row(self, k: int, data: Data, seed: int) -> tuple[np.ndarray, np.ndarray | None]:
        if k:
            return draw_inclusion_by_class(data, self.rate or self.n_members(data) / len(data), seed, k), None
        return drawn(self.parts(data), data, iid=self.iid, seed=seed)


def drawn(parts: Parts, data: Data, *, iid: bool, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw (records,) the members of the target, and (records,) its evaluated records.

    No record is drawn twice. If person identifiers are given, whole persons are drawn, until there are at least these numbers of
    records: a person with records in both sets would be member and non-member at once.
    """
    rng = stream(seed, "rows", 0)
    free = np.ones(len(data), dtype=bool)
    person = person_numbers(data)
    member, nonmember = np.zeros((2, len(data)), dtype=bool)
    for chosen, draws in ((member, parts.members), (nonmember, parts.nonmembers)):
        for draw in draws:
            part = _sample(draw, free & draw.mask, person, rng)
            chosen |= part
            free &= ~np.isin(person, person[part])
    evaluated = member | nonmember
    if iid:
        member = evaluated & np.isin(person, _random_persons(person[evaluated], int(member.sum()), rng))
    return member, evaluated


def like_members(parts: Parts, data: Data, evaluated: np.ndarray, limit: int, rng: np.random.Generator) -> np.ndarray:
    """Draw other records in the same way as the members of the game: a trainer would validate a model on them.

    Args:
        parts: Parts of the pool.
        data: Records of the pool.
        evaluated: (records,) records that are already used.
        limit: Number of records; fewer if a part has fewer, and none if a part is empty.
        rng: Random generator.

    Returns:
        (records,) true for the drawn records.
    """
    person = person_numbers(data)
    free = ~np.isin(person, person[evaluated])
    weights = [int(draw.mask.sum()) if draw.count is None else draw.count for draw in parts.members]
    draws = list(zip(parts.members, weights, strict=True))
    shares = [int((draw.mask & free).sum()) / weight for draw, weight in draws if weight]
    share = min([limit / sum(weights), *shares])
    chosen = np.zeros(len(data), dtype=bool)
    for draw, weight in draws:
        if count := int(share * weight):
            chosen |= _sample(replace(draw, count=count), free & draw.mask & ~chosen, person, rng)
    return chosen


def group_column(data: Data, column: str) -> np.ndarray:
    """Return (records,) values of a group column."""
    if column not in data.groups:
        raise InputError(
            f"The records have no group {column!r}; their groups are: {', '.join(data.groups) or 'none'}. Pass "
            f"group={column!r}."
        )
    return data.groups[column]


def _sample(draw: Draw, part: np.ndarray, person: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    available = int(part.sum())
    if draw.count is None:
        return part
    if draw.count > available:
        raise InputError(
            f"The game needs {draw.count:,} records of {draw.description}; found {available:,}. Use a smaller number, or "
            "provide more records."
        )
    return part & np.isin(person, _random_persons(person[part], draw.count, rng))


def _random_persons(person: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw persons until they have at least ``count`` records."""
    persons, records = np.unique(person, return_counts=True)
    order = rng.permutation(len(persons))
    before = np.concatenate([[0], np.cumsum(records[order])[:-1]])
    return persons[order[before < count]]


@dataclass(frozen=True)
class Bias(Mixture):
    """A share of the members has an attribute, and half of the non-members; models are trained without it.

    Attributes:
        column: Name of the attribute; it is not a feature.
        value: Value of the attribute, as text.
        share: Share of the members that have it; at 0.5, members and non-members have one distribution.
        members, nonmembers: Numbers of records drawn.
        iid: True for the i.i.d. control, which draws the members from all drawn records.
        rate: Probability that a reference trains on a record; by default the target's share of the pool.

    Raises:
        ValueError: If ``share`` is not in [0, 1], or another number is out of range.

    Examples:
        >>> sex = np.where(np.arange(400) % 2, "Male", "Female")
        >>> data = gl.Data(np.zeros((400, 2)), np.arange(400) % 2, groups={"sex": sex})
        >>> split = gl.games.draw(gl.games.Bias("sex", "Male", 0.9, 100, 100), data, models=1, seed=0)
        >>> float((sex[split.members] == "Male").mean()), float((sex[split.nonmembers] == "Male").mean())
        (0.9, 0.5)
    """

    column: str
    value: str
    share: float
    members: int
    nonmembers: int
    iid: bool = False
    rate: float | None = None

    name: ClassVar[str] = "bias"

    def __post_init__(self):
        check_sizes(self.members, self.nonmembers, self.rate)
        number("share", self.share, 0, 1, ends="[]")

    @property
    def hides(self) -> tuple[str, ...]:
        """Columns that no model may see."""
        return (self.column,)

    @property
    def is_iid(self) -> bool:
        """True if members and non-members differ only by chance."""
        return self.iid or self.share == 0.5

    def n_members(self, data: Data) -> int:
        return self.members

    def parts(self, data: Data) -> Parts:
        values = group_column(data, self.column)
        have = values == str(self.value)
        lack = ~have & (values != MISSING)  # Records without a value are neither members nor non-members.
        return Parts(self._with(have, lack, self.members, self.share), self._with(have, lack, self.nonmembers, 0.5))

    def _with(self, have: np.ndarray, lack: np.ndarray, count: int, share: float) -> list[Draw]:
        with_value = round(share * count)
        return [
            Draw(have, with_value, f"{self.column} = {self.value}"),
            Draw(lack, count - with_value, f"another {self.column} than {self.value}"),
        ]


@dataclass(frozen=True)
class Clusters(Mixture):
    """Members with similar features: one k-means cluster of each class.

    The clusters are the same for every seed; the records drawn from them are not.

    Attributes:
        members, nonmembers: Numbers of records drawn; None for the whole cluster, and for all others.
        cluster: Number of the cluster that members are drawn from.
        clusters: Number of clusters of each class.
        iid: True for the i.i.d. control, which draws the members from all drawn records.
        rate: Probability that a reference trains on a record; by default the target's share of the pool.

    Raises:
        ValueError: If the cluster does not exist, there are fewer than two, or another number is out of range.

    Examples:
        >>> x = np.repeat([[0.0], [9.0]], 50, axis=0)
        >>> split = gl.games.draw(gl.games.Clusters(20, 20), gl.Data(x, np.arange(100) % 2), models=1, seed=0)
        >>> bool(x[split.members].std() < x[split.nonmembers].std() or len(np.unique(x[split.members])) <= 2)
        True
    """

    members: int | None = None
    nonmembers: int | None = None
    cluster: int = 0
    clusters: int = 2
    iid: bool = False
    rate: float | None = None

    name: ClassVar[str] = "clusters"

    def __post_init__(self):
        check_sizes(self.members, self.nonmembers, self.rate)
        if not 0 <= self.cluster < self.clusters or self.clusters < 2:
            raise ValueError(f"Expected cluster={self.cluster} below clusters={self.clusters}, and 2 clusters or more.")

    def n_members(self, data: Data) -> int:
        return self.members or len(data) // self.clusters

    def parts(self, data: Data) -> Parts:
        in_cluster = clustered(data, self.clusters) == self.cluster
        return Parts(
            members=[Draw(in_cluster, self.members, f"cluster {self.cluster}")],
            nonmembers=[Draw(~in_cluster, self.nonmembers, "the other clusters")],
        )


def clustered(data: Data, clusters: int) -> np.ndarray:
    """Cluster the records of each class by k-means on unscaled features.

    Args:
        data: Records with numeric features.
        clusters: Number of clusters of each class.

    Returns:
        (records,) number of the cluster of each record within its class.

    Raises:
        InputError: If a class has fewer different records than clusters.

    Examples:
        >>> x = np.array([[0.0], [0.1], [9.0], [9.1]])
        >>> number = gl.games.clustered(gl.Data(x, np.zeros(4, int)), clusters=2)
        >>> bool(number[0] == number[1] != number[2] == number[3])
        True
    """
    from sklearn.cluster import KMeans

    try:
        x = np.asarray(data.x, dtype=np.float64).reshape(len(data), -1)
    except (TypeError, ValueError) as error:
        raise InputError(f"Clusters need numeric features ({reason(error)}). Encode them first.") from error
    if not np.isfinite(x).all():
        raise InputError("Clusters need finite features, and some are missing or infinite. Impute them first.")
    cluster = np.zeros(len(data), dtype=int)
    positions, classes = pd.factorize(data.y)
    for position, label in enumerate(classes):
        of_class = positions == position
        if len(np.unique(x[of_class], axis=0)) < clusters:
            raise InputError(
                f"Class {label!r} has fewer than {clusters} different records to cluster. Use fewer clusters, or more records."
            )
        cluster[of_class] = KMeans(clusters, n_init=10, random_state=0).fit_predict(x[of_class])
    return cluster


@dataclass(frozen=True)
class Sources(Mixture):
    """Members come from one hospital, school or region; non-members from others.

    Attributes:
        column: Name of the column that holds the source; it is not a feature.
        of_members: Source of the members, as text.
        of_nonmembers: Source of the non-members; None for any other.
        members, nonmembers: Numbers of records drawn; None for all of them.
        iid: True for the i.i.d. control, which draws the members from all drawn records.
        rate: Probability that a reference trains on a record; by default the target's share of the pool.

    Raises:
        ValueError: If both sources are the same, or a number is out of range.

    Examples:
        >>> hospital = np.repeat(["Cleveland", "Budapest"], 50)
        >>> data = gl.Data(np.zeros((100, 2)), np.arange(100) % 2, groups={"hospital": hospital})
        >>> split = gl.games.draw(gl.games.Sources("hospital", "Cleveland"), data, models=1, seed=0)
        >>> sorted(set(hospital[split.members])), sorted(set(hospital[split.nonmembers]))
        ([...'Cleveland'...], [...'Budapest'...])
    """

    column: str
    of_members: str
    of_nonmembers: str | None = None
    members: int | None = None
    nonmembers: int | None = None
    iid: bool = False
    rate: float | None = None

    name: ClassVar[str] = "sources"

    def __post_init__(self):
        check_sizes(self.members, self.nonmembers, self.rate)
        if self.of_members == self.of_nonmembers:
            raise ValueError(
                f"Expected of_nonmembers={self.of_nonmembers!r} to differ from of_members. Choose two different sources."
            )

    @property
    def hides(self) -> tuple[str, ...]:
        """Columns that no model may see."""
        return (self.column,)

    def n_members(self, data: Data) -> int:
        return self.members or int((group_column(data, self.column) == str(self.of_members)).sum())

    def parts(self, data: Data) -> Parts:
        values = group_column(data, self.column)
        of_members = values == str(self.of_members)
        if self.of_nonmembers is None:
            others = ~of_members & (values != MISSING)  # Records without a source are not drawn.
        else:
            others = values == str(self.of_nonmembers)
        for wanted, part in ((self.of_members, of_members), (self.of_nonmembers, others)):
            if not part.any():
                raise InputError(
                    f"No record has {self.column} = {wanted}. Available values: "
                    f"{close_matches(wanted, map(str, np.unique(values)))}."
                )
        return Parts(
            members=[Draw(of_members, self.members, f"{self.column} = {self.of_members}")],
            nonmembers=[Draw(others, self.nonmembers, f"{self.column} = {self.of_nonmembers or 'another'}")],
        )
