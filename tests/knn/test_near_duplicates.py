"""Near-duplicates are found where there are some, and seldom where both sets have one distribution."""

import numpy as np
import pandas as pd
import pytest
from benchmarks.error_rates.near_duplicates import SAME_SOURCE, flagged_share, with_near_duplicates
from scipy.spatial.distance import cdist

from guestlist.models.input_checks import _ratios, near_duplicates


def duplicates(members, nonmembers):
    return near_duplicates(members, nonmembers, np.random.default_rng(0))


@pytest.mark.parametrize("name", SAME_SOURCE)
def test_two_sets_of_one_source_raise_no_alarm(name):
    # 2 % of 60 are 1.2; 6 or more come about once in 500.
    assert flagged_share(SAME_SOURCE[name], members=100, nonmembers=80, repeats=60) <= 5 / 60


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_changed_copies_of_members_among_nonmembers_are_detected(share):
    assert flagged_share(with_near_duplicates(share), members=300, nonmembers=200, repeats=20) >= 0.95


def test_duplicates_within_one_set_are_not_near_duplicates():
    rng = np.random.default_rng(0)
    members, nonmembers = rng.normal(size=(200, 8)), rng.normal(size=(200, 8))
    doubled = np.concatenate([members, members + 0.01 * rng.normal(size=members.shape)])
    assert duplicates(doubled, nonmembers).p_value > 0.5
    assert duplicates(members, np.concatenate([nonmembers, nonmembers + 0.01])).p_value > 0.02


def test_nearest_and_second_nearest_equal_all_distances_without_exact_copies():
    rng = np.random.default_rng(0)
    among = np.unique(rng.normal(1e4, 1, size=(300, 3)), axis=0)  # far from 0, where squares lose their digits
    queries = np.concatenate([rng.normal(1e4, 1, size=(250, 3)), among[:5]])
    distances = np.sort(cdist(queries, among), axis=1)
    expected = (distances[:, 0] / distances[:, 1])[:250]
    np.testing.assert_allclose(_ratios(queries, among), expected, rtol=1e-6)


def test_tables_of_words_and_missing_numbers_are_read():
    rng = np.random.default_rng(1)

    def table(records):
        numbers = {name: rng.normal(size=records) for name in "abcd"}
        return pd.DataFrame(
            {**numbers, "city": rng.choice(["Ulm", "Bern", None], records), "ok": rng.random(records) < 0.5}
        )

    members, nonmembers = table(300), table(200)
    members.loc[:10, "a"] = np.nan
    assert duplicates(members, nonmembers).p_value > 0.02
    changed = members.iloc[:100].assign(b=lambda t: t["b"] + 0.01)
    result = duplicates(members, pd.concat([nonmembers[:100], changed], ignore_index=True))
    assert result.p_value <= 0.01
    assert result.share > 0.2
    words = members.astype(object).to_numpy()
    assert duplicates(words[:250], words[250:]).p_value > 0.02


def test_too_few_records_give_no_result():
    rng = np.random.default_rng(0)
    assert duplicates(rng.normal(size=(30, 3)), rng.normal(size=(100, 3))) is None
    assert duplicates(rng.normal(size=(100, 3)), rng.normal(size=(5, 3))) is None
    assert duplicates(np.ones((100, 3)), np.ones((100, 3))) is None
