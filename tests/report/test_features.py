"""Features appear on a page if they are requested, and only there."""

import numpy as np
import pandas as pd
import pytest

import guestlist as gl
from example_results import HOSTILE, leaking
from guestlist import InputError
from guestlist._report.page import MAX_COLUMNS, report_page, with_features


def members(**changes):
    ids = np.array([record.id for record in leaking().exposed], dtype=object)
    x = pd.DataFrame({"wage": np.arange(len(ids)) + 1000.5, HOSTILE: HOSTILE})
    return gl.Data(**{"x": x, "y": np.zeros(len(ids)), "ids": ids} | changes)


@pytest.mark.slow
def test_features_are_found_by_id_and_shown_as_text():
    base, order = members(), np.random.default_rng(0).permutation(len(leaking().exposed))
    results = leaking()
    page = with_features(results, base.take(order))
    assert [record.features["wage"] for record in page.exposed] == [str(1000.5 + i) for i in range(len(order))]
    made = report_page(page)
    assert ">1003.5<" in made
    assert "<img src=x" not in made
    assert "and shows their features" in made
    assert "1003.5" not in report_page(results)
    assert all(record.features == {} for record in results.exposed)


@pytest.mark.slow
def test_arrays_have_numbered_features_and_wide_ones_are_cut():
    ids = members().ids
    page = with_features(leaking(), members(x=np.ones((len(ids), 2 * MAX_COLUMNS))))
    assert list(page.exposed[0].features) == [f"x{i}" for i in range(MAX_COLUMNS)]


@pytest.mark.slow
def test_records_that_do_not_match_are_reported():
    ids = members().ids.copy()
    with pytest.raises(InputError, match="1 are not in these records"):
        with_features(leaking(), members(ids=np.where(np.arange(len(ids)) == 2, "unknown", ids)))
    with pytest.raises(InputError, match="belong to several records"):
        with_features(leaking(), members().take(np.r_[0, np.arange(len(ids))]))
    with pytest.raises(InputError, match="have the shape"):
        with_features(leaking(), members(x=np.ones((len(ids), 3, 3))))
