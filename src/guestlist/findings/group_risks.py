"""Which groups, pairs of groups and classes bear more risk than the rest, and how the headline attack does on each.

Means are of members: a risk is theirs. With many groups the mean of one is far from the rest by luck, so p-values are Holm's
within groups, within pairs and within classes, times the number of these kinds that there are; with several risks, all of
them together. A group and its rest ask the same, and pay once. Then the chance that any difference is claimed where there is
none is at most 5 %.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from guestlist.arrays.samples import optional_take
from guestlist.case import Case, signal_of
from guestlist.evaluate import (
    Estimate,
    advantage,
    balanced_accuracy,
    clustered_proportion,
    flag_members,
    flags_at_fpr,
    tpr_at_fpr,
)
from guestlist.evaluate.calls import CROSS_FIT
from guestlist.evaluate.means import group_means, holm
from guestlist.findings import headline, slices
from guestlist.findings.luck import SIGNIFICANCE_LEVEL
from guestlist.findings.slices import FEWEST, Slice
from guestlist.risks import RISKS, risks_of
from guestlist.risks.asked import requested_risks

FPR = 0.05


@dataclass(frozen=True)
class MeanRisk:
    """The mean of one risk over the members of a group.

    ``beyond_rest`` is by how much it exceeds the mean over all other members, with an interval for this group alone;
    ``p_value``, of that difference, pays for all groups and risks. None: there is nobody else, or nothing is known.
    """

    risk: str
    mean: Estimate
    beyond_rest: Estimate
    p_value: float | None

    @property
    def differs(self) -> bool:
        """Whether it is shown that these members bear more risk than the others, or less."""
        return self.p_value is not None and self.p_value <= SIGNIFICANCE_LEVEL


@dataclass(frozen=True)
class GroupRisk:
    """One group, pair of groups or class that has enough members and non-members.

    Args:
        kind: ``group``, ``pair`` or ``class``.
        values: column to value.
        members, nonmembers: records.
        accuracy: balanced accuracy of the headline attack here, at a threshold learnt on the other half of all records.
        tpr: its TPR where a share ``fpr`` of *these* non-members is called.
        tpr_at_common, fpr_at_common: its TPR and FPR here, at the threshold where a share ``fpr`` of *all* non-members is called.
        gap: accuracy of the target on members minus that on non-members; None where targets of its kind are not right or wrong.
        risks: one for each risk.
    """

    kind: str
    values: Mapping[str, str]
    members: int
    nonmembers: int
    accuracy: Estimate
    tpr: Estimate
    tpr_at_common: Estimate
    fpr_at_common: Estimate
    gap: Estimate | None
    risks: tuple[MeanRisk, ...]


@dataclass(frozen=True)
class TooSmall:
    """A group, pair of groups or class that is not judged: it has too few members or too few non-members."""

    kind: str
    values: Mapping[str, str]
    members: int
    nonmembers: int


@dataclass(frozen=True)
class GroupRisks:
    """Groups, pairs of groups and classes, in this order.

    Args:
        attack: the headline.
        fpr: at which its rates are.
        fewest: members, and non-members (persons, where they are known), that it takes to be judged.
        judged: those that have so many.
        small: those that have not.
    """

    attack: str
    fpr: float
    fewest: int
    judged: tuple[GroupRisk, ...]
    small: tuple[TooSmall, ...]


def find(case: Case) -> GroupRisks | None:
    """All groups, pairs of groups and classes with the risks that an audit has by default; None where there are none."""
    parts = (*slices.groups(case), *slices.pairs(case), *slices.classes(case))
    return of_slices(case, parts, risks_of(case)) if parts else None


def by_groups(case: Case, columns: Sequence[str], risks: Sequence[str] | None = None) -> GroupRisks:
    """The groups of some columns, and their pairs.

    Args:
        risks: names from ``RISKS``; by default those that an audit has.
    """
    return of_slices(case, (*slices.groups(case, columns), *slices.pairs(case, columns)), requested_risks(case, risks))


def of_slices(case: Case, parts: Sequence[Slice], risks: Mapping[str, np.ndarray]) -> GroupRisks:
    """Every part of the asked records that is large enough.

    Args:
        risks: name to (records,).
    """
    name = case.of(headline.find).name
    judged = [part for part in parts if part.enough]
    found = mean_risks(case, judged, risks, {name: RISKS[name].bounds for name in risks if name in RISKS})
    attack = _Attack.of(case, name)
    return GroupRisks(
        name,
        FPR,
        FEWEST,
        tuple(_judged(case, part, attack, own) for part, own in zip(judged, found, strict=True)),
        tuple(TooSmall(part.kind, part.values, part.members, part.nonmembers) for part in parts if not part.enough),
    )


@dataclass(frozen=True)
class _Attack:
    """(asked records,) an attack's scores, and its calls, 1.0 or 0.0, at two thresholds; NaN where it has no score."""

    scores: np.ndarray
    best: np.ndarray
    at_fpr: np.ndarray

    @classmethod
    def of(cls, case: Case, name: str) -> _Attack:
        scores, member = case.asked_scores[name], case.truth.member_evaluated
        best, at_fpr = np.full(len(scores), np.nan), flags_at_fpr(scores, member, FPR)
        if not np.isnan(advantage(scores, member, CROSS_FIT, clusters=case.persons).value):  # a threshold can be learnt
            best = np.where(np.isnan(scores), np.nan, flag_members(scores, member, CROSS_FIT, clusters=case.persons))
        return cls(scores, best, at_fpr)


