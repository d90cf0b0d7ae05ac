"""Sections on hypothesis tests and on who is wrongly flagged."""

import math

from guestlist._findings import HypothesisTest, Level, PerRecordFpr, Results
from guestlist._report import Axis, Chart, Section, Series, diagonal, fill_template, interval_ends, wording
from guestlist._util import count, interval, percent

CALIBRATED = ""
TOO_MANY = "too many"
TOO_CAUTIOUS = "too cautious"
MARKS = (
    ("circle", "member"),
    ("square", "nonmember"),
    ("diamond", "ink"),
    ("triangle-up", "member"),
    ("cross", "nonmember"),
    ("star", "ink"),
)
MIN_REALISED = 0.001  # start of the axes of nominal and realised rates


def hypothesis_tests_section(results: Results) -> Section | None:
    """Render realised and nominal rates of each test; None without tests."""
    tests = tests_with_levels(results)
    if not tests:
        return None
    charts = {"asked-realised": _chart(tests)}
    values = "; ".join(
        f"{test.name} {percent(level.fpr.value)} at {percent(level.alpha)}" for test in tests for level in test.levels
    )
    body = fill_template(
        "hypothesis_tests.html",
        charts=charts,
        calibration=calibration_summary(results),
        lacking=wording.paragraph(
            exceeded_levels_sentence(results),
            unreachable_levels_sentence(results),
            missing_population_sentence(results),
        ),
        label=f"Realised against nominal false positive rate: {values}.",
    )
    return Section("promises", "Are the hypothesis tests calibrated?", body, charts, appendix=True)


def tests_with_levels(results: Results) -> tuple[HypothesisTest, ...]:
    """Return the attacks with p-values that reach one of the nominal rates."""
    return tuple(test for test in results.hypothesis_tests or () if test.levels)


def reached_alphas(results: Results) -> tuple[float, ...]:
    """Return every nominal rate that some test reaches."""
    return tuple(sorted({level.alpha for test in tests_with_levels(results) for level in test.levels}))


def level_at(test: HypothesisTest, alpha: float) -> Level | None:
    """Return a test's result at a nominal rate; None where it cannot reach it."""
    return next((level for level in test.levels if level.alpha == alpha), None)


def level_verdict(level: Level) -> str:
    """Report whether a realised rate is significantly above or below its nominal rate; empty if neither."""
    if level.fpr.low > level.alpha:
        return TOO_MANY
    if level.fpr.high < level.alpha:
        return TOO_CAUTIOUS
    return CALIBRATED


def calibration_summary(results: Results) -> str:
    """Summarise the calibration of all tests."""
    verdicts = [level_verdict(level) for test in tests_with_levels(results) for level in test.levels]
    many = verdicts.count(TOO_MANY)
    cautious = verdicts.count(TOO_CAUTIOUS)
    if not many and not cautious:
        return "Every realised rate agrees with its nominal rate."
    return (
        f"Of {len(verdicts)} realised rates, {many} {wording.plural(many, 'is', 'are')} significantly above the nominal rate and "
        f"{cautious} below; 1 in 20 is expected by chance."
    )


def exceeded_levels_sentence(results: Results) -> str | None:
    """Name the tests that exceed their nominal rates, each at its worst; None where none does."""
    worst = []
    for test in tests_with_levels(results):
        exceeded = [level for level in test.levels if level.exceeds_nominal]
        if exceeded:
            level = max(exceeded, key=lambda level: level.fpr.low / level.alpha)
            realised = f"{percent(level.fpr.value)} ({interval(level.fpr, percent)})"
            worst.append(f"{test.name} {realised} at nominal {percent(level.alpha)}")
    if not worst:
        return None
    return f"Miscalibrated tests: {'; '.join(worst)}. Do not use their p-values."


def unreachable_levels_sentence(results: Results) -> str | None:
    """Name the tests that cannot reach a rate, and the rates."""
    tests = []
    for test in tests_with_levels(results):
        missing = [percent(alpha) for alpha in reached_alphas(results) if level_at(test, alpha) is None]
        if missing:
            tests.append(f"{test.name} at {', '.join(missing)}")
    if not tests:
        return None
    return f"Not reachable: {'; '.join(tests)}. With these models and records no p-value is that small."


def missing_population_sentence(results: Results) -> str | None:
    """Name the tests that were not evaluated because there is no population."""
    if results.subject is None or results.subject.population:
        return None
    names = [test.name for test in results.hypothesis_tests or () if test.needs_population and not test.levels]
    if not names:
        return None
    return f"{', '.join(names)} was not evaluated: it needs a population (population=, --population)."


def _chart(tests: tuple[HypothesisTest, ...]) -> Chart:
    """Draw realised against nominal rates, with intervals, and the diagonal."""
    nominal = tuple(sorted({level.alpha for test in tests for level in test.levels}))
    marks = (_marks(test, 7 * (i - (len(tests) - 1) / 2), *MARKS[i % len(MARKS)]) for i, test in enumerate(tests))
    return Chart(
        Axis(
            "nominal false positive rate",
            (nominal[0] / 2, min(2 * nominal[-1], 1.0)),
            log=True,
            ticks=nominal,
            form="percent",
        ),
        Axis("realised false positive rate", (MIN_REALISED, 1.0), log=True, form="percent"),
        (diagonal("calibrated"), *marks),
        full_width=True,
    )


def _marks(test: HypothesisTest, offset: float, mark: str, colour: str) -> Series:
    """Return the marks of one test, shifted sideways so that tests do not hide each other."""
    levels = [level for level in test.levels if not math.isnan(level.fpr.value)]
    return Series(
        test.name,
        tuple(level.alpha for level in levels),
        tuple(level.fpr.value for level in levels),
        colour,
        mark=mark,
        y_ends=interval_ends([level.fpr for level in levels]),
        offset=offset,
    )


def per_record_fpr_section(results: Results) -> Section | None:
    """Render false positive rates of single records; None where they are unknown."""
    if not results.per_record_fpr:
        return None
    sentences = [per_record_fpr_sentence(row) for row in results.per_record_fpr]
    return Section(
        "per_record_fpr",
        "Who is wrongly flagged",
        fill_template("per_record_fpr.html", sentences=sentences),
        appendix=True,
    )


def per_record_fpr_sentence(result: PerRecordFpr) -> str:
    """Report whether the nominal rate holds for single records."""
    start = f"At an FPR of {percent(result.fpr)} over all non-members"
    often = f"more than {result.factor:g} times as often as that by models that were not trained on it"
    if not result.far:
        return f"{start}, there is no evidence that a record is flagged {often} ({count(result.models)} models per record)."
    share = percent(result.far / result.records)
    are = wording.plural(result.far, "is", "are")
    return (
        f"{start}, {wording.counted(result.far, 'record')} ({share}) {are} flagged {often}. A flag is weaker evidence for such a "
        "record than the rate suggests."
    )
