import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import guestlist as gl
import oracles_metrics as oracle
from guestlist.metrics import agreement, flags_at_fpr, flags_at_level, rates_at_level, tpr_at_fpr

calls = st.sampled_from([0.0, 1.0, np.nan])


@st.composite
def decisions_and_members(draw):
    records, attacks = draw(st.integers(1, 30)), draw(st.integers(0, 4))
    decisions = {f"a{i}": np.array(draw(st.lists(calls, min_size=records, max_size=records))) for i in range(attacks)}
    return decisions, np.array(draw(st.lists(st.booleans(), min_size=records, max_size=records)))


@pytest.mark.slow
@given(decisions_and_members())
def test_agreement_is_counted_record_by_record(simulated):
    decisions, member = simulated
    result = agreement(decisions, member)
    assert result.names == ("truth", *decisions)
    rows = [member.astype(float), *decisions.values()]
    for matrix, kind in ((result.members, member), (result.nonmembers, ~member)):
        expected = [[oracle.agreement(a, b, kind) for b in rows] for a in rows]
        np.testing.assert_allclose(matrix, expected, rtol=1e-12)


def test_agreement_with_the_truth_is_tpr_and_one_minus_fpr():
    rng = np.random.default_rng(0)
    member = rng.random(500) < 0.4
    p_values = rng.random(500) ** (1 + member)
    result = agreement({"test": flags_at_level(p_values, 0.2)}, member)
    fpr, tpr = rates_at_level(p_values, member, 0.2)
    assert result.members[0, 1] == pytest.approx(tpr.value)
    assert result.nonmembers[1, 0] == pytest.approx(1 - fpr.value)


def test_attacks_that_have_nothing_in_common_agree_by_chance():
    rng = np.random.default_rng(0)
    member = np.zeros(40_000, dtype=bool)
    result = agreement({name: flags_at_level(rng.random(len(member)), 0.1) for name in "ab"}, member)
    assert result.nonmembers[1, 2] == pytest.approx(0.1**2 + 0.9**2, abs=0.008)  # four standard errors
    assert np.isnan(result.members).all()


def test_decisions_at_an_fpr_are_those_of_tpr_at_fpr():
    rng = np.random.default_rng(1)
    member = rng.random(400) < 0.5
    scores = np.round(rng.normal(size=400) + member, 1)
    scores[:7] = np.nan
    called = flags_at_fpr(scores, member, 0.1)
    assert np.isnan(called[:7]).all()
    assert np.nanmean(called[member]) == pytest.approx(tpr_at_fpr(scores, member, 0.1).value)
    assert np.nanmean(called[~member]) <= 0.1
    assert np.nansum(flags_at_fpr(np.full(4, np.inf), np.array([1, 1, 0, 0]), 0.1)) == 0


def test_a_level_is_reached_by_equality_and_nan_stays_nan():
    np.testing.assert_array_equal(flags_at_level([0.05, 0.0501, np.nan, 0.0], 0.05), [1, 0, np.nan, 1])


def test_invalid_decisions_are_refused():
    member = np.array([True, False])
    with pytest.raises(ValueError, match=r"Expected flags of 'a' shaped \(2,\), found \(3,\)"):
        agreement({"a": np.zeros(3)}, member)
    with pytest.raises(ValueError, match="true, false or NaN"):
        agreement({"a": np.array([0.3, 1.0])}, member)  # scores, by mistake
    with pytest.raises(ValueError, match=r"alpha=1.5 in \[0, 1\]"):
        flags_at_level(np.zeros(2), 1.5)


def test_it_is_public():
    assert gl.metrics.agreement is agreement
