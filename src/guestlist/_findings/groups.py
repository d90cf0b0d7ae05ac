"""Attack metrics and risks by group, pair of groups and class, and their correlation with the generalisation gap."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import pandas as pd

from guestlist._case import Case, has_labels, signal_of
from guestlist._findings import CHANCE, SIGNIFICANCE_LEVEL, group_columns, group_p_values, headline, is_significant
from guestlist._kernels import means_by_label, optional_take
from guestlist._util import close_matches, stream
from guestlist.errors import InputError
from guestlist.metrics import (
    CROSS_FIT,
    MIN_CORRELATION_SIZE,
    Estimate,
    advantage,
    auc,
    balanced_accuracy,
    clustered_proportion,
    flag_members,
    flags_at_fpr,
    group_means,
    holm,
    is_constant,
    newcombe_difference,
    pearson,
    spearman,
    tpr_at_fpr,
)
from guestlist.risks import RISKS, requested_risks, risks_of

FEWEST = 10  # minimum number of members, and of non-members, of an evaluated part; of persons, if known
GROUP = "group"
PAIR = "pair"
CLASS = "class"
LABEL = "label"


@dataclass(frozen=True)
class RecordGroup:
    """A group, pair of groups or class of the evaluated records.

    Attributes:
        kind: ``group``, ``pair`` (of groups: records in both) or ``class``.
        values: Column to its value in this part.
        members: Number of members.
        nonmembers: Number of non-members.
    """

    kind: str
    values: Mapping[str, str]
    members: int
    nonmembers: int


@dataclass(frozen=True)
class Slice(RecordGroup):
    """A part with its records.

    Attributes:
        enough: Whether it has enough members and non-members to be evaluated.
        mask: (evaluated records,) True for its records.
    """

    enough: bool
    mask: np.ndarray = field(repr=False, compare=False)


def group_slices(case: Case, columns: Sequence[str] | None = None) -> tuple[Slice, ...]:
    """Return the groups of some columns, or of all, column by column; records without a value are a group too."""
    return tuple(part for name in _columns(case, columns) for part in _parts(case, GROUP, [name], [f"group_{name}"]))


def pair_slices(case: Case, columns: Sequence[str] | None = None) -> tuple[Slice, ...]:
    """Return the intersections of two groups, for each pair of columns; empty ones are omitted."""
    return tuple(
        part
        for pair in combinations(_columns(case, columns), 2)
        for part in _parts(case, PAIR, pair, [f"group_{name}" for name in pair])
    )


def class_slices(case: Case) -> tuple[Slice, ...]:
    """Return the classes in their order; none for regression or if the labels are unknown."""
    if not case.setting.classes or not has_labels(case):
        return ()
    order = case.records["class"].to_numpy()[case.truth.evaluated]
    return tuple(sorted(_parts(case, CLASS, [LABEL], [LABEL]), key=lambda part: order[part.mask][0]))


def _columns(case: Case, columns: Sequence[str] | None) -> list[str]:
    available = group_columns(case.records)
    unknown = [name for name in columns or () if name not in available]
    if unknown:
        known = "the audit has no groups. Audit with group= (--group)"
        if available:
            known = f"available names: {close_matches(unknown[0], available)}"
        raise InputError(f"There is no group {unknown[0]!r}; {known}.")
    if columns is None:
        return available
    return list(dict.fromkeys(columns))


def _parts(case: Case, kind: str, names: Sequence[str], columns: Sequence[str]) -> tuple[Slice, ...]:
    member = case.truth.member_evaluated
    table = case.records.loc[case.truth.evaluated, columns].set_axis(names, axis="columns")
    parts = []
    for rows in table.groupby(list(names), sort=True).indices.values():
        mask = np.zeros(len(member), dtype=bool)
        mask[rows] = True
        sides = (mask & member, mask & ~member)
        counts = [int(side.sum()) for side in sides]
        people = counts
        if case.persons is not None:
            people = [len(np.unique(case.persons[side])) for side in sides]
        parts.append(
            Slice(
                kind=kind,
                values=table.iloc[rows[0]].astype(str).to_dict(),
                members=counts[0],
                nonmembers=counts[1],
                enough=min(people) >= FEWEST,
                mask=mask,
            )
        )
    return tuple(parts)


@dataclass(frozen=True)
class GroupResult:
    """Result of the headline attack within one group of records.

    Attributes:
        group: Name of the column.
        value: Value of the column in this group.
        members: Number of members.
        nonmembers: Number of non-members.
        auc: AUC within the group.
        p_value: Probability that some group has such an AUC if nothing leaks, adjusted; None if not tested.
        beyond_rest: AUC minus that among all records outside the group, with simultaneous intervals for all groups.
    """

    group: str
    value: str
    members: int
    nonmembers: int
    auc: Estimate
    p_value: float | None = None
    beyond_rest: Estimate | None = None

    @property
    def exposed(self) -> bool:
        """Evidence that members of this group can be distinguished from its non-members."""
        return self.auc.low > CHANCE and is_significant(self.p_value)

    @property
    def more_exposed(self) -> bool:
        """Evidence that they can be distinguished more easily than other records."""
        return self.beyond_rest is not None and self.beyond_rest.low > 0


def find(case: Case) -> tuple[GroupResult, ...]:
    """Evaluate the headline attack within each group that has enough members and non-members."""
    return _of_attack(case, case.of(headline.find).name, "permutations of groups")


def find_for_file_holder(case: Case) -> tuple[GroupResult, ...] | None:
    """Evaluate the file holder's attack within each group; None without such an attack."""
    second = case.of(headline.find_file_holder)
    if second is None:
        return None
    return _of_attack(case, second.name, "permutations of groups of the file holder")


