import numpy as np
import pytest

from guestlist.games import Design, inclusion_rate


def test_row_zero_is_the_target_and_more_references_leave_the_first_ones_alone():
    design = Design(np.array([True, False] * 50), 0.5, seed=3)
    few, many = design.rows(5), design.rows(20)
    assert (few[0] == design.member).all()
    assert (many[:5] == few).all()
    assert not (few[1] == few[2]).all()


def test_cells_are_drawn_at_the_rate_independently():
    member = Design(np.zeros(4000, bool), 0.3, seed=0).rows(101)[1:]
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
    member = Design(np.zeros(20_000, bool), rate, seed=0).rows(33)[1:]
    short = ((~member).sum(axis=0) < 2).mean()
    assert rate < 0.9
    assert short == pytest.approx(0.01, abs=0.004)
