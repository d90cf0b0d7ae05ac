"""The members, and the persons, that stand out most under the headline attack."""

from __future__ import annotations

import math

from guestlist.findings.results import Results
from guestlist.findings.subject import Subject
from guestlist.report import words
from guestlist.report.format import count, percent, tiny
from guestlist.report.section import Section, filled

GAP = " The gap says by how many of their standard deviations the score is above the mean of such models' scores."


def section(results: Results) -> Section | None:
    listed = results.exposed or ()
    if not listed and results.standing is None and not results.exposed_persons:
        return None
    first = listed[0] if listed else None
    body = filled(
        "exposed.html",
        exposed=listed,
        persons=results.exposed_persons or (),
        labels=any(one.label for one in listed),
        groups=sorted(first.groups) if first else (),
        risks=sorted(first.risks) if first else (),
        features=tuple(first.features) if first else (),
        listed=first is not None and first.listed is not None,
        distances=first is not None and first.p_distance is not None,
        gaps=_gaps(results),
        nan=math.nan,
        shown=shown(results),
        compared=compared(results),
        reading=reading(results) if listed else "",
        of_persons=of_persons(results),
        persons_compared=_persons_compared(results),
        promised=promised(results),
    )
    return Section("exposed", title(results), body)


def compared(results: Results) -> bool:
    """Whether records were compared with themselves under models that did not train on them."""
    return any(record.p_among_models is not None for record in results.exposed or ())


def shown(results: Results) -> str:
    """What the table holds, and who is not in it."""
    if not results.exposed:
        return nobody(results)
    attack = results.headline.name if results.headline else "the headline attack"
    number = words.things(len(results.exposed or ()), "member")
    by = f"stand out most under {attack} from themselves under other models" if compared(results) else None
    risks = (
        " Risks are known to whoever trained the model: see below what they are worth." if _has_risks(results) else ""
    )
    most = f"The {number} that {by or f'{attack} ranks highest'}{_order(results)}.{risks}"
    return " ".join(filter(None, (most, _of_how_many(results), _alike(results))))


def _order(results: Results) -> str:
    """What the table is ordered and cut by; results of earlier versions do not show it."""
    if compared(results):
        return ", in the order of the p-value by distance, then of the gap" if _gaps(results) else ""
    return ", in the order of their scores"


def _gaps(results: Results) -> bool:
    return any(record.gap is not None for record in results.exposed or ())


def nobody(results: Results) -> str:
    """Why nobody is listed."""
    found = results.standing
    if found is None:
        return ""
    if found.left_out:
        return (
            f"Nobody is listed: {words.things(found.left_out, 'member')} share the first place, with equal figures, and naming "
            "some of them would be arbitrary. All are in records.parquet."
        )
    members = words.things(found.members, "member")
    return (
        f"Nobody is listed: of {members} none has a p-value of {tiny(found.alpha)} or less. Somebody may be exposed all the "
        "same, to another attack, or by less than this many references and non-members show."
    )


def _of_how_many(results: Results) -> str:
    found = results.standing
    if found is None:
        return ""
    return f"{count(found.small)} of {words.things(found.members, 'member')} have a p-value of {tiny(found.alpha)} or less."


def _alike(results: Results) -> str:
    """Who shares a place, on the list and behind it."""
    listed, found = results.exposed or (), results.standing
    tied = sum(record.tied > 1 for record in listed)
    said = (
        f"{count(tied)} of those listed share a place with others, and stand in the order of their ids. "
        if tied
        else ""
    )
    if found is not None and found.left_out:
        said += (
            f"The next place is shared by {words.things(found.left_out, 'member')} with equal figures, who are not named here, "
            "since naming some of them would be arbitrary: they are in records.parquet."
        )
    return said.strip()


def _has_risks(results: Results) -> bool:
    return any(record.risks for record in results.exposed or ())


def title(results: Results) -> str:
    """What the list is; nobody is called exposed by scores that luck, or an easy record, explains."""
    attack = words.headline(results)
    if not results.exposed and results.standing is not None:
        return "Most exposed records: none listed"
    if not compared(results):
        return "Members with the highest scores"
    return "Most exposed records" if attack is not None and attack.beats_guessing else "Records that stand out most"


def reading(results: Results) -> str:
    """How to read the p-values of the records."""
    if results.subject is None:
        return ""
    return among_models(results) if compared(results) else p_values(results.subject)


def among_models(results: Results) -> str:
    """How to read a comparison of a record with itself under other models."""
    most = max(record.models or 0 for record in results.exposed or ())
    members = results.subject.members if results.subject else 0
    small = max(0.05, 1 / (most + 1))
    by_luck = f"{count(max(members * small, 1))} of {words.things(members, 'member')}"
    return (
        "Each record is compared with itself: the p-value is the share of models that did not train on it under which it "
        "scores at least as high, this model counted in, so that an easy record does not stand out. With "
        f"{words.things(most, 'such model')} no p-value is below {tiny(1 / (most + 1))}.{_distance(results)} If nothing leaked, "
        f"about {by_luck} would still have a p-value of {tiny(small)} or less."
    )


def _distance(results: Results) -> str:
    if all(record.p_distance is None for record in results.exposed or ()):
        return ""
    how = "by Student's tail" if results.exposure is None else "counted over references as mock targets"
    return (
        f" The p-value by distance is finer: how often a record stands so far above what such models say, {how}. Where there are "
        "fewer than 19 such models it decides who is listed, of those that score higher than under any of them."
        f"{GAP if _gaps(results) else ''}"
    )


def promised(results: Results) -> str:
    """What the list of exposed members promises, and what it does not."""
    found = results.exposure
    if found is None:
        return ""
    size = f"{count(found.listed)} of {words.things(found.tested, 'member')}" if found.listed else "No member"
    text = (
        f"{size} {'is' if found.listed < 2 else 'are'} marked as listed in records.parquet. The list is made so that on average "
        f"over audits at most {percent(found.q)} of it is false: about such a record this model says no more than a model that "
        "was trained without it."
    )
    if found.again is not None and found.without is not None:
        text += (
            f" Under models trained again with a listed record it stands out as far in {percent(found.again)} of cases; under "
            f"models trained without it, in {percent(found.without)}."
        )
    return text + (
        " This does not vouch for a single record, and who is not listed may be exposed all the same: to another attack, or by "
        "less than this many references show."
    )


def of_persons(results: Results) -> str:
    """How to read the table of persons."""
    if not results.exposed_persons:
        return ""
    return (
        "Persons are judged by all their records together, so that one with many records does not stand out by the luckiest "
        "of them. The place is the mean of their records' places among all, from 0 to 1. "
        f"They stand in the order of {'the p-value among models, then of ' if _persons_compared(results) else ''}the place."
    )


def _persons_compared(results: Results) -> bool:
    return any(person.p_among_models is not None for person in results.exposed_persons or ())


def p_values(who: Subject) -> str:
    """How to read the p-values of records that were compared with other records alone."""
    members, nonmembers = who.members, who.nonmembers
    small = max(0.01, 1 / (nonmembers + 1))  # with fewer than 99 non-members, no p-value is as small as 0.01
    return (
        "No record was compared with itself under other models, so a high score may come from an easy record as well as from "
        "a remembered one. "
        "The p-value is the share of non-members that score at least as high, the record itself counted in, "
        "so it is never 0. A small one means that few people who were not in the training set look so much "
        "as if they were. "
        f"These are the highest scores of {words.things(members, 'member')}: if nothing leaked, about "
        f"{count(max(members * small, 1))} of them would still have a p-value of {tiny(small)} or less."
    )