def mean_risks(
    case: Case,
    parts: Sequence[Slice],
    risks: Mapping[str, np.ndarray],
    bounds: Mapping[str, tuple[float, float] | None],
) -> tuple[tuple[MeanRisk, ...], ...]:
    """For each part, each risk's mean over its members, with p-values that pay for each other.

    Args:
        risks: name to (records,).
        bounds: name to the range of its values, where that is known.
    """
    asked, member = case.truth.evaluated, case.truth.member_evaluated
    persons, masks = optional_take(case.persons, member), [part.mask[member] for part in parts]
    means = {
        name: group_means(values[asked][member], masks, bounds=bounds.get(name), clusters=persons)
        for name, values in risks.items()
    }
    p_values = np.array([[found.p_value for found in row] for row in means.values()]).reshape(len(risks), len(parts))
    kinds = np.array([part.kind for part in parts])
    questions = np.array([_question(mask) for mask in masks], dtype=object)
    for kind in set(kinds):
        here = np.flatnonzero(kinds == kind)
        _, first, again = np.unique(questions[here], return_index=True, return_inverse=True)
        own = p_values[:, here[first]]
        p_values[:, here] = holm(own.ravel()).reshape(own.shape)[:, again]
    p_values = np.minimum(p_values * len(set(kinds)), 1.0)
    return tuple(
        tuple(
            MeanRisk(name, row[at].mean, row[at].beyond_rest, None if np.isnan(paid) else float(paid))
            for (name, row), paid in zip(means.items(), p_values[:, at], strict=True)
        )
        for at in range(len(parts))
    )


def _question(mask: np.ndarray) -> bytes:
    """The same for a group and for its rest: of two sexes, one differs from the other as the other from it."""
    return min(mask.tobytes(), (~mask).tobytes())


def _judged(case: Case, part: Slice, attack: _Attack, risks: tuple[MeanRisk, ...]) -> GroupRisk:
    member, here = case.truth.member_evaluated, part.mask
    persons, correct = optional_take(case.persons, here), signal_of(case.view, "correct")
    # All non-members set the common threshold; of the members, only these are counted.
    beside = here | ~member
    outside = here & ~member & ~np.isnan(attack.at_fpr)
    return GroupRisk(
        kind=part.kind,
        values=part.values,
        members=part.members,
        nonmembers=part.nonmembers,
        accuracy=balanced_accuracy(attack.best[here], member[here], 0.5, clusters=persons),
        tpr=tpr_at_fpr(attack.scores[here], member[here], FPR, clusters=persons),
        tpr_at_common=tpr_at_fpr(
            attack.scores[beside], member[beside], FPR, clusters=optional_take(case.persons, beside)
        ),
        fpr_at_common=clustered_proportion(attack.at_fpr[outside] > 0, clusters=optional_take(case.persons, outside)),
        gap=None
        if correct is None
        else advantage(correct[case.truth.evaluated][here], member[here], 0.5, clusters=persons),
        risks=risks,
    )
