"""Metrics pooled over several targets, as estimates for a fresh target and fresh records.

The targets of an audit share their records, and the scores of one target share its training. Pooled pairs of
(target, record) are therefore far from independent: an interval that assumes independence is much too narrow. Here
the variance has two parts, one from drawing other records (or persons with several of them) and one from drawing other
targets. Targets are few, so the quantile is Student's with targets - 1 degrees of freedom.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from guestlist.metrics.intervals import (
    ROUNDING,
    WITHHELD,
    Estimate,
    clopper_pearson_lower,
    clopper_pearson_upper,
    error_of,
    logit_interval,
)
from guestlist.metrics.low_fpr import Resolution, resolution
from guestlist.metrics.ranking import placements, unanimous_bound

CELLS_AT_ONCE = 2**21  # bounds the memory of the bootstrap to some tens of megabytes


def pooled_auc(
    scores: np.ndarray, member: np.ndarray, *, clusters: np.ndarray | None = None, confidence: float = 0.95
) -> Estimate:
    """Estimate the AUC of a new target on new records by the mean AUC over targets.

    Members are compared with non-members of the same target only. The variance due to records comes from DeLong's
    components, summed over targets and over the records of a person (Obuchowski 1997); a bootstrap over records converges to
    it. The variance due to targets is that of their AUCs. Both contain the noise of single pairs, which is counted once.

    Args:
        scores: (targets, records) Higher means likelier member; NaN is ignored.
        member: (targets, records) True for members.
        clusters: (records,) Person of each record; by default every record is independent.
        confidence: Nominal coverage of the interval.

    Returns:
        The mean and its interval. Targets without scored members or non-members are omitted; the estimate is withheld if
        fewer than two remain.

    Examples:
        >>> simulation = gl.testing.gaussian_simulation(1.0, records=200, models=5)
        >>> pooled = gl.metrics.pooled_auc(simulation.values["margin"], simulation.member)
        >>> bool(0.5 < pooled.low < pooled.value < 0.9)
        True
    """
    pairs = _checked(scores, member, clusters)
    error = error_of(confidence)
    if pairs.targets < 2:
        return WITHHELD
    aucs, influence = _auc_and_influence(pairs)
    of_records = np.square(influence.mean(axis=0)).sum() * pairs.n_clusters / max(pairs.n_clusters - 1, 1)
    of_targets = aucs.var(ddof=1) / pairs.targets
    noise = influence.var(axis=0, ddof=1).sum() / pairs.targets  # variance of single pairs, part of both variances
    variance = max(of_records + of_targets - noise, of_records, of_targets)
    return _auc_interval(float(aucs.mean()), variance, pairs, error)


def pooled_tpr_at_fpr(
    scores: np.ndarray,
    member: np.ndarray,
    fpr: float,
    *,
    clusters: np.ndarray | None = None,
    draws: int = 400,
    seed: int = 0,
    confidence: float = 0.95,
) -> Estimate:
    """Estimate the TPR at ``fpr`` of a new target on new records, with one threshold for all targets.

    The parameter is P(score > q) for a member, where q is the (1 - fpr)-quantile of non-members' scores, both
    over new targets and records. The variance is that of a bootstrap over records (or persons), which moves
    threshold and members together, plus that of a jackknife over targets, minus the part in both: that of a
    bootstrap in which each target draws its records separately. It sets the sample size at which
    Clopper-Pearson limits are taken (Korn & Graubard 1998), which keeps coverage for shares near 0 and 1.

    Args:
        scores: (targets, records) Higher means likelier member; NaN is ignored.
        member: (targets, records) True for members.
        fpr: False positive rate, in [0, 1].
        clusters: (records,) Person of each record; by default every record is independent.
        draws: Number of bootstrap draws.
        seed: Random seed of the bootstrap.
        confidence: Nominal coverage of the interval.

    Returns:
        The share and its interval; withheld if ``fpr`` times the number of non-member pairs is below 1.

    Examples:
        >>> simulation = gl.testing.gaussian_simulation(1.0, records=200, models=5)
        >>> pooled = gl.metrics.pooled_tpr_at_fpr(simulation.values["margin"], simulation.member, 0.05)
        >>> bool(0.05 < pooled.value < 0.5)
        True
    """
    pairs = _checked(scores, member, clusters)
    error = error_of(confidence)
    tails = _Tails.from_pairs(pairs, fpr)
    few = resolution(fpr, len(tails.nonmember_label)) is Resolution.WITHHELD
    if pairs.targets < 2 or few or len(tails.member_label) == 0:
        return WITHHELD
    value = tails.tpr(np.ones((1, pairs.n_clusters)), by_target=False)[0]
    rng = np.random.default_rng(seed)
    of_targets = _jackknife_variance(tails, pairs.targets)
    of_records = _bootstrap_variance(tails, pairs.n_clusters, draws, rng)
    noise = _bootstrap_variance(tails.unlinked(pairs, rng), pairs.n_clusters, draws, rng)
    variance = max(of_records + of_targets - noise, of_records, of_targets)
    return _share_interval(value, variance, pairs, error)


@dataclass(frozen=True)
class _Pairs:
    """Checked input; rows are the targets that have both members and non-members."""

    scores: np.ndarray
    member: np.ndarray
    label: np.ndarray  # (records,) number of each record's person
    n_clusters: int

    @property
    def targets(self) -> int:
        return len(self.scores)

    @property
    def scored(self) -> np.ndarray:
        return ~np.isnan(self.scores)

    def quantile(self, error: float) -> float:
        """Return Student's quantile for the smaller of the numbers of targets and persons."""
        return special.stdtrit(max(min(self.targets, self.n_clusters) - 1, 1), 1 - error / 2)


