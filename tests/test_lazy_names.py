"""Record names are created when they are read, and equal those created at once."""

import copy
import json
import pickle
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest

import guestlist as gl
from guestlist import InputError
from guestlist._util import LazyArray
from guestlist._util.environment import LazyModule


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
        raise AssertionError("it was not requested")

    data = gl.Data(np.zeros((3, 1)), np.zeros(3), LazyArray(fail, 3))
    part = data.take(np.array([True, False, True]))
    assert len(part) == 2
    with pytest.raises(AssertionError, match="not requested"):
        _ = part.ids


def test_a_change_of_something_else_does_not_read_them():
    def fail():
        raise AssertionError("it was not requested")

    data = gl.Data(np.zeros((3, 1)), np.zeros(3), LazyArray(fail, 3))
    assert data.changed(y=np.ones(3)).y.tolist() == [1, 1, 1]
    assert data.changed(x=np.ones((3, 2))).x.shape == (3, 2)


def test_every_reader_gets_the_same_object():
    made = []

    def make():
        made.append(1)
        return np.array(["a", "b", "c"], dtype=object)

    data = gl.Data(np.zeros((3, 1)), np.zeros(3), LazyArray(make, 3))
    parts = [data.take(np.array([index])) for index in range(3)]
    assert [part.ids[0] for part in parts] + data.ids.tolist() == ["a", "b", "c"] * 2
    assert len(made) == 1


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([], []),
        (slice(1, 3), [1, 2]),
        ([-1, 0], [5, 0]),
        (np.zeros(6, bool), []),
        (range(2), [0, 1]),
        ([True] * 6, [*range(6)]),
    ],
    ids=str,
)
@pytest.mark.parametrize("form", ["array", "table", "texts"])
def test_records_are_taken_by_mask_position_or_slice(form, records, expected):
    numbers = np.arange(6)
    x = {"array": numbers[:, None], "table": pd.DataFrame({"n": numbers}), "texts": numbers.astype(str).astype(object)}
    part = gl.Data(x[form], numbers).take(records)
    assert part.y.tolist() == expected
    assert part.ids.tolist() == [f"row:{row}" for row in expected]
    assert np.asarray(part.x).ravel().astype(int).tolist() == expected


@dataclass(frozen=True)
class Weighted(gl.Data):
    """Records of a user's own kind."""

    weight: float = 1.0

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "note", "kept")


@pytest.mark.parametrize(
    "again", [lambda data: data.changed(x=data.x), lambda data: pickle.loads(pickle.dumps(data)), copy.copy, replace]
)
def test_a_user_defined_class_keeps_its_type(again):
    copied = again(Weighted(np.zeros((2, 1)), np.zeros(2), weight=7.0))
    assert (type(copied), copied.weight, copied.note) == (Weighted, 7.0, "kept")
    assert copied.ids.tolist() == ["row:0", "row:1"]


def test_positions_that_change_later_change_nothing():
    places = np.array([0, 1])
    part = some().take(places)
    places[:] = 5
    assert part.ids.tolist() == ["id 0", "id 1"]
    assert part.x[:, 0].tolist() == [0, 1]


@pytest.mark.parametrize("again", [lambda lazy: pickle.loads(pickle.dumps(lazy)), copy.copy, copy.deepcopy, replace])
def test_copies_have_the_names(again):
    part = some().take(np.array([5, 2]))
    copied = again(part)
    assert copied.ids.tolist() == ["id 5", "id 2"]
    assert copied.y.tolist() == part.y.tolist()


def test_a_copy_of_few_records_carries_few_names():
    whole = some(100_000)
    assert len(pickle.dumps(whole.take(np.arange(3)))) < 2000


def test_a_wrong_number_of_names_is_still_reported():
    with pytest.raises(InputError, match="ids: 2"):
        gl.Data(np.zeros((3, 1)), np.zeros(3), np.array(["a", "b"]))
    with pytest.raises(InputError, match="ids: 2"):
        gl.Data(np.zeros((3, 1)), np.zeros(3), LazyArray(lambda: np.array(["a", "b"]), 2))


def test_labels_are_numbered_in_the_order_of_their_appearance():
    assert gl.Data(np.zeros((4, 1)), np.array(["b", "a", "b", "c"])).kinds.tolist() == [0, 1, 0, 2]


def test_a_lazy_module_is_imported_when_it_is_read():
    assert LazyModule("json").dumps is json.dumps
    absent = LazyModule("no_such_package")
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        _ = absent.anything