def _of_attack(case: Case, attack: str, stream_name: str) -> tuple[GroupResult, ...]:
    """Evaluate one attack within each group; the headline rows divide the error of groups equally.

    Args:
        case: The audit.
        attack: Name of the attack.
        stream_name: Name of its random stream.
    """
    scores = case.evaluated_scores[attack]
    member = case.truth.member_evaluated
    columns = group_columns(case.records)
    rows = len(headline.headline_rows(case))
    parts = [part for part in group_slices(case) if part.enough]

    def auc_within(mask: np.ndarray, error: float = SIGNIFICANCE_LEVEL) -> Estimate:
        return auc(scores[mask], member[mask], clusters=optional_take(case.persons, mask), confidence=1 - error)

    results: list[GroupResult] = []
    for number, column in enumerate(columns):
        of_column = [part for part in parts if column in part.values]
        aucs = [auc_within(part.mask) for part in of_column]
        p_values: Sequence[float | None] = [None] * len(aucs)
        if any(within.low > CHANCE for within in aucs):  # otherwise no test is needed
            strata = pd.factorize(case.records[f"group_{column}"][case.truth.evaluated], use_na_sentinel=False)[0]
            masks = [part.mask for part in of_column]
            rng = stream(case.setting.seed, stream_name, number)
            tested = group_p_values(scores, member, masks, strata, rows * len(columns), rng, case.persons)
            p_values = tested.tolist()
        for part, within, p_value in zip(of_column, aucs, p_values, strict=True):
            # Two samples without a common record: the AUC within a group, and among all other records.
            inside, outside = (
                auc_within(side, SIGNIFICANCE_LEVEL / (rows * len(parts))) for side in (part.mask, ~part.mask)
            )
            results.append(
                GroupResult(
                    group=column,
                    value=part.values[column],
                    members=part.members,
                    nonmembers=part.nonmembers,
                    auc=within,
                    p_value=p_value,
                    beyond_rest=newcombe_difference(inside, outside),
                )
            )
    return tuple(results)


FPR = 0.05


