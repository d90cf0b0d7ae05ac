"""Sections on groups: attack metrics and risks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from guestlist._findings.groups import (
    CLASS,
    GROUP,
    PAIR,
    GapCorrelation,
    GroupResult,
    GroupRisk,
    GroupRisks,
    MeanRisk,
    TooSmall,
)
from guestlist._findings.results import Results
from guestlist._report import wording
from guestlist._report.templates import Section, fill_template
from guestlist._util import compact, count, percent, with_interval
from guestlist.metrics import Estimate


def groups_section(results: Results) -> Section | None:
    """Render the tables of groups; None where there are none."""
    small = small_groups_sentence(results)
    if not results.groups and not small:
        return None
    body = fill_template(
        "groups.html",
        tables=_tables(results),
        name=group_name,
        small=small,
    )
    return Section("groups", "Groups", body)


def _tables(results: Results) -> list[GroupTable]:
    """Return a table of groups for each headline row; only the first has TPRs."""
    headline_rows = {
        wording.QUERIER: (results.groups or (), True),
        wording.FILE_HOLDER: (results.file_holder_groups or (), False),
    }
    tables = []
    for title, (groups, with_rate) in headline_rows.items():
        rate = ""
        if results.group_risks and with_rate:
            rate = percent(results.group_risks.fpr)
        rows = [(group, _tpr(results, group) if with_rate else None) for group in sorted(groups, key=_exposure)]
        if rows:
            tables.append(GroupTable(title, rows, rate))
    if len(tables) == 1:
        return [replace(tables[0], title="")]
    return tables


@dataclass(frozen=True)
class GroupTable:
    """The groups of one headline row, each with its TPR where there is one."""

    title: str
    rows: list[tuple[GroupResult, Estimate | None]]
    rate: str


def small_groups_sentence(results: Results) -> str:
    """Name the groups that are too small to be evaluated; empty where there are none or an older version did not list them."""
    group_risks = results.group_risks
    if group_risks is None or not any(group.kind == GROUP for group in group_risks.small):
        return ""
    return too_small_sentence(group_risks, GROUP)


def small_groups_note(results: Results) -> str:
    """Report the number of groups that are too small to be evaluated."""
    if results.group_risks is None:
        return ""
    small = [group for group in results.group_risks.small if group.kind == GROUP]
    if not small:
        return ""
    others = wording.only_if(results.groups, "more ")
    are = wording.plural(len(small), "group is", "groups are")
    return f"{count(len(small))} {others}{are} too small to judge, and named under Groups."


def _exposure(group: GroupResult) -> tuple[bool, float]:
    """Sort key: the lower end of the AUC, since a large AUC of a small group may be due to chance; NaN is last."""
    return math.isnan(group.auc.low), -group.auc.low


def _tpr(results: Results, group: GroupResult) -> Estimate | None:
    if results.group_risks:
        judged = results.group_risks.judged
    else:
        judged = ()
    return next(
        (other.tpr for other in judged if other.kind == GROUP and other.values == {group.group: group.value}), None
    )


def exposed_group_sentence(results: Results) -> str | None:
    """Name the group that is most exposed to the headline attack; None without groups."""
    return _most_exposed(results.groups or (), "the headline attack")


def file_holder_group_sentence(results: Results) -> str | None:
    """Name the group that is most exposed to someone who holds the model file; None without such a row."""
    if results.file_holder is None:
        return None
    sentence = _most_exposed(results.file_holder_groups or (), results.file_holder.name)
    return sentence and f"{wording.FILE_HOLDER}: {sentence}"


def _most_exposed(groups: Sequence[GroupResult], attack: str) -> str | None:
    known = [group for group in groups if not math.isnan(group.auc.value)]
    if not known:
        return None
    exposed = [group for group in known if group.exposed]
    if not exposed:
        none = wording.plural(len(known), "The one group is not", f"None of {count(len(known))} groups is")
        unseen = "small groups have wide intervals, in which a leak can go unseen"
        return f"{none} shown to be exposed by itself; {unseen}."
    top = min(exposed, key=_exposure)
    start = wording.plural(len(known), "The one group", f"Of {count(len(known))} groups, the most clearly exposed")
    metrics = f"AUC {with_interval(top.auc)}, over {wording.counted(top.members, 'member')}"
    return f"{start} is {group_name(top)}: there {attack} has {metrics}. {_compared_with_others(top)}".strip()


def group_name(group: GroupResult) -> str:
    """Return a group as text: ``age = 18-25``."""
    return f"{group.group} = {group.value}"


def _compared_with_others(group: GroupResult) -> str:
    difference = group.beyond_rest
    if difference is None or math.isnan(difference.value):
        return ""
    if group.more_exposed:
        return f"This AUC is above that among the other records, by {with_interval(difference)}."
    return "This AUC is not shown to be above that among the other records."


KIND_NAMES = {GROUP: "group", PAIR: "pair of groups", CLASS: "class"}
KIND_PLURALS = {GROUP: "groups", PAIR: "pairs of groups", CLASS: "classes"}
OTHER_QUESTION = (
    "How well the headline attack does within a group is another question, answered under Groups: a group may differ from the "
    "rest in one and not in the other."
)
MAX_NAMED = 20  # small groups that are named
MAX_NAMED_PAIRS = 6  # differing groups and small pairs that are named; the tables have all


def group_risks_section(results: Results) -> Section | None:
    """Render risks by group and class; None where there are none."""
    group_risks = results.group_risks
    if group_risks is None:
        return None
    body = fill_template(
        "group_risks.html",
        group_risks=group_risks,
        sentences=[
            *group_differences(group_risks),
            *([OTHER_QUESTION] if results.groups else ()),
            # Small groups are named where groups are.
            *(
                too_small_sentence(group_risks, kind)
                for kind in (PAIR, CLASS)
                if any(item.kind == kind for item in group_risks.small)
            ),
        ],
        # A risk that ranks within classes has one mean in all of them, and there is nothing to say about it.
        gaps=[gap_sentence(item) for item in results.class_gap or () if not math.isnan(item.pearson.value)],
        rate=percent(group_risks.fpr),
        tables=[
            ("groups", "Groups", _most_exposed_first(group_risks, GROUP, PAIR)),
            ("classes", "Classes", _most_exposed_first(group_risks, CLASS)),
        ],
        name=slice_name,
    )
    return Section("group_risks", "Risk by group and class", body)


def slice_name(part: GroupRisk | TooSmall) -> str:
    """Return a group as text: ``sex = f and race = b``."""
    return " and ".join(f"{column} = {value}" for column, value in part.values.items())


def group_differences(group_risks: GroupRisks) -> list[str]:
    """For each type, name the groups whose mean risk differs from that of the other members."""
    sentences = []
    for kind, parts in groupby(group_risks.judged, key=lambda part: part.kind):
        groups = list(parts)
        if not any(group.risks for group in groups):
            continue
        differing = [(part, _clearest(part)) for part in groups if any(risk.differs for risk in part.risks)]
        differing.sort(key=lambda pair: (pair[1].p_value, -abs(pair[1].beyond_rest.value)))
        start = f"Of {count(len(groups))} {KIND_PLURALS[kind]}"
        if kind == GROUP:
            start = f"Of {wording.counted(len(groups), KIND_NAMES[kind])}"
        if not differing:
            sentences.append(f"{start}, none is shown to differ from the rest in the mean of a risk over its members.")
            continue
        differences = "; ".join(_difference(part, risk) for part, risk in differing[:MAX_NAMED_PAIRS])
        if len(differing) > MAX_NAMED_PAIRS:
            differences += f"; and {count(len(differing) - MAX_NAMED_PAIRS)} more, in the tables"
        sentences.append(
            f"{start}, these differ from the rest in the mean of a risk over their members: {differences}."
        )
    return sentences


def too_small_sentence(group_risks: GroupRisks, kind: str) -> str:
    """Name the groups of a type that are too small to be evaluated, with their sizes."""
    small = [group for group in group_risks.small if group.kind == kind]
    if kind == PAIR:
        max_named = MAX_NAMED_PAIRS
    else:
        max_named = MAX_NAMED
    by_columns = groupby(small[:max_named], key=lambda group: tuple(group.values))
    named = "; ".join(_named(list(groups)) for _, groups in by_columns)
    if len(small) > max_named:
        named += f"; and {count(len(small) - max_named)} more, in results.json"
    minimum = count(group_risks.fewest)
    kinds = wording.plural(len(small), KIND_NAMES[kind], KIND_PLURALS[kind])
    return (
        f"Too small to judge, with fewer than {minimum} members or {minimum} non-members, are {count(len(small))} {kinds} "
        f"(members and non-members in brackets): {named}."
    )


def _named(groups: list[TooSmall]) -> str:
    """Name groups of the same columns with their sizes; a single column is named once."""
    if len(groups[0].values) > 1:
        return "; ".join(f"{slice_name(group)} {_sizes(group)}" for group in groups)
    (column,) = groups[0].values
    return f"{column} = " + ", ".join(f"{group.values[column]} {_sizes(group)}" for group in groups)


def _sizes(group: TooSmall) -> str:
    return f"({count(group.members)} and {count(group.nonmembers)})"


def gap_sentence(correlation: GapCorrelation) -> str:
    """Report whether the mean of a risk varies with the generalisation gap over classes."""
    start = f"Over {count(correlation.classes)} classes, "
    gap = "the generalisation gap (accuracy on members minus that on non-members)"
    coefficients = f"r = {with_interval(correlation.pearson)}, Spearman {with_interval(correlation.spearman)}"
    if correlation.p_value is None:
        return (
            f"{start}{correlation.risk} is not tested against {gap}, because both are estimated from the same members and "
            f"non-members: {coefficients}."
        )
    coefficients += f", corrected p = {compact(correlation.p_value)}"
    if not correlation.significant:
        return f"{start}there is no evidence that the mean of {correlation.risk} varies with {gap}: {coefficients}."
    direction = "falls"
    if correlation.pearson.value > 0:
        direction = "rises"
    return f"{start}the mean of {correlation.risk} {direction} with {gap}: {coefficients}."


def _difference(part: GroupRisk, risk: MeanRisk) -> str:
    gap = risk.beyond_rest
    if gap.value < 0:  # less by 0.03, and not by -0.03
        gap = Estimate(-gap.value, -gap.high, -gap.low)
    direction = "less"
    if risk.beyond_rest.value > 0:
        direction = "more"
    text = f"{slice_name(part)}, {direction} {risk.risk}, by {with_interval(gap)}"
    text += f", corrected p = {compact(risk.p_value or 0.0)}"
    others = sum(other.differs for other in part.risks) - 1
    return text + wording.only_if(others, f", and {wording.counted(others, 'other risk')}")


def _clearest(part: GroupRisk) -> MeanRisk:
    """Return the difference with the smallest p-value."""
    differing = [risk for risk in part.risks if risk.differs]
    return min(differing, key=lambda risk: (risk.p_value, -abs(risk.beyond_rest.value)))


def _most_exposed_first(group_risks: GroupRisks, *kinds: str) -> Sequence[GroupRisk]:
    """Return groups by type, within each the most exposed first.

    They are sorted by the lower end of the TPR, since a large TPR of a small group may be due to chance.
    """
    groups = [group for group in group_risks.judged if group.kind in kinds]
    return sorted(groups, key=lambda group: (kinds.index(group.kind), math.isnan(group.tpr.low), -group.tpr.low))