def _checked(scores: np.ndarray, member: np.ndarray, clusters: np.ndarray | None) -> _Pairs:
    scores = np.asarray(scores, dtype=np.float64)
    member = np.asarray(member, dtype=bool)
    if scores.ndim != 2 or scores.shape != member.shape:
        raise ValueError(
            f"Expected scores and member both shaped (targets, records), found {scores.shape} and {member.shape}."
        )
    if len(scores) < 2:
        raise ValueError("Pooling needs at least 2 targets. For one target use auc and tpr_at_fpr.")
    clusters = np.arange(scores.shape[1]) if clusters is None else np.asarray(clusters)
    if clusters.shape != scores.shape[1:]:
        raise ValueError(f"Expected clusters ({scores.shape[1]},), one per record, found {clusters.shape}.")
    labels, label = np.unique(clusters, return_inverse=True)
    scored = ~np.isnan(scores)
    usable = (member & scored).any(axis=1) & (~member & scored).any(axis=1)
    return _Pairs(scores[usable], member[usable], label, len(labels))


def _auc_and_influence(pairs: _Pairs) -> tuple[np.ndarray, np.ndarray]:
    """Return (targets,) AUCs, and (targets, persons) influence of each person's records on each AUC."""
    aucs = np.empty(pairs.targets)
    influence = np.zeros((pairs.targets, pairs.n_clusters))
    for k, scored in enumerate(pairs.scored):
        placed = placements(pairs.scores[k, scored], pairs.member[k, scored])
        aucs[k] = placed.auc
        for kind, components in ((True, placed.member), (False, placed.nonmember)):
            label = pairs.label[scored & (pairs.member[k] == kind)]
            influence[k] += np.bincount(label, (components - placed.auc) / len(components), pairs.n_clusters)
    return aucs, influence


def _auc_interval(value: float, variance: float, pairs: _Pairs, error: float) -> Estimate:
    if variance > 0 and 0 < value < 1:
        return logit_interval(value, np.sqrt(variance), pairs.quantile(error))
    # The sample variance is 0: all targets agree. One pair of records from each target, all different, are independent
    # trials.
    bound = unanimous_bound(pairs.targets, error / 2)
    if value in (0.0, 1.0):
        return Estimate(value, bound if value else 0.0, 1.0 if value else 1 - bound)
    return Estimate(value, bound / 2, 1 - bound / 2)


