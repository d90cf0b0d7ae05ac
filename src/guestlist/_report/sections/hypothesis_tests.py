"""Sections on hypothesis tests and on who is wrongly flagged."""

import math

from guestlist._findings import HypothesisTest, Results
from guestlist._report import Axis, Chart, Section, Series, diagonal, fill_section, interval_ends, prose, wording
from guestlist._util import percent

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
    values = "; ".join(
        f"{test.name} {percent(level.fpr.value)} at {percent(level.alpha)}" for test in tests for level in test.levels
    )
    return fill_section(
        "promises",
        "Are the hypothesis tests calibrated?",
        "hypothesis_tests.html",
        charts={"asked-realised": _chart(tests)},
        appendix=True,
        calibration=calibration_summary(results),
        lacking=wording.paragraph(
            exceeded_levels_sentence(results),
            unreachable_levels_sentence(results),
            missing_population_sentence(results),
        ),
        label=f"Realised against nominal false positive rate: {values}.",
    )


def tests_with_levels(results: Results) -> tuple[HypothesisTest, ...]:
    """Return the attacks with p-values that reach one of the nominal rates."""
    return tuple(test for test in results.hypothesis_tests or () if test.levels)


def calibration_summary(results: Results) -> str:
    """Summarise how many realised rates differ significantly from their nominal rate."""
    levels = [level for test in tests_with_levels(results) for level in test.levels]
    many = sum(level.fpr.low > level.alpha for level in levels)
    cautious = sum(level.fpr.high < level.alpha for level in levels)
    return prose("tests.calibration", len(levels), many, cautious)


def exceeded_levels_sentence(results: Results) -> str:
    """Name the tests that exceed their nominal rates, each at its worst; empty where none does."""
    exceeded = {
        test.name: [level for level in test.levels if level.exceeds_nominal] for test in tests_with_levels(results)
    }
    worst = [
        (name, max(levels, key=lambda level: level.fpr.low / level.alpha))
        for name, levels in exceeded.items()
        if levels
    ]
    return prose("tests.exceeded", worst)


def unreachable_levels_sentence(results: Results) -> str:
    """Name the tests that cannot reach a rate that another test reaches, and the rates."""
    reached = {test.name: {level.alpha for level in test.levels} for test in tests_with_levels(results)}
    alphas = set().union(*reached.values())
    missing = [
        f"{name} at {', '.join(percent(alpha) for alpha in sorted(alphas - own))}"
        for name, own in reached.items()
        if alphas - own
    ]
    return wording.only_if(
        missing, f"Not reachable: {'; '.join(missing)}. With these models and records no p-value is that small."
    )


def missing_population_sentence(results: Results) -> str:
    """Name the tests that were not evaluated because there is no population."""
    if results.subject is None or results.subject.population:
        return ""
    names = [test.name for test in results.hypothesis_tests or () if test.needs_population and not test.levels]
    return wording.only_if(
        names, f"{', '.join(names)} was not evaluated: it needs a population (population=, --population)."
    )


def _chart(tests: tuple[HypothesisTest, ...]) -> Chart:
    """Draw realised against nominal rates, with intervals, and the diagonal."""
    nominal = tuple(sorted({level.alpha for test in tests for level in test.levels}))
    ends = (nominal[0] / 2, min(2 * nominal[-1], 1.0))
    marks = (_marks(test, 7 * (i - (len(tests) - 1) / 2), *MARKS[i % len(MARKS)]) for i, test in enumerate(tests))
    return Chart(
        Axis("nominal false positive rate", ends, log=True, ticks=nominal, form="percent"),
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
    return fill_section(
        "per_record_fpr",
        "Who is wrongly flagged",
        "per_record_fpr.html",
        appendix=True,
        sentences=[prose("tests.per_record_fpr", row) for row in results.per_record_fpr],
    )
