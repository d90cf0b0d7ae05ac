import numpy as np
import pytest

from guestlist.data import Data
from guestlist.games import Bernoulli, Sides, draw, inclusion_rate, one_target


def people(count: int) -> Data:
    return Data(np.zeros((count, 1)), np.zeros(count, int), np.arange(count).astype(str))


def test_row_zero_is_the_target_and_more_references_leave_the_first_ones_alone():
    target = one_target(np.array([True, False] * 50), np.ones(100, bool))
    few, many = (draw(Bernoulli(0.5), people(100), models, 3, given=target) for models in (5, 20))
    assert (few.members == target.members).all()
    assert (many.member[:5] == few.member).all()
    assert not (few.member[1] == few.member[2]).all()


def test_what_was_drawn_before_is_never_drawn_again():
    before = draw(Bernoulli(0.5), people(100), 4, seed=0)
    after = draw(Bernoulli(0.9), people(100), 6, seed=1, given=before)
    assert (after.member[:4] == before.member).all()


def test_cells_are_drawn_at_the_rate_independently():
    member = draw(Bernoulli(0.3), people(4000), 101, seed=0).member[1:]
    assert member.mean() == pytest.approx(0.3, abs=0.003)
    # Binomial spread of the count per record: an exact-half design would have none, and give membership away.
    assert member.sum(axis=0).var() == pytest.approx(100 * 0.3 * 0.7, rel=0.1)


@pytest.mark.parametrize(
    ("members", "pool", "references", "expected"),
    [(500, 1000, 32, 0.5), (700, 1000, 32, 0.7), (999, 1000, 8, 0.5), (950, 1000, 10_000, 0.95)],
)
def test_references_train_on_as_many_records_as_the_target_where_they_can(members, pool, references, expected):
    assert inclusion_rate(members, pool, references) == pytest.approx(expected)


def test_the_rate_leaves_records_references_on_both_sides():
    rate = inclusion_rate(990, 1000, references=32)
    member = draw(Bernoulli(rate), people(20_000), 33, seed=0).member[1:]
    short = ((~member).sum(axis=0) < 2).mean()
    assert rate < 0.9
    assert short == pytest.approx(0.01, abs=0.004)


@pytest.mark.parametrize("rate", [0.0, 1.0, -1])
def test_a_rate_is_a_share(rate):
    with pytest.raises(ValueError, match="Expected rate="):
        Bernoulli(rate)


def test_sides_have_their_sizes_and_the_rest_is_population():
    split = draw(Sides(30, 20), people(100), 9, seed=0)
    assert split.members.sum() == 30
    assert split.nonmembers.sum() == 20
    assert split.population.sum() == 50
    assert not (split.members & split.nonmembers).any()
    assert (split.asked == split.asked[0]).all()
    assert split.member[1:].mean() == pytest.approx(0.3, abs=0.05)
    other = draw(Sides(30, 20), people(100), 1, seed=1)
    assert (other.members != split.members).any()


def test_sides_must_fit_into_the_pool():
    with pytest.raises(ValueError, match="among 100 records"):
        draw(Sides(60, 50), people(100), 1, seed=0)
    with pytest.raises(ValueError, match="Expected members=0"):
        Sides(0, 10)