@dataclass(frozen=True)
class MeanRisk:
    """Mean of one risk over the members of a group.

    Attributes:
        risk: Name of the risk.
        mean: Mean over the members.
        beyond_rest: Mean minus that over all other members, with an interval for this group only.
        p_value: P-value of that difference, corrected for all groups and risks; None without other members.
    """

    risk: str
    mean: Estimate
    beyond_rest: Estimate
    p_value: float | None

    @property
    def differs(self) -> bool:
        """Evidence that the risk of these members is higher or lower than that of the others."""
        return self.p_value is not None and self.p_value <= SIGNIFICANCE_LEVEL


@dataclass(frozen=True)
class GroupRisk(RecordGroup):
    """Risks of one group, pair of groups or class with enough members and non-members.

    Attributes:
        accuracy: Balanced accuracy of the headline attack here, at a threshold fitted on the other half of all records.
        tpr: Its TPR where a share ``fpr`` of *these* non-members is flagged.
        tpr_at_common: Its TPR here, at the threshold where a share ``fpr`` of *all* non-members is flagged.
        fpr_at_common: Its FPR here at that threshold.
        gap: Accuracy of the target on members minus that on non-members; None for a regression.
        risks: One entry per risk.
    """

    accuracy: Estimate
    tpr: Estimate
    tpr_at_common: Estimate
    fpr_at_common: Estimate
    gap: Estimate | None
    risks: tuple[MeanRisk, ...]


@dataclass(frozen=True)
class TooSmall(RecordGroup):
    """A group, pair of groups or class that is not evaluated: it has too few members or too few non-members."""


@dataclass(frozen=True)
class GroupRisks:
    """Groups, pairs of groups and classes, in this order.

    Attributes:
        attack: The headline attack.
        fpr: False-positive rate of its rates.
        fewest: Minimum number of members, and of non-members (persons, if known), of a group.
        judged: Number of groups that are large enough.
        small: Groups that are too small.
    """

    attack: str
    fpr: float
    fewest: int
    judged: tuple[GroupRisk, ...]
    small: tuple[TooSmall, ...]


def find_group_risks(case: Case) -> GroupRisks | None:
    """Evaluate all groups, pairs of groups and classes with the default risks; return None without any."""
    parts = (*group_slices(case), *pair_slices(case), *class_slices(case))
    if parts:
        return of_slices(case, parts, risks_of(case))
    return None


def by_groups(case: Case, columns: Sequence[str], risks: Sequence[str] | None = None) -> GroupRisks:
    """Evaluate the groups of some columns, and their pairs.

    Args:
        risks: names from ``RISKS``; by default those that an audit has.
    """
    return of_slices(case, (*group_slices(case, columns), *pair_slices(case, columns)), requested_risks(case, risks))


def of_slices(case: Case, parts: Sequence[Slice], risks: Mapping[str, np.ndarray]) -> GroupRisks:
    """Evaluate every part of the evaluated records that is large enough.

    Args:
        case: The audit.
        parts: Parts of the evaluated records.
        risks: Name to (records,) risks.
    """
    name = case.of(headline.find).name
    large = [part for part in parts if part.enough]
    means = mean_risks(case, large, risks, {risk: RISKS[risk].bounds for risk in risks if risk in RISKS})
    scores = case.evaluated_scores[name]
    member = case.truth.member_evaluated
    flagged = flags_at_fpr(scores, member, FPR)  # 1.0 or 0.0; NaN without a score
    best = np.full(len(scores), np.nan)
    if not np.isnan(advantage(scores, member, CROSS_FIT, clusters=case.persons).value):  # a threshold can be fitted
        best = np.where(np.isnan(scores), np.nan, flag_members(scores, member, CROSS_FIT, clusters=case.persons))
    correct = signal_of(case.view, "correct")
    judged = []
    for part, mean in zip(large, means, strict=True):
        inside = part.mask
        persons = optional_take(case.persons, inside)
        # All non-members set the common threshold; of the members, only these are counted.
        common = inside | ~member
        nonmembers = inside & ~member & ~np.isnan(flagged)
        gap = None
        if correct is not None:
            gap = advantage(correct[case.truth.evaluated][inside], member[inside], 0.5, clusters=persons)
        judged.append(
            GroupRisk(
                kind=part.kind,
                values=part.values,
                members=part.members,
                nonmembers=part.nonmembers,
                accuracy=balanced_accuracy(best[inside], member[inside], 0.5, clusters=persons),
                tpr=tpr_at_fpr(scores[inside], member[inside], FPR, clusters=persons),
                tpr_at_common=tpr_at_fpr(
                    scores[common], member[common], FPR, clusters=optional_take(case.persons, common)
                ),
                fpr_at_common=clustered_proportion(
                    flagged[nonmembers] > 0, clusters=optional_take(case.persons, nonmembers)
                ),
                gap=gap,
                risks=mean,
            )
        )
    small = [TooSmall(part.kind, part.values, part.members, part.nonmembers) for part in parts if not part.enough]
    return GroupRisks(attack=name, fpr=FPR, fewest=FEWEST, judged=tuple(judged), small=tuple(small))


