"""Compare audits of the same records."""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from scipy.stats import false_discovery_control

from guestlist._audit.comparison import (
    AuditMetrics,
    Comparison,
    Comparisons,
    Difference,
    MostExposed,
    RiskChanges,
    Side,
    check_pairs,
    side_of,
    with_common_persons,
)
from guestlist._case import Cover, common_cover
from guestlist._findings import Results
from guestlist._kernels import consecutive_codes, optional_take
from guestlist._util import close_matches, short_repr
from guestlist.errors import InputError
from guestlist.metrics import (
    WITHHELD,
    ClusterSums,
    Estimate,
    auc,
    auc_difference,
    calibration_error,
    clustered_proportion,
    conformal_p_values,
    error_of,
    newcombe_difference,
    tpr_at_fpr,
)
from guestlist.models import numpy_defaults
from guestlist.risks import RISKS, standardised_difference


def accuracy_of(side: Side, rows: np.ndarray) -> Estimate:
    """Return the accuracy on some of the records."""
    return clustered_proportion(side.values("correct")[rows] > 0, clusters=_clusters(side, rows))


def auc_of(side: Side, rows: np.ndarray) -> Estimate:
    """Return the AUC of the headline attack on some of the records."""
    return auc(side.scores[rows], side.member[rows], clusters=_clusters(side, rows))


def tpr_of(side: Side, rows: np.ndarray, fpr: float, confidence: float = 0.95) -> Estimate:
    """Return the TPR of the headline attack on some of the records."""
    return tpr_at_fpr(side.scores[rows], side.member[rows], fpr, clusters=_clusters(side, rows), confidence=confidence)


def calibration_of(side: Side, confidence: float = 0.95) -> Estimate:
    """Return the calibration error on non-members."""
    rows = ~side.member
    return calibration_error(
        side.values("confidence")[rows],
        side.values("correct")[rows] > 0,
        clusters=_clusters(side, rows),
        confidence=confidence,
    )


def mean_of_differences(values: np.ndarray, persons: np.ndarray | None, confidence: float = 0.95) -> Estimate:
    """Return the mean of values in [-1, 1], with bounds that also hold if most values are 0."""
    if not len(values):
        return WITHHELD
    error = error_of(confidence)
    sums = ClusterSums.from_values((values + 1) / 2, None if persons is None else consecutive_codes(persons))
    return Estimate(float(values.mean()), 2 * float(sums.lower(error / 2)) - 1, 2 * float(sums.upper(error / 2)) - 1)


def _clusters(side: Side, rows: np.ndarray) -> np.ndarray | None:
    return optional_take(side.persons, rows)


SHARE = 0.01
CHOSEN_BY = "risk_mu"


def most_exposed_in_either(first: Side, second: Side) -> np.ndarray | None:
    """Return (records,) true for the members that are most exposed in either audit; None if one has no mu."""
    if not all(side.has(CHOSEN_BY) for side in (first, second)):
        return None
    either = np.fmax(first.values(CHOSEN_BY), second.values(CHOSEN_BY))
    members = np.flatnonzero(first.member & ~np.isnan(either))
    # Among ties the first by id, because records are in that order.
    order = members[np.argsort(-either[members], kind="stable")]
    chosen = np.zeros(len(either), dtype=bool)
    chosen[order[: count_of(len(members))]] = True
    if chosen.any():
        return chosen
    return None


def count_of(members: int) -> int:
    """Return ``SHARE`` of the members, at least 1."""
    return min(members, max(1, round(SHARE * members)))


def seen_from(members: int, nonmembers: int, fpr: float, confidence: float) -> float | None:
    """Return the smallest detectable difference in TPR if the first attack flags all members; None: none is detectable.

    >>> seen_from(3, 1000, 0.05, 0.99), seen_from(20, 1000, 0.05, 0.99)
    (None, 0.35)
    """

    def flagged_tpr(flagged: int) -> Estimate:
        """Return the TPR of an attack that flags some members for certain and cannot distinguish the others."""
        scores = np.concatenate([np.arange(members) < flagged, np.linspace(0.0, 0.5, nonmembers)])
        return tpr_at_fpr(scores.astype(float), np.arange(len(scores)) < members, fpr, confidence=confidence)

    def detectable(remaining: int) -> bool:
        before, after = (flagged_tpr(flagged) for flagged in (members, remaining))
        return newcombe_difference(after, before).high < 0  # False where it is withheld

    # Binary search for the smallest number of members that stay flagged without a detectable difference.
    remaining = bisect_left(range(members), True, key=lambda flagged: not detectable(flagged))
    if remaining == 0:
        return None
    return (members - remaining + 1) / members


Q = 0.1
NEEDED = ("mu_estimate", "mu_error", "mu_halves")


