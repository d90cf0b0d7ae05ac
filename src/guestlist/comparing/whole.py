"""Audits of the same records: did the other models give away less, and what did it cost?

Members and non-members are the same people in all, so figures are compared pair by pair. All intervals of one comparison hold
together. They are about these models: another training of either recipe would give other figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from guestlist.calling import numpy_defaults
from guestlist.comparing.comparison import AuditMetrics, Comparison, Comparisons
from guestlist.comparing.figures import accuracy_of, auc_of, calibration_of, paired_metrics, tpr_of
from guestlist.comparing.most_exposed import exposed_summary, most_exposed_in_either
from guestlist.comparing.moved import risk_changes
from guestlist.comparing.pairing import Side, check_pairs, side_of
from guestlist.cover import Cover, common_cover, notes_with_cover
from guestlist.errors import InputError
from guestlist.findings.results import Results
from guestlist.risks import RISKS

ERROR = 0.05
FPR = 0.05
# At which quantiles of risks are told: finer towards the most exposed.
LEVELS = (0.01, 0.05, *(k / 10 for k in range(1, 10)), 0.95, 0.98, 0.99)


@numpy_defaults()
def compare(
    audits: Mapping[str, Results],
    *,
    fpr: float = FPR,
    beside: Mapping[str, Sequence[str]] | None = None,
    cover: Cover | None = None,
) -> Comparisons:
    """Every audit beside the first, figure by figure.

    Each is judged by its own headline attack: an attacker who knows the defence takes the attack that suits it.

    Args:
        audits: name to results of audits of the same members and non-members, the model without a defence first.
        fpr: at which members found are compared.
        beside: name of an audit to those that it is held against as well, such as ``{"AdvReg": ["stopped early", "DP"]}``:
            baselines of the same accuracy.
        cover: what stands on the cover of its page; where it says nothing, what the covers of all audits agree on.

    Returns:
        A :class:`Comparisons`: ``.audits`` and ``.table`` hold each audit's own figures, ``.pairs`` (and iteration) a
        ``Comparison`` of every audit with the first and of those beside each other, with differences, the most exposed members
        and those whose risk rose; ``.to_html(path)`` writes the page, ``.to_json(path)`` the figures.
    """
    if not isinstance(audits, Mapping) or not all(isinstance(results, Results) for results in audits.values()):
        raise InputError("Expected audits={name: results, …}; gl.read_results(folder) reads those of a folder.")
    if len(audits) < 2:
        raise InputError(f"A comparison takes two audits or more, found {len(audits)}.")
    sides = {name: side_of(name, results) for name, results in audits.items()}
    first, *others = sides.values()
    for other in others:  # all are paired, or all is refused
        check_pairs(first, other)
    notes_with_cover(None, cover)  # refuses what is none
    common = common_cover(results.cover for results in audits.values())
    pairs = [(first, other) for other in others]
    pairs += [pair for pair in _extra_pairs(sides, beside or {}) if pair not in pairs]
    return Comparisons(
        fpr=fpr,
        audits=tuple(_audited(side, fpr) for side in sides.values()),
        pairs=tuple(_compared(*pair, fpr) for pair in pairs),
        cover=common if cover is None else cover.over(common),
    )


def short_names(paths: Sequence[str]) -> list[str]:
    """Short names for folders: the last part of each, or the whole where two end alike."""
    last = [path.rstrip("/").rsplit("/", 1)[-1] for path in paths]
    return last if len(set(last)) == len(last) else list(paths)


def _extra_pairs(sides: Mapping[str, Side], beside: Mapping[str, Sequence[str]]) -> list[tuple[Side, Side]]:
    """Each named audit as the second of a pair, with those that it is held against as the first."""
    for name, others in beside.items():
        if isinstance(others, str):
            raise InputError(f"Expected beside={{{name!r}: [{others!r}]}}, a list of names, found text.")
        unknown = [audit for audit in (name, *others) if audit not in sides]
        if unknown:
            raise InputError(f"There is no audit {unknown[0]!r} to compare; these are there: {', '.join(sides)}.")
        if name in others:
            raise InputError(f"The audit {name!r} cannot be compared with itself.")
    return [(sides[other], sides[name]) for name, others in beside.items() for other in others]


def _audited(side: Side, fpr: float) -> AuditMetrics:
    everyone = np.ones(len(side.member), dtype=bool)
    right = side.has("correct")
    return AuditMetrics(
        name=side.name,
        attack=side.attack,
        accuracy=accuracy_of(side, "non-members") if right else None,
        accuracy_members=accuracy_of(side, "members") if right else None,
        auc=auc_of(side, everyone),
        tpr=tpr_of(side, everyone, fpr),
        calibration_error=calibration_of(side) if right and side.has("confidence") else None,
        risks={name: _quantiles(side, name) for name in RISKS if side.has(f"risk_{name}")},
        training=side.results.training,
    )


def _quantiles(side: Side, risk: str) -> tuple[float, ...]:
    values = side.values(f"risk_{risk}")[side.member]
    known = values[~np.isnan(values)]
    # Quantiles that some record has: between infinite values there is nothing to interpolate.
    return tuple(map(float, np.quantile(known, LEVELS, method="closest_observation"))) if len(known) else ()


def _compared(first: Side, second: Side, fpr: float) -> Comparison:
    chosen = most_exposed_in_either(first, second)
    outside = int((~first.member).sum())
    metrics = paired_metrics(first, second, fpr, chosen)
    confidence = 1 - ERROR / len(metrics)  # one interval for each figure
    return Comparison(
        first=first.name,
        second=second.name,
        members=int(first.member.sum()),
        nonmembers=outside,
        fpr=fpr,
        differences=tuple(metric(confidence) for metric in metrics),
        most_exposed=None if chosen is None else exposed_summary(chosen, outside, fpr, confidence),
        risk_changes=risk_changes(first, second),
    )
