"""Attacks with p-values in words: a test promises a rate of false alarms, and this says whether it keeps it.

As everywhere in the report words follow from intervals: a promise is broken where the whole interval lies beyond
what was asked, and not where the value alone does.
"""

from __future__ import annotations

from guestlist.findings.results import AttackResult, Level, Results
from guestlist.report.format import interval, percent

KEPT, TOO_MANY, TOO_CAUTIOUS = "", "calls too many", "too cautious"
OUT_OF_REACH = "out of reach"
# The attack that learns what to expect from records of a population: without those it has no p-values.
NEEDS_POPULATION = "loss"


def tests(results: Results) -> tuple[AttackResult, ...]:
    """The attacks that were asked for false-positive rates, and reached one."""
    return tuple(finding for finding in results.findings if finding.levels)


def alphas(results: Results) -> tuple[float, ...]:
    """Every rate that some test was asked for and reached."""
    return tuple(sorted({level.alpha for finding in tests(results) for level in finding.levels}))


def level_at(finding: AttackResult, alpha: float) -> Level | None:
    """What a test realised at one rate; None where it could not reach it."""
    return next((level for level in finding.levels if level.alpha == alpha), None)


def verdict(level: Level) -> str:
    """Whether a test calls more or fewer than it was asked to, beyond what chance explains."""
    if level.fpr.low > level.alpha:
        return TOO_MANY
    return TOO_CAUTIOUS if level.fpr.high < level.alpha else KEPT


def promises(results: Results) -> str:
    """What was found about all tests together."""
    found = [verdict(level) for finding in tests(results) for level in finding.levels]
    many, cautious = found.count(TOO_MANY), found.count(TOO_CAUTIOUS)
    if not many and not cautious:
        return "Every test is within chance of what it was asked for."
    said = (
        f"Of {len(found)} intervals {many} {_lie(many)} wholly above what was asked and {cautious} {_lie(cautious)} "
        "wholly below; about one in twenty would miss by chance."
    )
    if not many:
        return f"{said} A test that is too cautious misses members, but accuses nobody whom it promised to leave alone."
    return f"{said} Where a test calls too many, do not take its p-values at their word."


def broken(results: Results) -> str | None:
    """Which tests raise more false alarms than they were asked to, each at its worst; None where none does."""
    worst = []
    for finding in tests(results):
        over = [level for level in finding.levels if verdict(level) == TOO_MANY]
        if over:
            level = max(over, key=lambda level: level.fpr.low / level.alpha)
            realised = f"{percent(level.fpr.value)} ({interval(level.fpr, percent)})"
            worst.append(f"{finding.name} {realised} where {percent(level.alpha)} was asked")
    if not worst:
        return None
    return f"More false alarms than asked for: {'; '.join(worst)}. Do not take such p-values at their word."


def unreached(results: Results) -> str | None:
    """Which tests cannot reach which rates, however sure they are."""
    lacking = []
    for finding in tests(results):
        missing = [percent(alpha) for alpha in alphas(results) if level_at(finding, alpha) is None]
        if missing:
            lacking.append(f"{finding.name} at {', '.join(missing)}")
    if not lacking:
        return None
    few = "it compares with too few models or records, or non-members are fitted without fault too often"
    return f"Out of reach: {'; '.join(lacking)}. No p-value can be that small: {few}."


def unasked(results: Results) -> str | None:
    """The test that could have been held to its promise, had there been a population."""
    found = any(finding.name == NEEDS_POPULATION and not finding.levels for finding in results.findings)
    if not found or results.subject.population:
        return None
    return f"{NEEDS_POPULATION} was not held to a promise: it needs a population, records that nobody asks about."


def _lie(number: int) -> str:
    return "lies" if number == 1 else "lie"
