"""False positive rates of records: known in a finite pool, counted by hand, and not reported as high by chance."""

from dataclasses import replace

import numpy as np
import pytest

from guestlist import Results
from guestlist._findings import headline, hypothesis_tests
from guestlist._findings.hypothesis_tests import count_flags, evenness, far_above
from guestlist._report import prose
from guestlist._report.page import report_page
from guestlist._views import Rotation
from guestlist.evidence import signals_of_margin
from guestlist.selfcheck.simulations import FinitePool
from guestlist.testing import case_of, evaluate_case

POOL = FinitePool(records=600, models=41)


def pool_case(attack: str, pool: FinitePool = POOL, seed: int = 0):
    margin, member = pool.draw(np.random.default_rng(seed))
    return case_of(Rotation(signals_of_margin(margin, 2), member, np.zeros(pool.records, int)), (attack,))


@pytest.fixture(scope="module")
def judged():
    case = pool_case("loss")
    return case, evaluate_case(case)


def test_the_pool_keeps_its_rate_over_all_and_for_no_one():
    hard, easy = POOL.rates(0.05)
    assert POOL.easy * easy + (1 - POOL.easy) * hard == pytest.approx(0.05)
    assert hard < 0.01
    assert easy > 0.45
    margin, member = replace(POOL, records=4000, models=200).draw(np.random.default_rng(1))
    (calls,) = count_flags(margin, member, 0.05)
    assert calls.per_record_fpr[:400].mean() == pytest.approx(easy, abs=0.01)
    assert calls.per_record_fpr[400:].mean() == pytest.approx(hard, abs=0.003)


def test_one_threshold_flags_the_same_easy_records_under_all_models(judged):
    case, results = judged
    at_level = {row.fpr: row for row in hypothesis_tests.find_per_record_fpr(case)}[0.05]
    hard, easy = POOL.rates(0.05)
    assert at_level.rate == pytest.approx(0.05, abs=0.005)
    truth = np.where(POOL.is_easy, easy, hard)
    assert at_level.std == pytest.approx(truth.std(), rel=0.1)
    far = far_above(hypothesis_tests.counts_at_rates(case)[0.05], 0.05)
    assert far[POOL.is_easy].mean() > 0.8  # called every other time, by about 20 models
    assert far[~POOL.is_easy].mean() < 0.01
    assert at_level.far == far.sum()
    records = results.records
    assert records["per_record_fpr"][POOL.is_easy].mean() == pytest.approx(easy, abs=0.04)
    assert records["per_record_tpr"][POOL.is_easy].mean() > records["per_record_fpr"][POOL.is_easy].mean() + 0.2


def test_an_attack_that_compares_a_record_with_itself_has_even_false_positive_rates():
    at_level = {row.fpr: row for row in hypothesis_tests.find_per_record_fpr(pool_case("lira_bayes"))}[0.05]
    assert at_level.far <= 1
    assert at_level.std < 0.02


def test_similar_records_are_not_counted_by_chance():
    pool, wrongly = FinitePool(records=300, models=24, ease=0.0), []
    for seed in range(60):
        margin, member = pool.draw(np.random.default_rng([7, seed]))
        wrongly.append(far_above(count_flags(margin, member, 0.05)[0], 0.05).any())
    assert np.mean(wrongly) <= 0.1


def test_counted_by_hand():
    scores = np.array([[4.0, 3.0, 2.0, 1.0], [4.0, 1.0, np.nan, 3.0], [0.0, 3.0, 2.0, 1.0]])
    member = np.array([[False, True, False, False], [False, True, False, True], [True, False, False, False]])
    (calls,) = count_flags(scores, member, 0.4)  # one of three non-members, none of two
    assert calls.outside.tolist() == [2, 1, 2, 2]
    assert calls.flagged_outside.tolist() == [1, 1, 0, 0]
    assert calls.inside.tolist() == [1, 2, 0, 1]
    assert calls.flagged_inside.tolist() == [0, 1, 0, 0]
    np.testing.assert_array_equal(calls.per_record_fpr, [0.5, 1, 0, 0])
    np.testing.assert_array_equal(calls.per_record_tpr, [0, 0.5, np.nan, 0])
    result = evenness("a", calls, 0.4)
    assert (result.records, result.models, result.rate) == (4, 1.75, 0.375)


def test_the_page_reports_who_is_wrongly_flagged(judged, snapshot):
    _, results = judged
    text = prose("tests.per_record_fpr", results.per_record_fpr[-1])
    assert f"{results.per_record_fpr[-1].far} records (" in text
    snapshot(text, "2")
    assert text in report_page(results)
    assert Results.from_document(results.document()).per_record_fpr == results.per_record_fpr
    even = replace(results.per_record_fpr[0], far=0)
    snapshot(prose("tests.per_record_fpr", even), "2")


def test_without_stand_in_targets_there_is_no_finding():
    case = pool_case("loss", FinitePool(records=100, models=3))
    assert case.of(headline.chosen) is None
    assert hypothesis_tests.find_per_record_fpr(case) is None
    assert "per_record_fpr" not in evaluate_case(case).records
