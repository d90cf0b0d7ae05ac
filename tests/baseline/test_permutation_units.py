"""Permutation of membership: units stay together, and all other records are exchanged."""

from collections import Counter
from itertools import permutations

import numpy as np

from guestlist._baseline.columns import folds_of, permuted_membership, sample_units, units_of


def test_a_unit_is_one_record_or_all_records_of_a_person():
    member = np.array([True, True, False, False])
    rows, unit = units_of(member, None, np.arange(4))
    assert (rows.tolist(), unit.tolist()) == ([0, 1, 2, 3], [0, 1, 2, 3])
    rows, unit = units_of(member, np.array(["b", "a", "a", "b"]), np.arange(4))
    assert (rows.tolist(), unit.tolist()) == ([0, 1, 2, 3], [1, 0, 0, 1])


def test_copies_of_members_count_once():
    member = np.arange(12) < 9
    hashes = np.r_[np.repeat([7, 8, 9], 3), 1, 2, 3]
    rows, unit = units_of(member, None, hashes)
    assert rows.tolist() == [0, 3, 6, 9, 10, 11]
    assert len(set(unit)) == 6
    rows, unit = units_of(member, np.repeat(["a", "b", "c", "d"], 3), hashes)
    assert rows.tolist() == [0, 3, 6, 9, 10, 11]
    assert unit.tolist() == [0, 1, 2, 3, 3, 3]


def test_people_who_are_equal_by_accident_stay_apart():
    """Few values: both sets have equal records, and dropping them would change their composition."""
    rng = np.random.default_rng(0)
    rows, unit = units_of(np.arange(120) < 100, None, rng.integers(5, size=120))
    assert rows.tolist() == unit.tolist() == list(range(120))


def test_every_exchange_of_whole_units_is_equally_likely():
    unit, member = np.array([0, 1, 1, 2, 3, 3]), np.array([True, False, False, True, False, False])
    permuted = permuted_membership(unit, member, 6000, np.random.default_rng(0))
    sides = permuted[:, [0, 1, 3, 4]]
    assert (permuted == sides[:, unit]).all()  # a person is in one set
    counts = Counter(map(tuple, sides.tolist()))
    assert set(counts) == set(permutations([True, True, False, False]))
    assert max(counts.values()) < 1.15 * 1000
    assert min(counts.values()) > 0.85 * 1000


def test_units_in_both_sets_keep_their_shares_and_others_are_permuted_with_their_size():
    unit = np.array([0, 0, 0, 1, 1, 2, 2, 3, 4])
    member = np.array([True, False, False, True, True, False, False, True, False])
    permuted = permuted_membership(unit, member, 4000, np.random.default_rng(1))
    assert (permuted[:, :3].sum(axis=1) == 1).all()
    assert np.allclose(permuted[:, :3].mean(axis=0), 1 / 3, atol=0.03)
    assert (permuted[:, 3] == permuted[:, 4]).all()
    assert (permuted[:, 3] != permuted[:, 5]).all()
    assert (permuted[:, 7] != permuted[:, 8]).all()
    assert np.allclose(permuted[:, [3, 7]].mean(axis=0), 0.5, atol=0.03)


def test_folds_keep_persons_together_and_ignore_membership():
    unit = np.repeat(np.arange(20), 3)
    fold = folds_of(unit, 5, np.random.default_rng(0))
    assert sorted(Counter(fold[::3]).values()) == [4] * 5
    assert (fold.reshape(20, 3) == fold[::3, None]).all()
    assert len(set(folds_of(np.arange(3), 5, np.random.default_rng(0)))) == 3


def test_members_and_nonmembers_are_capped_by_whole_units():
    unit, member = np.repeat(np.arange(40), 3), np.arange(120) < 90
    rows = sample_units(unit, member, 10, np.random.default_rng(0))
    assert sorted(set(Counter(unit[rows]).values())) == [3]
    assert (member[rows].sum(), (~member[rows]).sum()) == (12, 12)
    assert (np.diff(rows) > 0).all()
    assert len(sample_units(unit, member, 90, np.random.default_rng(0))) == 120


def test_every_unit_is_equally_likely_to_be_sampled():
    draws = np.zeros(30)
    for seed in range(600):
        draws[sample_units(np.arange(30), np.arange(30) < 20, 5, np.random.default_rng(seed))] += 1
    assert np.allclose(draws[:20] / 600, 5 / 20, atol=0.07)
    assert np.allclose(draws[20:] / 600, 5 / 10, atol=0.07)
