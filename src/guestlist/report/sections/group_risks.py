"""Risks and the headline attack by group, pair of groups and class, and their relation to the generalisation gap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

from guestlist.evaluate import Estimate
from guestlist.findings.class_gap import GapCorrelation
from guestlist.findings.group_risks import GroupRisk, GroupRisks, MeanRisk, TooSmall
from guestlist.findings.results import Results
from guestlist.findings.slices import CLASS, GROUP, PAIR
from guestlist.report import words
from guestlist.report.format import compact, count, percent, with_interval
from guestlist.report.section import Section, fill_template

KINDS = {GROUP: "group", PAIR: "pair of groups", CLASS: "class"}
SEVERAL = {GROUP: "groups", PAIR: "pairs of groups", CLASS: "classes"}
ANOTHER = (
    "How well the headline attack does within a group is another question, answered under Groups: a group may differ from the "
    "rest in one and not in the other."
)
MAX_NAMED = 20  # small ones that are named
MAX_NAMED_PAIRS = (
    6  # parts that are told to differ, the clearest first, and small pairs that are named: the tables have all
)


def section(results: Results) -> Section | None:
    """Render risks by group and class; None where there are none."""
    found = results.group_risks
    if found is None:
        return None
    body = fill_template(
        "group_risks.html",
        found=found,
        said=[
            *group_differences(found),
            *([ANOTHER] if results.groups else ()),
            # Small groups are named where groups are.
            *(
                too_small_sentence(found, kind)
                for kind in (PAIR, CLASS)
                if any(one.kind == kind for one in found.small)
            ),
        ],
        # A risk that ranks within classes has one mean in all of them, and there is nothing to say about it.
        gaps=[gap_sentence(one) for one in results.class_gap or () if not math.isnan(one.pearson.value)],
        rate=percent(found.fpr),
        tables=[("groups", "Groups", _of_kinds(found, GROUP, PAIR)), ("classes", "Classes", _of_kinds(found, CLASS))],
        name=slice_name,
    )
    return Section("group_risks", "Risk by group and class", body)


def slice_name(part: GroupRisk | TooSmall) -> str:
    """Return a group as text: ``sex = f and race = b``."""
    return " and ".join(f"{column} = {value}" for column, value in part.values.items())


def group_differences(found: GroupRisks) -> list[str]:
    """For each type, name the groups whose mean risk differs from that of the other members."""
    said = []
    for kind, parts in groupby(found.judged, key=lambda part: part.kind):
        some = list(parts)
        if not any(one.risks for one in some):
            continue
        apart = [(part, _clearest(part)) for part in some if any(one.differs for one in part.risks)]
        apart.sort(key=lambda both: (both[1].p_value, -abs(both[1].beyond_rest.value)))
        looked = (
            f"Of {words.counted(len(some), KINDS[kind])}" if kind == GROUP else f"Of {count(len(some))} {SEVERAL[kind]}"
        )
        if not apart:
            said.append(f"{looked}, none is shown to differ from the rest in the mean of a risk over its members.")
            continue
        told = "; ".join(_difference(part, one) for part, one in apart[:MAX_NAMED_PAIRS])
        more = (
            f"; and {count(len(apart) - MAX_NAMED_PAIRS)} more, in the tables" if len(apart) > MAX_NAMED_PAIRS else ""
        )
        said.append(f"{looked}, these differ from the rest in the mean of a risk over their members: {told}{more}.")
    return said


def too_small_sentence(found: GroupRisks, kind: str) -> str:
    """Name the groups of a type that are too small to be evaluated, with their sizes."""
    small = [one for one in found.small if one.kind == kind]
    most = MAX_NAMED_PAIRS if kind == PAIR else MAX_NAMED
    named = "; ".join(_named(list(alike)) for _, alike in groupby(small[:most], key=lambda one: tuple(one.values)))
    more = f"; and {count(len(small) - most)} more, in results.json" if len(small) > most else ""
    return (
        f"Too small to judge, with fewer than {count(found.fewest)} members or {count(found.fewest)} non-members, are "
        f"{count(len(small))} {KINDS[kind] if len(small) == 1 else SEVERAL[kind]} (members and non-members in brackets): "
        f"{named}{more}."
    )


def _named(small: list[TooSmall]) -> str:
    """Name groups of the same columns with their sizes; a single column is named once."""
    if len(small[0].values) > 1:
        return "; ".join(f"{slice_name(one)} {_numbers(one)}" for one in small)
    (column,) = small[0].values
    return f"{column} = " + ", ".join(f"{one.values[column]} {_numbers(one)}" for one in small)


def _numbers(one: TooSmall) -> str:
    return f"({count(one.members)} and {count(one.nonmembers)})"


def gap_sentence(found: GapCorrelation) -> str:
    """Report whether the mean of a risk varies with the generalisation gap over classes."""
    start = f"Over {count(found.classes)} classes, "
    gap = "the generalisation gap (accuracy on members minus that on non-members)"
    figures = f"r = {with_interval(found.pearson)}, Spearman {with_interval(found.spearman)}"
    if found.p_value is None:
        return (
            f"{start}{found.risk} is not tested against {gap}, because both are estimated from the same members and "
            f"non-members: {figures}."
        )
    figures += f", corrected p = {compact(found.p_value)}"
    if not found.significant:
        return f"{start}there is no evidence that the mean of {found.risk} varies with {gap}: {figures}."
    how = "rises" if found.pearson.value > 0 else "falls"
    return f"{start}the mean of {found.risk} {how} with {gap}: {figures}."


def _difference(part: GroupRisk, found: MeanRisk) -> str:
    gap = found.beyond_rest
    if gap.value < 0:  # less by 0.03, and not by -0.03
        gap = Estimate(-gap.value, -gap.high, -gap.low)
    more = "more" if found.beyond_rest.value > 0 else "less"
    others = sum(one.differs for one in part.risks) - 1
    too = f", and {count(others)} other risk{'s' if others > 1 else ''}" if others else ""
    return f"{slice_name(part)}, {more} {found.risk}, by {with_interval(gap)}, corrected p = {compact(found.p_value or 0.0)}{too}"


def _clearest(part: GroupRisk) -> MeanRisk:
    """Return the difference with the smallest p-value."""
    return min((one for one in part.risks if one.differs), key=lambda one: (one.p_value, -abs(one.beyond_rest.value)))


def _of_kinds(found: GroupRisks, *kinds: str) -> Sequence[GroupRisk]:
    """Return groups by type, within each the most exposed first.

    They are sorted by the lower end of the TPR, since a large TPR of a small group may be due to chance.
    """
    chosen = [one for one in found.judged if one.kind in kinds]
    return sorted(chosen, key=lambda one: (kinds.index(one.kind), math.isnan(one.tpr.low), -one.tpr.low))
