"""Groups of records compared."""

from __future__ import annotations

import math

from guestlist.findings.groups import GroupResult
from guestlist.findings.results import Results
from guestlist.report import words
from guestlist.report.format import count, with_interval
from guestlist.report.section import Section, filled


def section(results: Results) -> Section | None:
    if not results.groups:
        return None
    return Section("groups", "Groups", filled("groups.html", groups=results.groups, name=group_name))


def exposed_group(results: Results) -> str | None:
    """Which group is most clearly exposed to the headline attack; None where no groups were given."""
    groups = [group for group in results.groups or () if not math.isnan(group.auc.value)]
    if not groups:
        return None
    shown = [group for group in groups if group.exposed]
    if not shown:
        none = "The one group is not" if len(groups) == 1 else f"None of {count(len(groups))} groups is"
        unseen = "small groups have wide intervals, in which a leak can go unseen"
        return f"{none} shown to be exposed by itself; {unseen}."
    # By the low end: a large AUC of a small group may be luck.
    top = max(shown, key=lambda group: group.auc.low)
    which = "The one group" if len(groups) == 1 else f"Of {count(len(groups))} groups, the most clearly exposed"
    figures = f"AUC {with_interval(top.auc)}, over {words.things(top.members, 'member')}"
    return f"{which} is {group_name(top)}: {figures}. {_beside_rest(top)}".strip()


def group_name(group: GroupResult) -> str:
    """A group in words: ``age = 18-25``."""
    return f"{group.group} = {group.value}"


def _beside_rest(group: GroupResult) -> str:
    rest = group.beyond_rest
    if rest is None or math.isnan(rest.value):
        return ""
    if group.beyond:
        return f"That is more than among the other records, by {with_interval(rest)}."
    return "It is not shown to be more exposed than the other records."
