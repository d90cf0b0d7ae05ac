"""Defences reported to help: rarely one without effect, and none that lowers one metric and raises another."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from benchmarks.error_rates.defend import DISTRIBUTIONS, simulate

from guestlist import Defended, Estimate, Results
from guestlist._audit.comparison import Difference
from guestlist._audit.defence_results import Row, auc_gap
from guestlist._findings.headline import FIXED, Headline
from guestlist.metrics import auc_difference


@pytest.mark.slow
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_of_many_defences_that_change_nothing_one_is_rarely_named(distribution):
    """At full size, in benchmarks/error_rates, it is at most 5 %; here 5 of 100 are expected at the most."""
    assert simulate(distribution, 100, records=120, defences=6)["reported"] <= 0.1


def test_the_best_of_many_is_optimistically_biased():
    assert simulate("some leak", 10, records=120, defences=4)["best_change"] < -0.02


def test_the_gap_is_that_of_the_same_records_in_any_order():
    rng = np.random.default_rng(0)
    member, persons = np.arange(60) % 2 == 0, np.arange(60) // 2 // 2
    scores = rng.normal(size=(2, 60)) + np.array([[1.0], [0.3]]) * member
    tables = [
        pd.DataFrame({"id": np.arange(60).astype(str), "member": member, "person": persons, f"score_{name}": row})
        for name, row in zip("ab", scores, strict=True)
    ]
    plain, other = (
        Results(headline=Headline(name, FIXED, 0, None), records=table)
        for name, table in zip("ab", (tables[0], tables[1][5:].sample(frac=1, random_state=0)), strict=True)
    )
    remaining = slice(5, None)  # of those who left, nothing is known of the other
    expected = auc_difference(
        scores[1, remaining], scores[0, remaining], member[remaining], clusters=persons[remaining], confidence=0.9
    )
    assert auc_gap(plain, other, 0.9) == pytest.approx(expected)


def figure(metric, value, differs):
    width = (0.5 if differs else 2.0) * abs(value)
    gap = Estimate(value, value - width, value + width)
    return Difference(metric, "a", Estimate(0.5, 0, 1), Estimate(0.5 + value, 0, 1), gap)


def row(name, gap, tpr, accuracy=0.0):
    return Row(
        name,
        "d",
        accuracy=figure("accuracy", accuracy, True),
        auc=figure("auc", gap.value, True),
        tpr=figure("tpr", *tpr),
        gap=gap,
    )


def test_defences_that_leak_less_are_named_the_most_accurate_first():
    less, perhaps = Estimate(-0.1, -0.2, -0.01), Estimate(-0.1, -0.3, 0.1)
    rows = (
        row("good", less, (-0.1, True), accuracy=-0.02),
        row("better", less, (-0.1, False), accuracy=0.02),
        row("perhaps", perhaps, (-0.1, True)),
        row("finds more", less, (0.1, True)),
        row("may find more", less, (0.1, False), accuracy=-0.2),
        Row("failed", "d", failed="no"),
    )
    results = Defended(rows, None, {})
    assert results.helps == ("better", "good", "may find more")
    assert [row.name for row in rows if row.less_accurate] == ["good", "may find more"]
    assert list(results.table["leaks_less"]) == [True, True, False, False, True, False]
    again = Defended((replace(rows[0], name="trained again"),), None, {})
    assert again.helps == ()  # chance is no defence
