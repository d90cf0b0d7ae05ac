"""Run audits of the corpus and compare their numbers with the committed ones."""

from __future__ import annotations

import json
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from jsonschema import Draft202012Validator
from tests.corpus.audits import AUDITS
from tests.corpus.numbers import differences, numbers_of
from tests.corpus.renamed import renamed

EXPECTED = Path(__file__).parent / "expected"
(SCHEMA,) = (Path(__file__).parents[2] / "src" / "guestlist").rglob("results.schema.json")


@dataclass(frozen=True)
class Run:
    """An audit of the corpus that was run.

    Args:
        numbers: path to value.
        documents: content of every results.json that it wrote, by path.
        rows: rows of every attacks.parquet, by path.
    """

    numbers: dict[str, Any]
    documents: dict[str, Any]
    rows: dict[str, list[dict[str, Any]]]


def run(name: str) -> Run:
    """Run one audit in a temporary folder."""
    with tempfile.TemporaryDirectory() as directory, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # many audits of the corpus have issues to warn about
        folder = Path(directory) / name
        numbers = numbers_of(AUDITS[name](folder), folder)
        documents = {
            str(path.relative_to(directory)): json.loads(path.read_text("utf-8"))
            for path in sorted(Path(directory).rglob("results.json"))
        }
        rows = {str(path.relative_to(directory)): rows_of(path) for path in sorted(folder.rglob("attacks.parquet"))}
    return Run(numbers, documents, rows)


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a table as JSON has them: NaN is null."""
    table = pd.read_parquet(path)
    return json.loads(table.to_json(orient="records"))


def schema_errors(ran: Run) -> list[str]:
    """Return the places at which files of an audit differ from the published schema."""
    schema = json.loads(SCHEMA.read_text("utf-8"))
    document = Draft202012Validator(schema)
    row = document.evolve(schema={**schema["$defs"]["attacks_row"], "$defs": schema["$defs"]})
    errors = [(path, error) for path, content in ran.documents.items() for error in document.iter_errors(content)]
    errors += [(path, error) for path, rows in ran.rows.items() for entry in rows for error in row.iter_errors(entry)]
    return [f"{path} {error.json_path}: {error.message[:200]}" for path, error in errors]


def expected_path(name: str) -> Path:
    """Return the path of the committed numbers of an audit."""
    return EXPECTED / f"{name}.json"


def compare(name: str, computed: dict[str, Any]) -> list[str]:
    """Return the differences from the committed numbers under their present names."""
    grouped = json.loads(expected_path(name).read_text("utf-8"))
    expected = {f"{parent}.{key}": value for parent, inner in grouped.items() for key, value in inner.items()}
    return differences(renamed(expected, computed), computed)


def write(name: str, computed: dict[str, Any]) -> None:
    """Write numbers as the expected ones of an audit, with twelve digits and one line for each group of keys."""
    grouped: dict[str, dict[str, Any]] = {}
    for path, value in computed.items():
        parent, _, key = path.rpartition(".")
        grouped.setdefault(parent, {})[key] = float(f"{value:.12g}") if isinstance(value, float) else value
    lines = [f"{json.dumps(parent)}: {json.dumps(inner, ensure_ascii=False)}" for parent, inner in grouped.items()]
    EXPECTED.mkdir(exist_ok=True)
    expected_path(name).write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
