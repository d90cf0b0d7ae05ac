"""What a gate said as SARIF 2.1.0, which code-scanning services read. It names no member."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import Any

from guestlist.findings.gated import Gated
from guestlist.report.gate import Line, told

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(gated: Gated, path: str) -> str:
    """A result for each limit and each demand, those that hold among them.

    Args:
        path: of the results, relative to the repository: a service wants a place for each result.
    """
    lines = told(gated)
    asked = {line.rule: line.asked for line in lines}
    rules = [{"id": rule, "shortDescription": {"text": text}} for rule, text in asked.items()]
    driver = {"name": "guestlist", "version": version("guestlist"), "rules": rules}
    run = {"tool": {"driver": driver}, "results": [_result(line, path) for line in lines]}
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _result(line: Line, path: str) -> dict[str, Any]:
    place = {"artifactLocation": {"uri": path}, "region": {"startLine": 1}}
    return {
        "ruleId": line.rule,
        "kind": "pass" if line.passed else "fail",
        "level": "none" if line.passed else "error",
        "message": {"text": f"{line.asked}: {line.found}"},
        "locations": [{"physicalLocation": place}],
    }
