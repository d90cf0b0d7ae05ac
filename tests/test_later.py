"""Names of records are made when somebody reads them, and then are what they would have been."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

import guestlist as gl
from guestlist.errors import InputError
from guestlist.later import Later


def some(records: int = 6) -> gl.Data:
    return gl.Data(np.arange(records)[:, None], np.arange(records) % 2, np.array([f"id {i}" for i in range(records)]))


def test_some_of_the_names_are_those_of_the_records():
    part = some().take(np.array([4, 1, 3])).take(np.array([True, False, True]))
    assert part.ids.tolist() == ["id 4", "id 3"]
    assert part.ids is part.ids


def test_made_up_names_are_those_of_the_rows():
    assert gl.Data(np.zeros((3, 1)), np.zeros(3)).take(np.array([2, 0])).ids.tolist() == ["row:2", "row:0"]


def test_nothing_is_made_before_it_is_read():
    def fail():
        raise AssertionError("nobody asked for it")

    data = gl.Data(np.zeros((3, 1)), np.zeros(3), Later(fail, 3))
    part = data.take(np.array([True, False, True]))
    assert len(part) == 2
    with pytest.raises(AssertionError, match="nobody asked"):
        _ = part.ids


def test_positions_that_change_later_change_nothing():
    places = np.array([0, 1])
    part = some().take(places)
    places[:] = 5
    assert part.ids.tolist() == ["id 0", "id 1"]
    assert part.x[:, 0].tolist() == [0, 1]


@pytest.mark.parametrize("again", [lambda one: pickle.loads(pickle.dumps(one)), copy.copy, copy.deepcopy, replace])
def test_copies_have_the_names(again):
    part = some().take(np.array([5, 2]))
    found = again(part)
    assert found.ids.tolist() == ["id 5", "id 2"]
    assert found.y.tolist() == part.y.tolist()


def test_a_copy_of_few_records_carries_few_names():
    whole = some(100_000)
    assert len(pickle.dumps(whole.take(np.arange(3)))) < 2000


def test_a_wrong_number_of_names_is_still_told():
    with pytest.raises(InputError, match="ids: 2"):
        gl.Data(np.zeros((3, 1)), np.zeros(3), np.array(["a", "b"]))
    with pytest.raises(InputError, match="ids: 2"):
        gl.Data(np.zeros((3, 1)), np.zeros(3), Later(lambda: np.array(["a", "b"]), 2))


def test_labels_are_numbered_in_the_order_of_their_appearance():
    assert gl.Data(np.zeros((4, 1)), np.array(["b", "a", "b", "c"])).kinds.tolist() == [0, 1, 0, 2]
