"""Keys and codes that were renamed on purpose since the expected numbers were written.

``PATHS`` holds pairs ``(pattern, replacement)`` for :func:`re.sub` on the whole path of an expected number, for example
``(r"^results\\.blind\\b", "results.baseline")``. ``VALUES`` holds pairs of a code and its new name. Every entry belongs into the
changelog. ``python -m tests.corpus --update`` writes the new names; the entries can then be removed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

PATHS: tuple[tuple[str, str], ...] = ()
VALUES: Mapping[str, str] = {}


def renamed(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Return expected numbers under their present names."""
    changed = {}
    for path, value in numbers.items():
        for pattern, replacement in PATHS:
            path = re.sub(pattern, replacement, path)
        changed[path] = VALUES.get(value, value) if isinstance(value, str) else value
    return changed
