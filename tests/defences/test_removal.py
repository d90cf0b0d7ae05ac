"""Test which members are removed: those with the largest risk, whole persons, and never more than the share."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import guestlist as gl
from guestlist import InputError


def table(risk, member=None, **columns):
    member = np.ones(len(risk), bool) if member is None else member
    return pd.DataFrame({"id": [f"r{i}" for i in range(len(risk))], "member": member, "risk_mu": risk, **columns})


@pytest.mark.slow
@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.floats(-3, 3) | st.just(np.nan), st.booleans()), min_size=1, max_size=30), st.floats(0, 0.99)
)
def test_only_the_riskiest_members_are_removed(rows, share):
    risk, member = map(np.array, zip(*rows, strict=True))
    records = table(risk.astype(float), member)
    removed = np.isin(records["id"], gl.defences.Removal(share).leaving(records))
    assert not removed[~member].any()
    assert not np.isnan(risk[removed].astype(float)).any()
    known = member & ~np.isnan(risk)
    assert removed.sum() == min(int(share * member.sum() + 1e-9), known.sum())
    if removed.any() and (known & ~removed).any():
        assert risk[removed].min() >= risk[known & ~removed].max()


def test_persons_are_removed_as_a_whole():
    records = table([3.0, 0.0, 2.0, 1.0], person=["a", "a", "b", "c"])
    assert list(gl.defences.Removal(0.5).leaving(records)) == ["r0", "r1"]
    assert list(gl.defences.Removal(0.25).leaving(records)) == []  # a person has two records of four
    assert list(gl.defences.Removal(0.75).leaving(records)) == ["r0", "r1", "r2"]


def test_any_risk_is_accepted_and_a_missing_one_is_named():
    records = table([0.0, 1.0], risk_own=[1.0, 0.0], risk_mu_low=[0.0, 0.0])
    assert list(gl.defences.Removal(0.5, "own").leaving(records)) == ["r0"]
    with pytest.raises(InputError, match=r"no risk 'shapr'\. Available risks: mu, own"):
        gl.defences.Removal(0.5, "shapr").leaving(records)
    with pytest.raises(ValueError, match="share=1"):
        gl.defences.Removal(1)
    assert gl.defences.Removal(0.1).describe() != gl.defences.Removal(0.2).describe()
