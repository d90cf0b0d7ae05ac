import subprocess
import sys

import numpy as np
import pytest

from guestlist import Data
from guestlist._store import Manifest
from guestlist.games import Bernoulli, Sides, draw, inclusion_rate, matching_sides, single_target_split
from guestlist.games.bernoulli import draw_inclusion_by_class


def people(count: int) -> Data:
    return Data(np.zeros((count, 1)), np.zeros(count, int), np.arange(count).astype(str))


def classes(labels: np.ndarray) -> Data:
    return Data(np.zeros((len(labels), 1)), labels)


def test_row_zero_is_the_target_and_more_references_leave_the_first_ones_alone():
    target = single_target_split(np.array([True, False] * 50), np.ones(100, bool))
    few, many = (draw(Bernoulli(0.5), people(100), models, 3, start=target) for models in (5, 20))
    assert (few.members == target.members).all()
    assert (many.member[:5] == few.member).all()
    assert not (few.member[1] == few.member[2]).all()


def test_what_was_drawn_before_is_never_drawn_again():
    before = draw(Bernoulli(0.5), people(100), 4, seed=0)
    after = draw(Bernoulli(0.9), people(100), 6, seed=1, start=before)
    assert (after.member[:4] == before.member).all()


def test_cells_are_drawn_at_the_rate_independently():
    member = draw(Bernoulli(0.3), people(4000), 101, seed=0).member[1:]
    assert member.mean() == pytest.approx(0.3, abs=0.003)
    # The count per record has binomial variance: an exact-half design would have none, and reveal membership.
    assert member.sum(axis=0).var() == pytest.approx(100 * 0.3 * 0.7, rel=0.1)


@pytest.mark.parametrize(
    ("members", "pool", "references", "expected"),
    [(500, 1000, 32, 0.5), (700, 1000, 32, 0.7), (999, 1000, 8, 0.5), (950, 1000, 10_000, 0.95)],
)
def test_references_train_on_as_many_records_as_the_target_where_they_can(members, pool, references, expected):
    assert inclusion_rate(members, pool, references) == pytest.approx(expected)


@pytest.mark.slow
def test_the_inclusion_rate_gives_records_in_and_out_references():
    rate = inclusion_rate(990, 1000, references=32)
    member = draw(Bernoulli(rate), people(20_000), 33, seed=0).member[1:]
    short = ((~member).sum(axis=0) < 2).mean()
    assert rate < 0.9
    assert short == pytest.approx(0.01, abs=0.004)


@pytest.mark.parametrize("rate", [0.0, 1.0, -1])
def test_a_rate_is_a_share(rate):
    with pytest.raises(ValueError, match="Expected rate="):
        Bernoulli(rate)


def test_sets_have_their_sizes_and_the_other_records_are_population():
    split = draw(Sides(30, 20), people(100), 9, seed=0)
    assert split.members.sum() == 30
    assert split.nonmembers.sum() == 20
    assert split.population.sum() == 50
    assert not (split.members & split.nonmembers).any()
    assert (split.evaluated == split.evaluated[0]).all()
    assert split.member[1:].mean() == pytest.approx(0.3, abs=0.05)
    other = draw(Sides(30, 20), people(100), 1, seed=1)
    assert (other.members != split.members).any()


def test_sets_must_fit_into_the_pool():
    with pytest.raises(ValueError, match="more than the 100 records"):
        draw(Sides(60, 50), people(100), 1, seed=0)
    with pytest.raises(ValueError, match="Expected members=0"):
        Sides(0, 10)


# -- classes of few records ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("records", "rate", "least"), [(4, 0.5, 2), (2, 0.5, 1), (4, 0.2, 1), (12, 0.5, 5)])
def test_no_row_misses_a_class_of_several_records(records, rate, least):
    labels = np.repeat(["often", "seldom"], [396, records])
    counts = [draw_inclusion_by_class(classes(labels), rate, 0, k)[396:].sum() for k in range(300)]
    assert min(counts) == least
    assert max(counts) > least


