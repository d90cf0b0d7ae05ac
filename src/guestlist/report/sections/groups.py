"""Groups of records, compared by the headline attack."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from guestlist.evaluate import Estimate
from guestlist.findings.groups import GroupResult
from guestlist.findings.results import Results
from guestlist.findings.slices import GROUP
from guestlist.report import words
from guestlist.report.format import count, percent, with_interval
from guestlist.report.section import Section, fill_template
from guestlist.report.sections.group_risks import too_small_sentence


def section(results: Results) -> Section | None:
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
        words.QUERIER: (results.groups or (), True),
        words.FILE_HOLDER: (results.file_holder_groups or (), False),
    }
    tables = []
    for title, (groups, with_rate) in headline_rows.items():
        rate = percent(results.group_risks.fpr) if results.group_risks and with_rate else ""
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
    small = [group for group in results.group_risks.small if group.kind == GROUP] if results.group_risks else []
    if not small:
        return ""
    others = words.only_if(results.groups, "more ")
    are = words.plural(len(small), "group is", "groups are")
    return f"{count(len(small))} {others}{are} too small to judge, and named under Groups."


def _exposure(group: GroupResult) -> tuple[bool, float]:
    """Sort key: the lower end of the AUC, since a large AUC of a small group may be due to chance; NaN is last."""
    return math.isnan(group.auc.low), -group.auc.low


def _tpr(results: Results, group: GroupResult) -> Estimate | None:
    judged = results.group_risks.judged if results.group_risks else ()
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
    return sentence and f"{words.FILE_HOLDER}: {sentence}"


def _most_exposed(groups: Sequence[GroupResult], attack: str) -> str | None:
    known = [group for group in groups if not math.isnan(group.auc.value)]
    if not known:
        return None
    exposed = [group for group in known if group.exposed]
    if not exposed:
        none = words.plural(len(known), "The one group is not", f"None of {count(len(known))} groups is")
        unseen = "small groups have wide intervals, in which a leak can go unseen"
        return f"{none} shown to be exposed by itself; {unseen}."
    top = min(exposed, key=_exposure)
    start = words.plural(len(known), "The one group", f"Of {count(len(known))} groups, the most clearly exposed")
    metrics = f"AUC {with_interval(top.auc)}, over {words.counted(top.members, 'member')}"
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
