"""Test the error rates of a gate: the simulation of ``benchmarks.error_rates.gate`` at a small size."""

import pytest
from benchmarks.error_rates.gate import simulate


@pytest.mark.slow
def test_what_a_gate_lets_through():
    shares = simulate(audits=12, records=200, references=8)
    assert shares["interchanged: passed"] == 0
    assert shares["no references: passed"] == 0
    assert shares["no references, allowed by the policy: passed"] > 0.5  # or else the line above could not fail
    # At most 2.5 % each: three of 12 would be a chance of .003.
    assert shares["true AUC at the limit: passed"] < 0.2