def mean_risks(
    case: Case,
    parts: Sequence[Slice],
    risks: Mapping[str, np.ndarray],
    bounds: Mapping[str, tuple[float, float] | None],
) -> tuple[tuple[MeanRisk, ...], ...]:
    """Compute the mean of each risk over the members of each part, with p-values corrected for each other.

    Args:
        case: The audit.
        parts: Parts of the evaluated records.
        risks: Name to (records,) risks.
        bounds: Name to the range of its values, if known.
    """
    evaluated = case.truth.evaluated
    member = case.truth.member_evaluated
    persons = optional_take(case.persons, member)
    masks = [part.mask[member] for part in parts]
    means = {
        name: group_means(values[evaluated][member], masks, bounds=bounds.get(name), clusters=persons)
        for name, values in risks.items()
    }
    p_values = np.array([[mean.p_value for mean in row] for row in means.values()]).reshape(len(risks), len(parts))
    kinds = np.array([part.kind for part in parts])
    # A group and its complement have the same key: comparing either with the other is one hypothesis.
    questions = np.array([min(mask.tobytes(), (~mask).tobytes()) for mask in masks], dtype=object)
    for kind in set(kinds):
        same_kind = np.flatnonzero(kinds == kind)
        _, first, inverse = np.unique(questions[same_kind], return_index=True, return_inverse=True)
        distinct = p_values[:, same_kind[first]]
        p_values[:, same_kind] = holm(distinct.ravel()).reshape(distinct.shape)[:, inverse]
    p_values = np.minimum(p_values * len(set(kinds)), 1.0)
    return tuple(
        tuple(
            MeanRisk(name, row[at].mean, row[at].beyond_rest, None if np.isnan(adjusted) else float(adjusted))
            for (name, row), adjusted in zip(means.items(), p_values[:, at], strict=True)
        )
        for at in range(len(parts))
    )


SPLITS = 8  # random halves of the members
PERMUTATIONS = 999


@dataclass(frozen=True)
class GapCorrelation:
    """Correlation of the generalisation gap with the mean of a risk, over classes.

    The intervals treat classes as a sample. ``p_value`` is corrected for the number of risks; None if the risk was not
    tested, because it is estimated from the same members and non-members as the gap, or has the same mean in all
    classes.
    """

    risk: str
    classes: int
    pearson: Estimate
    spearman: Estimate
    p_value: float | None = None

    @property
    def significant(self) -> bool:
        """Evidence of a correlation."""
        return self.p_value is not None and self.p_value <= SIGNIFICANCE_LEVEL


