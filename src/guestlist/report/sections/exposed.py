"""The members that the headline attack ranks highest."""

from __future__ import annotations

from guestlist.findings.results import Results
from guestlist.findings.subject import Subject
from guestlist.report import words
from guestlist.report.format import count, tiny
from guestlist.report.section import Section, filled


def section(results: Results) -> Section | None:
    if not results.exposed:
        return None
    body = filled(
        "exposed.html",
        exposed=results.exposed,
        groups=sorted(results.exposed[0].groups),
        attack=results.headline.name if results.headline else "the headline attack",
        reading=p_values(results.subject) if results.subject else "",
    )
    return Section("exposed", "Most exposed records", body)


def p_values(who: Subject) -> str:
    """How to read the p-values of the most exposed records."""
    members, nonmembers = who.members, who.nonmembers
    small = max(0.01, 1 / (nonmembers + 1))  # with fewer than 99 non-members, no p-value is as small as 0.01
    return (
        "The p-value is the share of non-members that score at least as high, the record itself counted in, "
        "so it is never 0. A small one means that few people who were not in the training set look so much "
        "as if they were. "
        f"These are the highest scores of {words.things(members, 'member')}: if nothing leaked, about "
        f"{count(max(members * small, 1))} of them would still have a p-value of {tiny(small)} or less."
    )
