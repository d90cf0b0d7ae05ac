"""For any input, a call returns or raises an error with one sentence, never a raw exception.

The same cases by the ten thousand are ``python -m benchmarks.faults``.
"""

import numpy as np
import pytest
from benchmarks.faults.endings import RAW, REPORTED, RETURNED, Ending, command_ending, ending, is_sentence
from benchmarks.faults.entries import ENTRIES, make_inputs
from hypothesis import given, settings
from hypothesis import strategies as st

from guestlist._kernels import share_above
from guestlist._util import read_table

EXAMPLES = {"predictions": 80, "audit_predictions": 10, "audit": 12, "neighbours": 40, "files": 10, "folders": 12}
CHANCES = st.randoms(use_true_random=False)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    return make_inputs(tmp_path_factory.mktemp("faults") / "inputs")


@pytest.mark.slow
@pytest.mark.parametrize("name", ENTRIES)
def test_wrong_input_is_reported_in_a_sentence(name, inputs):
    @settings(max_examples=EXAMPLES[name], database=None)
    @given(rng=CHANCES)
    def holds(rng):
        result = ENTRIES[name](rng, inputs)
        assert result.outcome in (RETURNED, REPORTED), result.detail

    holds()


def test_a_raw_exception_is_detected():
    """The measure itself: what our own code says counts, what a library says on the way does not."""
    assert ending(lambda: read_table("x.csv")) == Ending(REPORTED, "There is no file x.csv. Check the path.")
    assert ending(lambda: None).outcome == RETURNED
    assert ending(lambda: [][0]).outcome == RAW
    assert ending(lambda: int("x")).outcome == RAW  # a ValueError, and not one of ours
    two, three = np.zeros(2), np.zeros((1, 3))
    assert ending(lambda: share_above(two, three, three == 0)).outcome == RAW  # what numpy says, in a line of ours
    assert is_sentence("There is no file x.csv. Give another.")
    assert is_sentence("Is it a table?")
    assert is_sentence("It lacks 'margin'. Collect it with: guestlist collect --signal margin")
    assert not is_sentence("could not convert string to float: 'x'")
    assert command_ending(["gate", "nowhere", "--max-auc", "0.9"]).outcome == REPORTED
    assert command_ending(["show", "attacks"]).outcome == RETURNED
