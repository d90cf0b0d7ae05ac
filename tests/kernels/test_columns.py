"""Columns of matrices: the same numbers as numpy's, laid out model by model."""

import numpy as np
import pytest

from guestlist._kernels import take_columns

MATRIX = np.arange(30.0).reshape(3, 10)


@pytest.mark.parametrize("places", [[0, 4, 9], [7, 2, 2], [3, 4, 5], [], list(range(10))])
def test_the_same_as_by_index_and_model_by_model_in_memory(places):
    columns = take_columns(MATRIX, np.array(places, dtype=np.int64))
    assert np.array_equal(columns, MATRIX[:, places])
    assert columns.flags.c_contiguous
    mask = np.isin(np.arange(10), places)
    assert np.array_equal(take_columns(MATRIX, mask), MATRIX[:, mask])


def test_all_of_them_are_not_copied():
    assert np.shares_memory(take_columns(MATRIX, np.ones(10, dtype=bool)), MATRIX)


@pytest.mark.parametrize("records", [[8, 9, 10], [2, 11], np.ones(9, dtype=bool), np.ones(11, dtype=bool)])
def test_missing_records_are_refused(records):
    with pytest.raises(IndexError):
        take_columns(MATRIX, np.array(records))
