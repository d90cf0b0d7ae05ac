"""Benchmarks are run on demand; that they still fit the code is seen here."""

from importlib import import_module
from pathlib import Path

import pytest

BENCHMARKS = sorted(path.parent.name for path in (Path(__file__).parents[1] / "benchmarks").glob("*/__main__.py"))


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_benchmark_can_be_run(name):
    assert callable(import_module(f"benchmarks.{name}.__main__").main)


def test_every_benchmark_is_in_the_docs():
    page = (Path(__file__).parents[1] / "docs" / "benchmarks.md").read_text("utf-8")
    assert [name for name in BENCHMARKS if f"benchmarks.{name}" not in page] == []