@pytest.mark.slow
def test_a_row_without_too_few_is_drawn_as_if_there_were_no_classes():
    """Estimate by rejection sampling: the expectation for a class of four, given that two are included."""
    rows = np.array([draw_inclusion_by_class(classes(np.repeat([0, 1], [40, 4])), 0.5, 3, k) for k in range(4000)])
    counts = np.bincount(rows[:, 40:].sum(axis=1), minlength=5) / 4000
    np.testing.assert_allclose(counts, np.array([0, 0, 6, 4, 1]) / 11, atol=0.03)
    assert rows[:, :40].mean() == pytest.approx(0.5, abs=0.01)
    # Rows know nothing of each other.
    assert abs(np.corrcoef(rows[:2000:2, 40:].ravel(), rows[1:2000:2, 40:].ravel())[0, 1]) < 0.06


def test_a_class_of_one_record_may_be_missing_unless_there_are_but_two():
    three = np.array(
        [draw_inclusion_by_class(classes(np.repeat([0, 1, 2], [20, 20, 1])), 0.5, 0, k)[-1] for k in range(200)]
    )
    assert 0.3 < three.mean() < 0.7
    assert all(draw_inclusion_by_class(classes(np.repeat([0, 1], [20, 1])), 0.5, 0, k)[-1] for k in range(50))


# -- references of the target's size ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("members", "nonmembers", "pool", "references"),
    [(200, 200, 4500, 32), (200, 200, 4500, 8), (200, 200, 600, 32), (200, 200, 400, 32), (700, 300, 1000, 32)],
)
def test_references_are_as_large_as_the_target_however_large_the_population_is(members, nonmembers, pool, references):
    game = matching_sides(members, nonmembers, pool, references)
    start = single_target_split(np.arange(pool) < members, np.arange(pool) < members + nonmembers)
    split = draw(game, people(pool), 1 + 60, seed=1, start=start)
    assert split.member[1:].sum(axis=1).mean() == pytest.approx(members, rel=0.03)
    # Every queried record has IN and OUT references.
    short = np.minimum(split.member[1:].mean(axis=0), 1 - split.member[1:].mean(axis=0))[split.evaluated[0]]
    assert short.min() > 0
    trained = split.member[1:].any(axis=0)
    assert trained[split.evaluated[0]].all()
    if game.population is not None:
        assert trained.sum() == members + nonmembers + game.population


def test_too_many_nonmembers_make_references_larger_than_the_target():
    """All records are evaluated, so none may be omitted; the check for sizes then reports it."""
    game = matching_sides(50, 3000, 4000, 32)
    assert game.population == 0
    assert game.rate * 3050 > 100


def test_a_process_that_draws_and_trains_references_does_not_load_scipy_stats():
    """It takes a second in every process."""
    code = "import sys, guestlist.games.canaries, guestlist._collect.references; print('scipy.stats' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "False"


# -- rows of other pools --------------------------------------------------------------------------------------------------


def manifest(**changes) -> Manifest:
    known = {"data": "d", "split": "s", "recipe": "r", "seed": 0, "game": {}, "scale": "logits", "classes": ("a", "b")}
    return Manifest(**{**known, **changes})


def test_references_of_another_pool_or_other_members_have_rows_of_their_own():
    plain = manifest().rows_seed
    others = [manifest(**change).rows_seed for change in ({"data": "e"}, {"split": "t"}, {"seed": 1})]
    assert len({plain, *others}) == 4
    assert manifest(recipe="another").rows_seed == plain  # two models of one pool are compared on the same rows
    drawn = [draw(Bernoulli(0.5), people(1000), 2, seed).member[1] for seed in (plain, *others)]
    assert np.abs(np.corrcoef(drawn) - np.eye(4)).max() < 0.15
