"""Whatever is handed over: a call returns, or somebody is told what is wrong in a sentence. Never a raw ending.

The same cases by the ten thousand are ``python -m benchmarks.faults``.
"""

import pytest
from benchmarks.faults.endings import RAW, RETURNED, TOLD, Ending, command_ending, ending
from benchmarks.faults.entries import ENTRIES, make_world
from hypothesis import given, settings
from hypothesis import strategies as st

from guestlist.errors import InputError

EXAMPLES = {"predictions": 80, "audit_predictions": 10, "audit": 12, "neighbours": 40, "files": 10, "folders": 12}
CHANCES = st.randoms(use_true_random=False)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return make_world(tmp_path_factory.mktemp("faults") / "world")


@pytest.mark.slow
@pytest.mark.parametrize("name", ENTRIES)
def test_wrong_input_is_told_in_a_sentence(name, world):
    @settings(max_examples=EXAMPLES[name], database=None)
    @given(rng=CHANCES)
    def holds(rng):
        found = ENTRIES[name](rng, world)
        assert found.how in (RETURNED, TOLD), found.what

    holds()


def test_a_raw_ending_is_seen():
    """The measure itself: what our own code says counts, what a library says on the way does not."""

    def told():
        raise InputError("There is no file x.csv.")

    assert ending(told) == Ending(TOLD, "There is no file x.csv.")
    assert ending(lambda: None).how == RETURNED
    assert ending(lambda: [][0]).how == RAW
    assert ending(lambda: int("x")).how == RAW  # a ValueError, and not one of ours
    assert command_ending(["gate", "nowhere", "--max-auc", "0.9"]).how == TOLD
    assert command_ending(["show", "attacks"]).how == RETURNED
