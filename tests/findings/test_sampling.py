"""Very many records: stand-in targets are evaluated on a sample, and no claim becomes wrong."""

from dataclasses import replace

import numpy as np
import pytest

from guestlist._case import Truth
from guestlist._findings import attacks, exposure, headline
from guestlist._findings.headline import Sampling, parts_of_records, sample, sampled_stand_ins, scores_part_by_part
from guestlist._findings.records import record_table
from guestlist._report import sentences
from guestlist.attacks import ATTACKS, score_every_target
from guestlist.testing import case_of, evaluate_case, gaussian_simulation, noise_simulation

NAMES = ("loss", "difficulty", "lira_bayes")


def sampling_sentences(sampling):
    """Return the sentences of the report on what used part of the records."""
    return sentences("limits.sampling", sampling)


@pytest.fixture
def few_cells(monkeypatch):
    """Ten stand-in targets and 400 records are very many."""
    monkeypatch.setattr(headline, "MAX_CELLS", 1000)
    monkeypatch.setattr("guestlist._kernels.permutations.MOST_CELLS", 0)


def simulation(shift=2.0, **options):
    return gaussian_simulation(shift, records=400, models=11, **options)


def test_few_records_are_not_sampled():
    case = case_of(simulation(), NAMES)
    assert case.of(headline.find_sampling) is None
    assert len(case.of(parts_of_records)) == 1
    assert np.array_equal(case.of(sample), np.arange(len(case.records)))
    assert case.of(sampled_stand_ins) is case.stand_ins
    assert sampling_sentences(None) == []


def test_every_record_is_in_one_part(few_cells):
    case = case_of(simulation(), NAMES, population=40)
    parts = case.of(parts_of_records)
    assert len(parts) == 4
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(400))
    assert case.of(headline.find_sampling) == Sampling(400, 100, True)
    assert len(sampling_sentences(case.of(headline.find_sampling))) == 2
    again = case_of(simulation(), NAMES)
    assert all(map(np.array_equal, again.of(parts_of_records), parts))  # the seed decides


def test_the_basis_of_mu_and_its_digits_are_reported(monkeypatch):
    monkeypatch.setattr("guestlist.risks.memorisation.AT_ONCE", 100)
    case = case_of(simulation(), NAMES)
    assert case.of(headline.find_sampling) == Sampling(400, None, False, mu_fitted_on=100)
    monkeypatch.setattr(headline, "MANY_RECORDS", 300)
    assert not replace(case).of(headline.find_sampling).single_precision  # there are more digits
    values = {name: matrix.astype(np.float32) for name, matrix in case.view.values.items()}
    single = replace(case, view=replace(case.view, values=values)).scored().of(headline.find_sampling)
    assert single == Sampling(400, None, False, mu_fitted_on=100, single_precision=True)
    monkeypatch.setattr("guestlist._views.signals.ENOUGH", 500)
    assert (
        replace(case, view=replace(case.view)).scored().of(headline.find_sampling).classes_fitted_on is None
    )  # no attack learns by class
    taught = case_of(simulation(), (*NAMES, "shadow")).of(headline.find_sampling).classes_fitted_on
    assert taught == len(replace(case.view).estimation_rows) < 400
    assert f"at most {taught} records" in sampling_sentences(Sampling(400, None, False, classes_fitted_on=taught))[0]
    learnt, digits = sampling_sentences(single)
    assert "sample of 100 records" in learnt
    assert "seven digits" in digits


def test_membership_has_no_effect_on_the_sample(few_cells):
    case = case_of(simulation(), NAMES)
    other = replace(case, truth=Truth(~case.truth.member, case.truth.evaluated))
    assert np.array_equal(case.of(sample), other.of(sample))
    assert case.of(headline.chosen).means == other.of(headline.chosen).means


def test_each_part_is_scored_as_a_pool_of_its_own(few_cells):
    """Against the attack on a simulation that has no other records."""
    case = case_of(simulation(), NAMES, population=40)
    parts = scores_part_by_part(case, ATTACKS["lira_bayes"])
    assert parts.shape == (10, 360)
    for part in case.of(parts_of_records):
        alone = replace(
            case.stand_ins,
            values={name: matrix[:, part] for name, matrix in case.stand_ins.values.items()},
            member=case.stand_ins.member[:, part],
            labels=case.stand_ins.labels[part],
        )
        evaluated = part < 360
        expected = score_every_target(ATTACKS["lira_bayes"], alone)[:, evaluated]
        np.testing.assert_allclose(parts[:, part[evaluated]], expected, rtol=1e-6)


def test_an_attack_that_takes_one_target_at_a_time_runs_only_on_the_sample(few_cells):
    case = case_of(simulation(), NAMES)
    parts = scores_part_by_part(case, replace(ATTACKS["loss"], rotates=False))
    assert (~np.isnan(parts)).all(axis=0).nonzero()[0].tolist() == case.of(sample).tolist()


@pytest.mark.slow
def test_a_sampled_audit_finds_what_a_full_one_finds(few_cells, monkeypatch):
    case = case_of(gaussian_simulation(2.0, records=2000, models=17), NAMES)
    results, table = evaluate_case(case), case.of(record_table)
    monkeypatch.undo()
    case = case_of(gaussian_simulation(2.0, records=2000, models=17), NAMES)
    full, whole = evaluate_case(case), case.of(record_table)
    assert full.sampling is None
    assert results.sampling.attack_sample < 100
    assert results.headline.name != "loss"
    assert results.outcomes[0].auc == full.outcomes[0].auc  # the target is judged on all records
    assert results.headline.same_recipe.auc.value == pytest.approx(full.headline.same_recipe.auc.value, abs=0.05)
    assert not table["p_among_models"].isna().any()
    assert np.corrcoef(table["p_among_models"], whole["p_among_models"])[0, 1] > 0.9
    assert results.exposure.flagged == pytest.approx(full.exposure.flagged, rel=0.3)


@pytest.mark.slow
@pytest.mark.parametrize(("audits", "at_most", "lists"), [(30, 5, 8), pytest.param(60, 8, 12, marks=pytest.mark.long)])
def test_where_nothing_leaks_a_sampled_audit_claims_nothing(audits, at_most, lists, few_cells):
    """At most 5% of audits that have nothing to find claim something, 10% list a record, and 5% of intervals exclude 0.5.

    A valid audit fails each assertion in less than 0.5% of draws.
    """
    claims = listed = outside = 0
    for seed in range(audits):
        case = case_of(noise_simulation(records=300, models=11, seed=seed), NAMES)
        claims += any(outcome.beats_guessing for outcome in case.of(attacks.find))
        listed += case.of(exposure.find_exposure).flagged > 0
        recipe = case.of(headline.find).same_recipe.auc
        outside += not recipe.low <= 0.5 <= recipe.high
    assert claims <= at_most
    assert listed <= lists
    assert outside <= at_most
