"""Budgets of minutes: the number of reference models that fit, on a clock that the tests set."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import guestlist as gl
from guestlist import WithinMinutes
from guestlist._audit import flow
from guestlist._collect import train_within
from guestlist._report.next_steps import next_steps
from guestlist._report.terminal import summary
from guestlist._store import open_store
from guestlist.errors import AuditWarning


class Clock:
    """A clock that moves only when models are trained."""

    def __init__(self):
        self.seconds = 0.0

    def now(self):
        return self.seconds


def rounds(budget, seconds, *, jobs=1, existing=0, replan=None):
    """Return the outcome, the total after each round, and the clock; ``seconds(n)`` is the time of a round of n models."""
    clock = Clock()
    totals = [existing]

    def train(total):
        clock.seconds += seconds(total - totals[-1])
        totals.append(total)
        return total - totals[-2]

    outcome = train_within(
        budget, train, replan or (lambda expected: totals[-1]), existing=existing, jobs=jobs, elapsed=clock.now
    )
    return outcome, totals[1:], clock


def test_rounds_use_half_of_what_still_fits():
    outcome, totals, clock = rounds(WithinMinutes(10), lambda n: 30 * n)
    assert totals == [1, 9, 13, 15, 16, 17]  # 510 s for training, one model every 30 s
    assert (outcome.references, outcome.seconds_per_model) == (17, 30)
    assert clock.seconds == 510


def test_rounds_are_multiples_of_the_parallel_jobs():
    outcome, totals, clock = rounds(WithinMinutes(10), lambda n: 30 * -(-n // 4), jobs=4)
    assert np.all(np.diff(totals) % 4 == 0)
    assert outcome.seconds_per_model == 30 / 4
    assert 510 - 60 < clock.seconds <= 510


def test_models_that_become_slower_stay_within_the_minutes():
    _, totals, clock = rounds(WithinMinutes(10), lambda n: 20 * n if n == 1 else 40 * n)
    assert totals == [1, 13]
    assert clock.seconds == 500


def test_a_first_model_that_takes_too_long_is_the_only_one():
    outcome, totals, _ = rounds(WithinMinutes(1), lambda n: 300 * n)
    assert totals == [1]
    assert (outcome.references, outcome.seconds_per_model) == (1, 300)


def test_known_seconds_save_the_first_timing():
    outcome, totals, _ = rounds(WithinMinutes(1, seconds_per_model=300), lambda n: 300 * n)
    assert (totals, outcome.references, outcome.seconds_per_model) == ([], 0, 300)
    assert rounds(WithinMinutes(10, seconds_per_model=30), lambda n: 30 * n)[1][0] == 8


def test_reference_models_of_an_earlier_run_are_kept_and_more_are_added():
    outcome, totals, _ = rounds(WithinMinutes(10), lambda n: 30 * n, existing=20)
    assert totals[0] == 21
    assert outcome.references == 37
    assert rounds(WithinMinutes(10, at_most=16), lambda n: 30 * n, existing=20)[0].references == 16


def test_the_largest_number_is_respected():
    outcome, totals, _ = rounds(WithinMinutes(10, at_most=11), lambda n: n)
    assert totals == [1, 11]
    assert outcome.references == 11


def test_the_plan_is_made_once_for_the_expected_number():
    expected = []

    def replan(number):
        expected.append(number)
        return 1

    rounds(WithinMinutes(10), lambda n: 30 * n, replan=replan)
    assert expected == [17]


@pytest.mark.parametrize(
    "wrong", [{"minutes": 0}, {"minutes": np.nan}, {"minutes": 1, "at_most": 0}, {"minutes": 1, "seconds_per_model": 0}]
)
def test_settings_check_themselves(wrong):
    with pytest.raises(ValueError, match="Expected"):
        WithinMinutes(**wrong)


CLOCK = Clock()


def train(data, rng):
    """Train a tree, which takes ten seconds on the clock."""
    CLOCK.seconds += 10
    return DecisionTreeClassifier(random_state=int(rng.integers(2**31))).fit(data.x, data.y)


@pytest.fixture
def timed(monkeypatch):
    """Return the training function, with a clock of its own."""
    monkeypatch.setattr(flow, "monotonic", CLOCK.now)
    return train


def audit(model, sets, train, references, **options):
    options = {"attacks": ["lira"], "baseline": False, "engine": gl.Here(), "progress": False, **options}
    return gl.audit(model, *sets, train=train, references=references, **options)


def collect(model, sets, train, references, folder):
    options = {"baseline": False, "engine": gl.Here(), "progress": False}
    return gl.collect(model, *sets, train=train, references=references, folder=folder, **options)


def test_results_equal_those_of_the_fixed_number(tree, blobs, timed, tmp_path):
    results = audit(tree, blobs, timed, WithinMinutes(1), folder=tmp_path / "a")
    assert (results.references.count, results.references.minutes) == (5, 1)  # 51 s for training
    assert results.references.seconds_per_model == 10
    fixed = audit(tree, blobs, timed, 5, folder=tmp_path / "b")
    assert fixed.references == replace(results.references, minutes=None, seconds_per_model=None)
    for name in ("outcomes", "headline", "exposed", "checks"):
        assert results.document()[name] == fixed.document()[name]


def test_attacks_are_selected_for_the_number_that_fits(tree, blobs, timed, tmp_path):
    case = collect(tree, blobs, timed, WithinMinutes(1), tmp_path / "a")
    fixed = collect(tree, blobs, timed, 5, tmp_path / "b")
    assert case.view.references == 5
    assert "lira" in case.attacks
    assert list(case.scores) == list(fixed.scores)
    for name, scores in case.scores.items():
        np.testing.assert_array_equal(scores, fixed.scores[name])


def test_the_same_folder_resumes(tree, blobs, timed, tmp_path):
    audit(tree, blobs, timed, WithinMinutes(0.5), folder=tmp_path, attacks=["base"])
    results = audit(tree, blobs, timed, WithinMinutes(0.5), folder=tmp_path, attacks=["base"])
    assert results.references.count == 4  # two in each run
    assert audit(tree, blobs, timed, 4, folder=tmp_path, attacks=["base"]).attacks.equals(results.attacks)


def test_the_inclusion_probability_suits_the_expected_number(timed, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 3))
    y = (x[:, 0] > 0).astype(int)
    sets = (x[:20], y[:20]), (x[20:], y[20:])
    model = DecisionTreeClassifier(random_state=0).fit(*sets[0])
    case = collect(model, sets, timed, WithinMinutes(8), tmp_path / "a")
    fixed = collect(model, sets, timed, case.view.references, tmp_path / "b")
    assert case.setting.rate == fixed.setting.rate < 0.5
    np.testing.assert_array_equal(case.view.reference_member, fixed.view.reference_member)
    np.testing.assert_array_equal(case.view.values["loss"], fixed.view.values["loss"])


def test_minutes_that_fit_no_model_warn_and_audit_without_references(tree, blobs, timed):
    budget = WithinMinutes(0.1, seconds_per_model=30)
    with pytest.warns(AuditWarning, match="No reference model fits into 0.1 minutes: one takes 30 s"):
        results = audit(tree, blobs, timed, budget, attacks=["loss"])
    assert results.references is None


def test_an_attack_that_needs_more_models_than_fit_is_refused(tree, blobs, timed, tmp_path):
    with pytest.raises(gl.InputError, match="'lira' needs at least 4 reference models, found 2"):
        audit(tree, blobs, timed, WithinMinutes(0.5), folder=tmp_path)
    assert open_store(tmp_path).models() == [0, 1, 2]  # the trained ones are kept


def test_more_time_is_in_the_next_steps_and_in_the_terminal(tree, blobs, timed, tmp_path):
    results = audit(tree, blobs, timed, WithinMinutes(1), folder=tmp_path)
    text = " ".join(summary(results, width=2000).split())
    assert "5 reference models fitted into 1 minute. 8 would take about 30 s more: `gl.audit(" in text
    assert next_steps(results)[-1].startswith("5 reference models fitted into 1 minute.")
