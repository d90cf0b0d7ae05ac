"""The verdict where members can be distinguished without the model: the gain of the model, if it is significant."""

from dataclasses import replace

import pytest
from tests.report.states import state

from example_results import leaking
from guestlist import Estimate
from guestlist._baseline.baseline import Baseline
from guestlist._findings.baseline import FEW, Adjusted, GainOverBaseline
from guestlist._report.next_steps import next_steps
from guestlist._report.sections.answer import verdict_text
from guestlist.metrics import WITHHELD


def two_kinds(gain, weighted_auc, refused=""):
    """An audit in which members are distinguished without the model, and the attacks find a clear leak."""
    base = leaking()
    baseline = Baseline(0.52, 0.0475, 399, 0.52, 500, 500, 1000, 5, ("features", "label"), permutation_std=0.01)
    name = base.headline.name
    weighted = Adjusted(name, 500, 500, 0.9, Estimate(0.5, 0.46, 0.54), refused, weighted_auc)
    return replace(
        base, baseline=baseline, gain_over_baseline=GainOverBaseline(name, gain, 500, 500), adjusted=weighted
    )


@pytest.mark.parametrize(
    ("gain", "weighted_auc", "expected"),
    [
        (
            Estimate(0.22, 0.18, 0.26),
            Estimate(0.74, 0.70, 0.78),
            "likely",
        ),
        (Estimate(0.22, 0.18, 0.26), Estimate(0.60, 0.55, 0.65), "likely, slight"),
        (Estimate(0.05, 0.01, 0.09), Estimate(0.74, 0.70, 0.78), "likely, slight"),
        (Estimate(0.22, 0.18, 0.26), Estimate(0.52, 0.48, 0.56), "unclear"),
        (Estimate(0.02, -0.02, 0.06), Estimate(0.74, 0.70, 0.78), "unclear"),
        (WITHHELD, Estimate(0.74, 0.70, 0.78), "unclear"),
        (Estimate(0.22, 0.18, 0.26), WITHHELD, "unclear"),
    ],
)
def test_the_verdict_follows_the_smaller_of_both_estimates(gain, weighted_auc, expected, snapshot):
    result = two_kinds(gain, weighted_auc)
    assert state(verdict_text(result)) == expected
    snapshot(verdict_text(result))
    assert state(verdict_text(replace(result, baseline=None))) == "many"
    assert any(step.startswith("Test defences") for step in next_steps(result)) == expected.startswith("likely")


def test_refused_weights_withhold_the_verdict():
    assert state(verdict_text(two_kinds(Estimate(0.22, 0.18, 0.26), None, FEW))) == "unclear"


def test_a_game_with_separate_distributions_is_named(snapshot):
    result = two_kinds(WITHHELD, WITHHELD)
    snapshot(verdict_text(result))
    text = verdict_text(replace(result, baseline=replace(result.baseline, game="sources")))
    snapshot(text)