@dataclass(frozen=True)
class _Tails:
    """All pairs sorted from the highest score down, with the person and the target that each belongs to."""

    fpr: float
    nonmember_label: np.ndarray
    nonmember_target: np.ndarray
    member_label: np.ndarray
    member_target: np.ndarray
    members_above: np.ndarray  # (non-member pairs,) member pairs strictly above each

    @classmethod
    def from_pairs(cls, pairs: _Pairs, fpr: float) -> "_Tails":
        def downwards(kind: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            target, record = np.nonzero(kind)
            order = np.argsort(-pairs.scores[kind], kind="stable")
            return pairs.label[record[order]], target[order], -pairs.scores[kind][order]

        nonmember_label, nonmember_target, below = downwards(pairs.scored & ~pairs.member)
        member_label, member_target, above = downwards(pairs.scored & pairs.member)
        members_above = np.searchsorted(above, below, "left")
        return cls(fpr, nonmember_label, nonmember_target, member_label, member_target, members_above)

    def unlinked(self, pairs: _Pairs, rng: np.random.Generator) -> "_Tails":
        """Return the same pairs with different person codes in each target, so that no two targets share records."""
        names = rng.permuted(np.tile(np.arange(pairs.n_clusters), (pairs.targets, 1)), axis=1)
        return replace(
            self,
            nonmember_label=names[self.nonmember_target, self.nonmember_label],
            member_label=names[self.member_target, self.member_label],
        )

    def tpr(self, weights: np.ndarray, *, by_target: bool) -> np.ndarray:
        """Return (draws,) the TPR if persons, or targets, have ``weights`` (draws, persons or targets)."""
        if by_target:
            nonmember = self.nonmember_target
            member = self.member_target
        else:
            nonmember = self.nonmember_label
            member = self.member_label
        labels = weights.shape[1]
        allowed = self.fpr * (weights @ np.bincount(nonmember, minlength=labels)) + ROUNDING
        # The highest scores determine a low FPR: read all pairs only if a draw needs them.
        head = min(len(nonmember), math.ceil(3 * self.fpr * len(nonmember)) + 100)
        false_positives = np.cumsum(weights[:, nonmember[:head]], axis=1)
        if (false_positives[:, -1] <= allowed).any():
            false_positives = np.cumsum(weights[:, nonmember], axis=1)
        # The threshold is the first non-member beyond the allowed number; its ties are not above it.
        threshold = (false_positives <= allowed[:, None]).sum(axis=1)
        above = np.append(self.members_above, len(member))[threshold]
        true_positives = np.cumsum(weights[:, member[: above.max()]], axis=1)
        true_positives = np.hstack([np.zeros((len(weights), 1)), true_positives])
        with np.errstate(invalid="ignore"):  # 0 / 0 is NaN: a draw without members
            total = weights @ np.bincount(member, minlength=labels)
            return true_positives[np.arange(len(weights)), above] / total


def _bootstrap_variance(tails: _Tails, clusters: int, draws: int, rng: np.random.Generator) -> float:
    step = max(1, CELLS_AT_ONCE // (len(tails.member_label) + len(tails.nonmember_label)))
    values = []
    for start in range(0, draws, step):
        size = min(step, draws - start)
        drawn = rng.integers(clusters, size=(size, clusters)) + clusters * np.arange(size)[:, None]
        weights = np.bincount(drawn.ravel(), minlength=size * clusters).reshape(size, clusters)
        values.append(tails.tpr(weights, by_target=False))
    return float(np.nanvar(np.concatenate(values), ddof=1)) * clusters / max(clusters - 1, 1)


def _jackknife_variance(tails: _Tails, targets: int) -> float:
    values = tails.tpr(1.0 - np.eye(targets), by_target=True)
    return float(values.var() * (targets - 1))


def _share_interval(value: float, variance: float, pairs: _Pairs, error: float) -> Estimate:
    records = (pairs.member & pairs.scored).any(axis=0)
    size = float(np.unique(pairs.label[records]).size)  # sample size for a share of 0 or 1: distinct persons
    if variance > 0 and 0 < value < 1:
        size = min(value * (1 - value) / variance, float((pairs.member & pairs.scored).sum()))
    size *= (special.ndtri(1 - error / 2) / pairs.quantile(error)) ** 2
    low = clopper_pearson_lower(value * size, size, error / 2)
    high = clopper_pearson_upper(value * size, size, error / 2)
    return Estimate(float(value), float(low), float(high))
