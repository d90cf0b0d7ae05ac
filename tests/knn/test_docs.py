"""The page of the K-NN values names every public function, runs, and shows the measured numbers, not others."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from benchmarks.neighbours import tables

from guestlist import knn


def test_every_public_function_is_on_the_page():
    text = tables.PAGE.read_text()
    functions = [name for name in knn.__all__ if name.islower()]
    assert [name for name in functions if f"`{name}" not in text] == []


@pytest.mark.slow
def test_the_code_on_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    names = {"x": rng.normal(size=(150, 3)), "y": rng.integers(0, 2, 150), "harmful": np.zeros(40, int)}
    names |= {"x_test": rng.normal(size=(40, 3)), "y_test": rng.integers(0, 2, 40), "target_loss": np.full(150, 0.4)}
    for code in re.findall(r"^```python\n(.*?)^```$", tables.PAGE.read_text(), re.MULTILINE | re.DOTALL):
        exec(compile(code, str(tables.PAGE), "exec"), names)
    assert names["harmful"].min() > 0
    assert names["curve"].gain[0] == pytest.approx(0)
    with np.load("lists.npz") as stored:
        again = knn.NeighbourLists(**stored)
    removed = names["exposed"] > 0.15
    np.testing.assert_array_equal(knn.waka_influence(again, removed), names["change"])


@pytest.mark.slow
def test_the_tables_are_those_of_the_results():
    results = json.loads(Path(tables.RESULTS).read_text())
    text = tables.PAGE.read_text()
    assert set(tables.SECTIONS) <= set(results)
    assert tables.page(text, results) == text
