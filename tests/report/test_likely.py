"""The answer where members can be told without the model: what the model adds to that, if it is shown."""

from dataclasses import replace

import pytest

from guestlist import Estimate
from guestlist._baseline.baseline import Baseline
from guestlist._findings.baseline import FEW, Adjusted, GainOverBaseline
from guestlist._report.next_steps import defence_step, next_steps
from guestlist._report.sections.answer import verdict_text
from guestlist.metrics import WITHHELD
from report_worlds import leaking


def two_kinds(gain, left, refused=""):
    """An audit in which members are told without the model, with a clear leak as the attacks see it."""
    base = leaking()
    baseline = Baseline(0.52, 0.0475, 399, 0.52, 500, 500, 1000, 5, ("features", "label"), permutation_std=0.01)
    name = base.headline.name
    weighted = Adjusted(name, 500, 500, 0.9, Estimate(0.5, 0.46, 0.54), refused, left)
    return replace(
        base, baseline=baseline, gain_over_baseline=GainOverBaseline(name, gain, 500, 500), adjusted=weighted
    )


@pytest.mark.parametrize(
    ("gain", "left", "begins"),
    [
        (
            Estimate(0.22, 0.18, 0.26),
            Estimate(0.74, 0.70, 0.78),
            "Likely, beyond what the records themselves give away. ",
        ),
        (Estimate(0.22, 0.18, 0.26), Estimate(0.60, 0.55, 0.65), "Likely, but only slightly. "),
        (Estimate(0.05, 0.01, 0.09), Estimate(0.74, 0.70, 0.78), "Likely, but only slightly. "),
        (Estimate(0.22, 0.18, 0.26), Estimate(0.52, 0.48, 0.56), "Unclear. "),
        (Estimate(0.02, -0.02, 0.06), Estimate(0.74, 0.70, 0.78), "Unclear. "),
        (WITHHELD, Estimate(0.74, 0.70, 0.78), "Unclear. "),
        (Estimate(0.22, 0.18, 0.26), WITHHELD, "Unclear. "),
    ],
)
def test_the_answer_is_graded_by_the_least_that_both_ways_show(gain, left, begins):
    found = two_kinds(gain, left)
    assert verdict_text(found).startswith(begins)
    assert "evidence of a difference between the two sets" in verdict_text(found)
    assert verdict_text(replace(found, baseline=None)).startswith("Yes")
    assert (defence_step(found, "FOLDER") in next_steps(found)) == begins.startswith("Likely")


def test_refused_weights_withhold_the_answer():
    assert verdict_text(two_kinds(Estimate(0.22, 0.18, 0.26), None, FEW)).startswith("Unclear. ")


def test_a_game_that_draws_sides_apart_is_named_and_what_hides_it():
    found = two_kinds(WITHHELD, WITHHELD)
    assert "A validation set with the same bias hides it" not in verdict_text(found)
    told = verdict_text(replace(found, baseline=replace(found.baseline, game="sources")))
    assert "The game sources draws them from different parts of the people" in told
    assert "A validation set with the same bias hides it" in told