def find_class_gap(case: Case) -> tuple[GapCorrelation, ...] | None:
    """Correlate each risk with the gap; return None with fewer than four classes that are large enough."""
    parts = case.of(find_group_risks)
    if parts is None:
        return None
    classes = [part for part in parts.judged if part.kind == CLASS and part.gap is not None]
    if len(classes) < MIN_CORRELATION_SIZE:
        return None
    gap = np.array([part.gap.value for part in classes if part.gap is not None])
    p_values = _p_values(case)
    correlations = []
    for at, named in enumerate(classes[0].risks):
        mean = np.array([part.risks[at].mean.value for part in classes])
        known = ~np.isnan(mean)
        correlations.append(
            GapCorrelation(
                risk=named.risk,
                classes=int(known.sum()),
                pearson=pearson(mean[known], gap[known]),
                spearman=spearman(mean[known], gap[known]),
                p_value=p_values.get(named.risk),
            )
        )
    return tuple(correlations) or None


def _p_values(case: Case) -> dict[str, float]:
    """Return the corrected p-value of each risk that is tested."""
    masks = [part.mask for part in class_slices(case) if part.enough]
    correct = signal_of(case.view, "correct")
    assert correct is not None  # there are gaps
    evaluated = case.truth.evaluated
    member = case.truth.member_evaluated
    right = correct[evaluated]
    tested = member & np.any(masks, axis=0)
    number = np.zeros(len(member), dtype=int)
    for at, mask in enumerate(masks):
        number[mask] = at
    outside = np.array([right[mask & ~member].mean() for mask in masks])
    risks = {
        name: values[evaluated][tested] for name, values in risks_of(case).items() if not RISKS[name].fitted_on_target
    }
    units = np.arange(tested.sum())
    if case.persons is not None:
        units = np.unique(case.persons[tested], return_inverse=True)[1]
    rng = stream(case.setting.seed, "gap of classes")
    halves = [rng.permutation(units.max() + 1)[units] % 2 == 1 for _ in range(SPLITS)]
    p_values = {}
    for name, values in risks.items():
        p_value = permutation_p_value(_pairs(number[tested], right[tested], values, outside, halves), rng)
        if p_value is not None:
            p_values[name] = p_value
    return dict(zip(p_values, holm(np.array(list(p_values.values()))).tolist(), strict=True))


def _pairs(
    number: np.ndarray, right: np.ndarray, risk: np.ndarray, outside: np.ndarray, halves: Sequence[np.ndarray]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield (classes,) gaps of one half of the members, and mean risks of the other; NaN for a class without values.

    Args:
        number: (members,) number of their class.
        right: (members,) true where the target is correct.
        risk: (members,) risks.
        outside: (classes,) accuracy on non-members.
        halves: Masks (members,).
    """
    for half in (side for mask in halves for side in (mask, ~mask)):
        gap = means_by_label(number[half], right[half], len(outside)) - outside
        yield gap, means_by_label(number[~half], risk[~half], len(outside))


def permutation_p_value(
    pairs: Iterator[tuple[np.ndarray, np.ndarray]], rng: np.random.Generator, permutations: int = PERMUTATIONS
) -> float | None:
    """Return the two-sided p-value of the sum of correlations of pairs of vectors, with common permutations.

    The result is None if fewer than four classes have values in all pairs, or a vector is constant.
    """
    both = np.array(list(pairs))  # (pairs, 2, classes)
    both = both[:, :, ~np.isnan(both).any(axis=(0, 1))]
    classes = both.shape[2]
    if classes < MIN_CORRELATION_SIZE or any(is_constant(row) for row in both.reshape(-1, classes)):
        return None
    both = both - both.mean(axis=2, keepdims=True)
    both /= np.linalg.norm(both, axis=2, keepdims=True)
    orders = rng.permuted(np.tile(np.arange(classes), (permutations, 1)), axis=1)
    observed = float((both[:, 0] * both[:, 1]).sum())
    # (classes, classes): the term of each pair of one class's gap and another class's risk.
    drawn = (both[:, 0].T @ both[:, 1])[orders, np.arange(classes)].sum(axis=1)
    return float((1 + (np.abs(drawn) >= abs(observed) - 1e-12).sum()) / (1 + permutations))
