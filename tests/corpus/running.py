"""Run audits of the corpus and compare their numbers with the committed ones."""

from __future__ import annotations

import json
import tempfile
import warnings
from pathlib import Path
from typing import Any

from tests.corpus.audits import AUDITS
from tests.corpus.numbers import differences, numbers_of
from tests.corpus.renamed import renamed

EXPECTED = Path(__file__).parent / "expected"


def run(name: str) -> dict[str, Any]:
    """Run one audit in a temporary folder and return its numbers."""
    with tempfile.TemporaryDirectory() as directory, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # many audits of the corpus have issues to warn about
        folder = Path(directory) / name
        return numbers_of(AUDITS[name](folder), folder)


def expected_path(name: str) -> Path:
    """Return the path of the committed numbers of an audit."""
    return EXPECTED / f"{name}.json"


def compare(name: str, found: dict[str, Any]) -> list[str]:
    """Return the differences from the committed numbers under their present names."""
    grouped = json.loads(expected_path(name).read_text("utf-8"))
    expected = {f"{parent}.{key}": value for parent, inner in grouped.items() for key, value in inner.items()}
    return differences(renamed(expected), found)


def write(name: str, found: dict[str, Any]) -> None:
    """Write numbers as the expected ones of an audit, with twelve digits and one line for each group of keys."""
    grouped: dict[str, dict[str, Any]] = {}
    for path, value in found.items():
        parent, _, key = path.rpartition(".")
        grouped.setdefault(parent, {})[key] = float(f"{value:.12g}") if isinstance(value, float) else value
    lines = [f"{json.dumps(parent)}: {json.dumps(inner, ensure_ascii=False)}" for parent, inner in grouped.items()]
    EXPECTED.mkdir(exist_ok=True)
    expected_path(name).write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
