"""The page of the K-NN values names every public function and shows the measured numbers, not others."""

import json
from pathlib import Path

from benchmarks.neighbours import tables

from guestlist import neighbours


def test_every_public_function_is_on_the_page():
    text = tables.PAGE.read_text()
    functions = [name for name in neighbours.__all__ if name.islower()]
    assert [name for name in functions if f"`{name}" not in text] == []


def test_the_tables_are_those_of_the_results():
    results = json.loads(Path(tables.RESULTS).read_text())
    text = tables.PAGE.read_text()
    assert set(tables.SECTIONS) <= set(results)
    assert tables.page(text, results) == text
