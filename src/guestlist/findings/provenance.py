"""Versions and fingerprints that the numbers depend on."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Mapping
from dataclasses import dataclass

from guestlist.case import Case

_PACKAGES = ("guestlist", "numpy", "scipy", "scikit-learn", "pandas")


@dataclass(frozen=True)
class Provenance:
    """Versions of packages, and fingerprints of the data and the recipe."""

    versions: Mapping[str, str]
    fingerprints: Mapping[str, str]


def find(case: Case) -> Provenance:
    versions = {"python": platform.python_version()}
    versions |= {name: importlib.metadata.version(name) for name in _PACKAGES}
    return Provenance(versions, dict(case.setting.fingerprints))
