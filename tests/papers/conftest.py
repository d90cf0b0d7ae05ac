"""Reproductions are no part of ``make quick``: they hold the papers' commands together, not the toolkit."""

from pathlib import Path

import pytest


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.slow)
