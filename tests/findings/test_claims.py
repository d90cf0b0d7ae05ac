"""All that an audit may claim, counted together: rarely anything where there is nothing, and what is there where it is."""

from collections import Counter
from functools import partial

import numpy as np
import pytest
from benchmarks.error_rates.claims import case_of, claims, null_visits

from guestlist._findings import significance
from guestlist._report import terminal
from guestlist.selfcheck.simulations import gaussian_simulation
from guestlist.testing import evaluate_case

summary = partial(terminal.summary, verbose=True)

MANY = ("loss", "correctness", "entropy", "shadow", "reference", "difficulty", "rmia", "lira_bayes")


def evaluated(shift, seed, records=150):
    simulation = gaussian_simulation(shift, records=records, models=10, seed=[seed, 5])
    group = np.random.default_rng(seed).integers(5, size=records)
    return evaluate_case(case_of(simulation, MANY, group, seed))


@pytest.mark.slow
@pytest.mark.parametrize(("audits", "at_most"), [(15, 3), pytest.param(40, 6, marks=pytest.mark.long)])
def test_an_audit_with_nothing_to_find_claims_hardly_anything(audits, at_most, monkeypatch):
    """Models that leak nothing, of a recipe that leaks nothing.

    Valid audits claim something about the model in 5% and about the recipe in 2.5% of draws: they pass in 98% of 15 audits and
    in 97% of 40. Audits that claim something in 40% fail in 91% and in more than 99%.
    """
    monkeypatch.setattr(significance, "DRAWS", 399)
    counts = Counter()
    claiming = 0
    for seed in range(audits):
        results = evaluated(0.0, seed)
        claimed = claims(results)
        counts.update(claimed)
        claiming += bool(claimed)
        quiet = {
            "headline beats guessing",
            "headline ranks below guessing",
            "another attack beats guessing",
        }.isdisjoint(claimed)
        text = " ".join(summary(results).split())
        assert quiet == ("] No evidence that they can." in text), claimed  # claims in data and in words agree
        assert ("groups is random" in text) == ("group exposed" in claimed)
    assert claiming <= at_most, counts


@pytest.mark.slow
def test_an_audit_that_has_something_to_find_finds_it():
    assert {"headline beats guessing", "another attack beats guessing", "training recipe leaks"} <= set(
        claims(evaluated(2.0, 0))
    )
    assert "group exposed" in claims(evaluated(2.0, 1, records=600))


@pytest.mark.slow
@pytest.mark.long  # tests/baseline/test_baseline.py has the same people, without an audit
def test_visits_of_few_people_are_not_claimed_to_be_many():
    """A model that saw none of these people: audits that know the owner of each record claim nothing about it.

    One audit may claim something. Valid audits, which claim something in 3% of 200 (``benchmarks/error_rates/claims.json``), pass
    in 96% of draws of ten; audits that claim something in 40% fail in 95%.
    """
    assert null_visits(10, references=0)["any claim"] <= 0.1
