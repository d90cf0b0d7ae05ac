"""Hashes of many rows at once, members found again by hashing, labels written once: each against the plain way."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guestlist import Data
from guestlist._collect.inputs import _as_texts
from guestlist._store import row_hashes
from guestlist._store.integrity import _digests
from guestlist.models.input_checks import members_again

RNG = np.random.default_rng(0)
ROWS = {
    "numbers": RNG.normal(size=(5000, 3)),
    "single precision": RNG.normal(size=(40, 2)).astype(np.float32),
    "whole numbers": RNG.integers(-3, 3, (40, 2)),
    "truth values": RNG.random((40, 3)) < 0.5,
    "both zeros": np.array([[0.0, -0.0], [-0.0, 0.0], [np.nan, np.inf]]),
    "every other column": RNG.normal(size=(40, 6))[:, ::2],
    "columns in a row": np.asfortranarray(RNG.normal(size=(40, 3))),
    "texts": np.array([["a", "bc"], ["", "longer"]]),
    "days": np.array([["2020-01-01"], ["2021-02-03"]], dtype="datetime64[D]"),
    "no columns": np.zeros((4, 0)),
    "no rows": np.zeros((0, 3)),
}


@pytest.mark.parametrize("name", ROWS)
def test_digests_are_those_of_each_row(name):
    x = ROWS[name]
    number = np.float64 if x.dtype.kind in "iufb" else None
    plain = [np.array(row, dtype=number) for row in x]
    bytes_of = [(row if number is None else row + 0.0).tobytes() for row in plain]
    assert list(_digests(x)) == [hashlib.blake2b(row, digest_size=8).digest() for row in bytes_of]


@pytest.mark.skipif(not hasattr(np, "dtypes") or not hasattr(np.dtypes, "StringDType"), reason="numpy 2 has such texts")
def test_equal_texts_of_any_length_have_equal_hashes():
    texts = np.array(
        [["the same long text, too long to stand in place"]] * 2 + [["another"]], dtype=np.dtypes.StringDType()
    )
    first, second, third = row_hashes(Data(texts, np.zeros(3)))
    assert first == second != third


def test_unknown_persons_equal_no_one():
    member, persons = np.array([True, True, False, False]), np.array([1.0, np.nan, np.nan, 1.0])
    repeated = members_again(np.arange(4, dtype=np.uint64), persons, member, ~member)
    assert repeated.tolist() == [False, False, False, True]


@given(st.lists(st.tuples(st.integers(2**63 - 2, 2**63 + 2), st.sampled_from("mno"), st.sampled_from("pqrs"))))
def test_members_are_found_again_by_record_and_by_person(rows):
    hashes = np.array([row[0] for row in rows], dtype=np.uint64)
    member, outside = (np.array([row[1] == side for row in rows], dtype=bool) for side in "mn")
    persons = np.array([row[2] for row in rows], dtype=object)
    known, people = set(hashes[member]), set(persons[member])
    by_record = [row[1] == "n" and row[0] in known for row in rows]
    by_either = [row[1] == "n" and (row[0] in known or row[2] in people) for row in rows]
    assert members_again(hashes, None, member, outside).tolist() == by_record
    assert members_again(hashes, persons, member, outside).tolist() == by_either


@pytest.mark.parametrize(
    "labels",
    [
        np.array([3, -1, 3, 12]),
        np.array([3, 200], dtype=np.uint8),
        np.array([True, False, True]),
        np.array([1.0, 0.5, np.nan]),
        np.array(["b", "a", "b"]),
        np.array([1, 1.0, "1"], dtype=object),
    ],
    ids=str,
)
def test_labels_are_written_as_each_would_be(labels):
    assert _as_texts(labels).tolist() == labels.astype(str).tolist()


def test_records_of_one_class_have_one_number():
    y = RNG.integers(0, 5, 200)
    kinds = Data(np.zeros((200, 1)), y).kinds
    assert ((kinds[:, None] == kinds) == (y[:, None] == y)).all()
