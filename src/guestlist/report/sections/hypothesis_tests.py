"""Attacks with p-values: a test promises a rate of false alarms, and this says whether it keeps it.

As everywhere in the report words follow from intervals: a promise is broken where the whole interval lies beyond
what was asked, and not where the value alone does.
"""

from __future__ import annotations

import math

from guestlist.findings.hypothesis_tests import HypothesisTest, Level
from guestlist.findings.results import Results
from guestlist.report.charts import Axis, Chart, Series, diagonal, interval_ends
from guestlist.report.format import interval, percent
from guestlist.report.section import Section, fill_template

CALIBRATED, TOO_MANY, TOO_CAUTIOUS = "", "calls too many", "too cautious"
OUT_OF_REACH = "out of reach"
MARKS = (
    ("circle", "member"),
    ("square", "nonmember"),
    ("diamond", "ink"),
    ("triangle-up", "member"),
    ("cross", "nonmember"),
    ("star", "ink"),
)
LEAST_REALISED = 0.001  # where the axes of asked and realised rates begin


def section(results: Results) -> Section | None:
    found = tests_with_levels(results)
    if not found:
        return None
    summaries = {outcome.name: outcome.summary for outcome in results.outcomes or ()}
    rows = [
        (test, summaries.get(test.name, ""), [level_at(test, alpha) for alpha in reached_alphas(results)])
        for test in found
    ]
    drawn = {"asked-realised": _chart(found)}
    body = fill_template(
        "hypothesis_tests.html",
        charts=drawn,
        rows=rows,
        alphas=reached_alphas(results),
        verdict=level_verdict,
        said=calibration_summary(results),
        lacking=" ".join(filter(None, (unreachable_levels_sentence(results), missing_population_sentence(results)))),
        out_of_reach=OUT_OF_REACH,
    )
    return Section("promises", "Does each test keep its promise?", body, drawn, appendix=True)


def tests_with_levels(results: Results) -> tuple[HypothesisTest, ...]:
    """The attacks that were asked for false-positive rates, and reached one."""
    return tuple(test for test in results.hypothesis_tests or () if test.levels)


def reached_alphas(results: Results) -> tuple[float, ...]:
    """Every rate that some test was asked for and reached."""
    return tuple(sorted({level.alpha for test in tests_with_levels(results) for level in test.levels}))


def level_at(test: HypothesisTest, alpha: float) -> Level | None:
    """What a test realised at one rate; None where it could not reach it."""
    return next((level for level in test.levels if level.alpha == alpha), None)


def level_verdict(level: Level) -> str:
    """Whether a test calls more or fewer than it was asked to, beyond what chance explains."""
    if level.fpr.low > level.alpha:
        return TOO_MANY
    return TOO_CAUTIOUS if level.fpr.high < level.alpha else CALIBRATED


def calibration_summary(results: Results) -> str:
    """What was found about all tests together."""
    found = [level_verdict(level) for test in tests_with_levels(results) for level in test.levels]
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


def exceeded_levels_sentence(results: Results) -> str | None:
    """Which tests raise more false alarms than they were asked to, each at its worst; None where none is shown to."""
    worst = []
    for test in tests_with_levels(results):
        over = [level for level in test.levels if level.exceeds_nominal]
        if over:
            level = max(over, key=lambda level: level.fpr.low / level.alpha)
            realised = f"{percent(level.fpr.value)} ({interval(level.fpr, percent)})"
            worst.append(f"{test.name} {realised} where {percent(level.alpha)} was asked")
    if not worst:
        return None
    return f"More false alarms than asked for: {'; '.join(worst)}. Do not take such p-values at their word."


def unreachable_levels_sentence(results: Results) -> str | None:
    """Which tests cannot reach which rates, however sure they are."""
    lacking = []
    for test in tests_with_levels(results):
        missing = [percent(alpha) for alpha in reached_alphas(results) if level_at(test, alpha) is None]
        if missing:
            lacking.append(f"{test.name} at {', '.join(missing)}")
    if not lacking:
        return None
    few = "it compares with too few models or records, or non-members are fitted without fault too often"
    return f"Out of reach: {'; '.join(lacking)}. No p-value can be that small: {few}."


def missing_population_sentence(results: Results) -> str | None:
    """The tests that could have been held to their promise, had there been a population."""
    if results.subject is None or results.subject.population:
        return None
    silent = [test.name for test in results.hypothesis_tests or () if test.needs_population and not test.levels]
    if not silent:
        return None
    return f"{', '.join(silent)} was not held to a promise: it needs a population, records that nobody asks about."


def _lie(number: int) -> str:
    return "lies" if number == 1 else "lie"


def _chart(found: tuple[HypothesisTest, ...]) -> Chart:
    """Asked against realised false-positive rates, a mark with its interval for each, and the diagonal of promises."""
    asked = tuple(sorted({level.alpha for test in found for level in test.levels}))
    marks = (_marks(test, 7 * (i - (len(found) - 1) / 2), *MARKS[i % len(MARKS)]) for i, test in enumerate(found))
    return Chart(
        Axis("false alarms asked for", (asked[0] / 2, min(2 * asked[-1], 1.0)), log=True, ticks=asked, form="percent"),
        Axis("false alarms realised", (LEAST_REALISED, 1.0), log=True, form="percent"),
        (diagonal("as asked"), *marks),
        full_width=True,
    )


def _marks(test: HypothesisTest, offset: float, mark: str, colour: str) -> Series:
    """Marks of one level stand side by side, or they would hide each other."""
    levels = [level for level in test.levels if not math.isnan(level.fpr.value)]
    alpha, fpr = tuple(level.alpha for level in levels), [level.fpr for level in levels]
    values = tuple(rate.value for rate in fpr)
    return Series(test.name, alpha, values, colour, mark=mark, y_ends=interval_ends(fpr), offset=offset)
