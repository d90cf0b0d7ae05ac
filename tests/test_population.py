"""A population that repeats members or non-members."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import guestlist as gl
from guestlist.models.input_checks import repeated_in_population


def sides(*sizes):
    """Masks of members, non-members and the rest."""
    number = np.repeat(np.arange(len(sizes)), sizes)
    return number == 0, number == 1


def test_a_repeated_set_is_detected_with_its_counts():
    member, outside = sides(4, 4, 7)
    hashes = np.array([1, 2, 3, 3, 11, 12, 13, 14, 1, 2, 3, 3, 3, 20, 21])
    repeated = repeated_in_population(hashes, member, outside)
    assert np.flatnonzero(repeated).tolist() == [8, 9, 10, 11]  # the third 3 is another person


@pytest.mark.parametrize("seed", range(20))
def test_records_with_few_values_have_chance_duplicates_and_keep_them(seed):
    rng = np.random.default_rng(seed)
    values = np.where(rng.random(1200) < 0.5, rng.geometric(0.1, size=1200), 1000 + rng.permutation(1200))
    member, outside = sides(300, 300, 600)
    assert 0.4 < np.isin(values[outside], values[member]).mean() < 0.6
    assert not repeated_in_population(values, member, outside).any()
    again = np.concatenate([values[:600], values[:300], values[600:]])  # now it contains the members too
    member, outside = sides(300, 300, 900)
    assert repeated_in_population(again, member, outside).sum() == 300


@pytest.mark.parametrize("seed", range(5))
def test_records_that_are_never_equal_have_none(seed):
    values = np.random.default_rng(seed).permutation(3000)
    member, outside = sides(300, 300, 2400)
    assert not repeated_in_population(values, member, outside).any()
    values[600:610] = values[:10]  # 10 of 300 are more than chance
    assert np.flatnonzero(repeated_in_population(values, member, outside)).tolist() == list(range(600, 610))


@pytest.mark.slow
@pytest.mark.parametrize("side", [0, 1])
def test_a_repeated_set_changes_no_result(side):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(360, 3)), rng.integers(2, size=360)
    sets = [(x[:120], y[:120]), (x[120:240], y[120:240])]
    population = x[240:], y[240:]
    again = tuple(np.concatenate(parts) for parts in zip(population, sets[side], strict=True))
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(*sets[0])
    plan = {"references": 8, "attacks": ["lira"], "jobs": 1, "baseline": False}
    plain = gl.audit(model, *sets, population, **plan)
    with pytest.warns(gl.AuditWarning, match="120 records of the population were removed"):
        results = gl.audit(model, *sets, again, **plan)
    assert results.attack("lira").auc == plain.attack("lira").auc