def risk_changes(first: Side, second: Side) -> RiskChanges | None:
    """Return the members with a significant change of mu; None if an audit has no standard errors of mu."""
    if not all(side.has(*NEEDED) for side in (first, second)):
        return None
    far = standardised_difference(
        *(side.values(name) for side in (first, second) for name in ("mu_estimate", "mu_error"))
    )
    far = np.where(first.member, far, np.nan)
    halves = np.concatenate([side.values("mu_halves") for side in (first, second)])
    halves = halves[np.isfinite(halves)]
    chance = np.concatenate([halves, -halves])  # the order of the two halves is arbitrary
    ids = first.records.index.astype(str)
    return RiskChanges(
        q=Q,
        tested=int(np.isfinite(far).sum()),
        rose=tuple(ids[_significant_rows(far, chance)]),
        fell=tuple(ids[_significant_rows(-far, chance)]),
    )


def _significant_rows(far: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """Return the rows with a significant difference, the largest first."""
    tested = np.flatnonzero(np.isfinite(far))
    if not len(tested) or not len(chance):
        return np.array([], dtype=int)
    significant = tested[false_discovery_control(conformal_p_values(far[tested], chance)) <= Q]
    return significant[np.argsort(-far[significant], kind="stable")]


ERROR = 0.05
FPR = 0.05
# Quantiles of risks in a comparison, finer towards the most exposed members.
LEVELS = (0.01, 0.05, *(k / 10 for k in range(1, 10)), 0.95, 0.98, 0.99)


@numpy_defaults()
def compare(
    audits: Mapping[str, Results],
    *,
    fpr: float = FPR,
    pairs: Mapping[str, Sequence[str]] | None = None,
    about: Cover | None = None,
) -> Comparisons:
    """Compare every audit with the first, metric by metric.

    Each audit is evaluated by its own headline attack: an attacker who knows the defence chooses the attack that suits it.

    Args:
        audits: Name to results of audits of the same members and non-members, the model without a defence first.
        fpr: False positive rate at which TPRs are compared.
        pairs: Additional pairs to compare: the name of an audit to a list of baselines of the same accuracy, such as
            ``{"AdvReg": ["stopped early", "DP"]}``. By default none.
        about: Cover of the page, ``gl.Cover(title=…, …)``; empty entries are filled with those on which the covers of all audits
            agree.

    Returns:
        A :class:`Comparisons`: ``.audits`` and ``.table`` hold each audit's metrics, ``.pairs`` (and iteration) a
        ``Comparison`` of every audit with the first and of the pairs in ``pairs``, with differences, the most exposed members
        and changes of risk; ``.to_html(path)`` writes the page, ``.to_json(path)`` the numbers.

    Raises:
        InputError: If there are fewer than two audits, or they do not have the same records and members.

    Examples:
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> model, members, nonmembers = gl.testing.small_model()
        >>> pruned = DecisionTreeClassifier(max_depth=2, random_state=0).fit(*members)
        >>> audits = {
        ...     name: gl.audit(tree, members, nonmembers, references=4, attacks=["loss"], baseline=False, jobs=1)
        ...     for name, tree in {"deep": model, "pruned": pruned}.items()
        ... }
        >>> compared = gl.compare(audits)
        >>> auc = next(row for row in compared.pair("deep", "pruned").differences if row.metric == "auc")
        >>> bool(auc.difference.value < 0)  # the smaller tree leaks less
        True
    """
    if not isinstance(audits, Mapping) or not all(isinstance(results, Results) for results in audits.values()):
        raise InputError(
            "audits must be a dict from names to results. Pass audits={'plain': gl.read_results(folder), …}."
        )
    if len(audits) < 2:
        raise InputError(
            f"A comparison needs at least two audits; found {len(audits)}. Pass audits={{'plain': …, 'defended': …}}."
        )
    sides = {name: side_of(name, results) for name, results in audits.items()}
    first, *others = sides.values()
    for other in others:  # raises before anything is compared
        check_pairs(first, other)
    sides = with_common_persons(sides)
    first, *others = sides.values()
    if about is not None and not isinstance(about, Cover):
        raise InputError(f"about={short_repr(about)} is not a cover. Pass about=gl.Cover(title=…, owner=…).")
    cover = common_cover(results.cover for results in audits.values())
    if about is not None:
        cover = about.over(cover)
    compared = [(first, other) for other in others]
    compared += [pair for pair in _extra_pairs(sides, pairs or {}) if pair not in compared]
    return Comparisons(
        fpr=fpr,
        audits=tuple(_audited(side, fpr) for side in sides.values()),
        pairs=tuple(_compared(*pair, fpr) for pair in compared),
        cover=cover,
    )


def short_names(paths: Sequence[str]) -> list[str]:
    """Return short names for folders: the last part of each path, or the full paths if two are equal."""
    last = [path.rstrip("/").rsplit("/", 1)[-1] for path in paths]
    if len(set(last)) == len(last):
        return last
    return list(paths)


def _extra_pairs(sides: Mapping[str, Side], pairs: Mapping[str, Sequence[str]]) -> list[tuple[Side, Side]]:
    """Return the additional pairs: the named audit is the second of each pair."""
    for name, others in pairs.items():
        if isinstance(others, str):
            raise InputError(f"pairs must map each name to a list of names. Pass pairs={{{name!r}: [{others!r}]}}.")
        unknown = [audit for audit in (name, *others) if audit not in sides]
        if unknown:
            raise InputError(
                f"There is no audit {unknown[0]!r} to compare. Available names: {close_matches(unknown[0], sides)}."
            )
        if name in others:
            raise InputError(
                f"The audit {name!r} cannot be compared with itself. Remove it from its own list in pairs=."
            )
    return [(sides[other], sides[name]) for name, others in pairs.items() for other in others]


def _audited(side: Side, fpr: float) -> AuditMetrics:
    everyone = np.ones(len(side.member), dtype=bool)
    accuracy = accuracy_members = calibration = None
    if side.has("correct"):
        accuracy = accuracy_of(side, ~side.member)
        accuracy_members = accuracy_of(side, side.member)
    if side.has("correct", "confidence"):
        calibration = calibration_of(side)
    return AuditMetrics(
        name=side.name,
        attack=side.attack,
        accuracy=accuracy,
        accuracy_members=accuracy_members,
        auc=auc_of(side, everyone),
        tpr=tpr_of(side, everyone, fpr),
        calibration_error=calibration,
        risks={name: _quantiles(side, name) for name in RISKS if side.has(f"risk_{name}")},
        training=side.results.training,
    )


def _quantiles(side: Side, risk: str) -> tuple[float, ...]:
    values = side.values(f"risk_{risk}")
    known = values[side.member & ~np.isnan(values)]
    if not len(known):
        return ()
    # Quantiles are values of records: interpolation between infinite values is undefined.
    return tuple(map(float, np.quantile(known, LEVELS, method="closest_observation")))


def _compared(first: Side, second: Side, fpr: float) -> Comparison:
    """Compare every metric that both audits have."""
    sides = (first, second)
    member = first.member
    has_accuracy = all(side.has("correct") for side in sides)
    has_calibration = all(side.has("correct", "confidence") for side in sides)
    populations = {"": np.ones(len(member), dtype=bool)}
    chosen = most_exposed_in_either(first, second)
    if chosen is not None:
        populations["exposed_"] = chosen | ~member
    # Bonferroni correction for all metrics: two accuracies, the AUC and the TPR of each population, and the calibration.
    confidence = 1 - ERROR / (2 * has_accuracy + 2 * len(populations) + has_calibration)
    differences = []

    def add(metric: str, scope: str, estimate: Callable[[Side], Estimate], difference: Estimate) -> None:
        differences.append(
            Difference(
                metric=metric, scope=scope, first=estimate(first), second=estimate(second), difference=difference
            )
        )

    for scope, rows in {"non-members": ~member, "members": member}.items() if has_accuracy else ():
        gaps = second.values("correct")[rows] - first.values("correct")[rows]
        mean = mean_of_differences(gaps, _clusters(first, rows), confidence)
        add("accuracy", scope, partial(accuracy_of, rows=rows), mean)
    attacks = " and ".join(dict.fromkeys(side.attack for side in sides))
    for prefix, rows in populations.items():
        gap = auc_difference(
            second.scores[rows],
            first.scores[rows],
            member[rows],
            clusters=_clusters(first, rows),
            confidence=confidence,
        )
        add(f"{prefix}auc", attacks, partial(auc_of, rows=rows), gap)
        # Each audit has its own estimated threshold. The interval is conservative: it ignores the correlation of pairs.
        gap = newcombe_difference(*(tpr_of(side, rows, fpr, confidence) for side in (second, first)))
        add(f"{prefix}tpr", attacks, partial(tpr_of, rows=rows, fpr=fpr), gap)
    if has_calibration:
        gap = newcombe_difference(*(calibration_of(side, confidence) for side in (second, first)))
        add("calibration_error", "non-members", calibration_of, gap)
    outside = int((~member).sum())
    most_exposed = None
    if chosen is not None:
        exposed = int(chosen.sum())
        most_exposed = MostExposed(SHARE, exposed, seen_from(exposed, outside, fpr, confidence))
    return Comparison(
        first=first.name,
        second=second.name,
        members=int(member.sum()),
        nonmembers=outside,
        fpr=fpr,
        differences=tuple(differences),
        most_exposed=most_exposed,
        risk_changes=risk_changes(first, second),
    )
