"""Means of groups: bounds that hold for discrete values, a p-value that agrees with its interval, and Holm by hand."""

import numpy as np
import pytest

from guestlist.metrics import group_means, holm, proportion, proportion_difference


def test_of_zeros_and_ones_it_is_a_share():
    rng = np.random.default_rng(0)
    values, group = (rng.random(60) < 0.3).astype(float), np.arange(60) < 25
    (means,) = group_means(values, [group])
    inside, outside = int(values[group].sum()), int(values[~group].sum())
    assert means.mean == pytest.approx(proportion(inside, 25))
    assert means.beyond_rest == pytest.approx(proportion_difference(inside, 25, outside, 35))


@pytest.mark.parametrize(("persons", "shift"), [(None, 1.0), (np.arange(80) // 4, 2.0)], ids=["alone", "persons"])
def test_the_p_value_is_the_error_at_which_the_interval_ends_at_0(persons, shift):
    rng = np.random.default_rng(1)
    group = np.arange(80) < 32
    values = np.round(rng.normal(size=80) + shift * group, 1)
    values[3] = np.nan
    means = group_means(values, [group, ~group], clusters=persons)
    assert 1e-6 < means[0].p_value < 0.05
    assert means[1].p_value == pytest.approx(means[0].p_value)
    assert means[1].beyond_rest.value == pytest.approx(-means[0].beyond_rest.value)
    (at,) = group_means(values, [group], clusters=persons, confidence=1 - means[0].p_value)
    assert at.beyond_rest.low == pytest.approx(0, abs=1e-6)


def test_shifted_and_stretched_values_give_shifted_and_stretched_means():
    rng = np.random.default_rng(2)
    values, group = rng.gamma(2, size=90), np.arange(90) < 40
    (plain,), (other,) = group_means(values, [group]), group_means(5 * values - 3, [group])
    assert other.mean == pytest.approx([5 * end - 3 for end in plain.mean])
    assert other.beyond_rest == pytest.approx([5 * end for end in plain.beyond_rest])
    assert other.p_value == pytest.approx(plain.p_value)


def test_a_small_group_that_is_all_0_is_not_sure_of_it():
    """Student's interval would be: one in twenty of the others is 1."""
    values, group = np.zeros(400), np.arange(400) < 12
    values[20::20] = 1
    (means,) = group_means(values, [group])
    assert means.mean.value == 0
    assert means.mean.high > 0.2
    assert means.p_value > 0.3


def test_what_has_no_value_has_no_mean():
    values, none, everyone = np.array([1.0, 2.0, np.nan]), np.array([False, False, True]), np.ones(3, bool)
    empty, means = group_means(values, [none, everyone])
    assert np.isnan([empty.mean.value, empty.p_value, means.beyond_rest.value, means.p_value]).all()
    assert means.mean.value == 1.5
    (nothing,) = group_means(np.full(3, np.nan), [everyone])
    assert np.isnan(nothing.mean.value)


def test_constant_values_have_no_mean_without_bounds():
    """Nothing at all, unless it is known which others there can be."""
    values, group = np.zeros(40), np.arange(40) < 20
    assert np.isnan(group_means(values, [group])[0].mean.value)
    (means,) = group_means(values, [group], bounds=(0, 1))
    assert means.mean == pytest.approx(proportion(0, 20))
    assert (means.beyond_rest.value, means.p_value) == (0, 1)
    with pytest.raises(ValueError, match=r"found 0\.0 to 0\.0"):
        group_means(values, [group], bounds=(1, 2))


def test_holm_by_hand():
    p_values = np.array([0.04, np.nan, 0.001, 0.02, 0.9])
    np.testing.assert_allclose(holm(p_values), [0.08, np.nan, 0.004, 0.06, 0.9])
    assert holm(np.array([])).shape == (0,)
