"""Gate result as SARIF 2.1.0, which code-scanning services read. It names no member."""

from __future__ import annotations

import json
import os
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from guestlist.findings.gated import Gated
from guestlist.report.gate import GateLine, gate_lines

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(gated: Gated, path: str | Path) -> str:
    """A rule for each limit, each demand and each open check, and a result for those that do not hold.

    Services show every result as an alert, also one of the kind ``pass``: a limit that holds has none. An open check that
    does not fail the gate is a note, and one that is ignored is a suppressed result.

    Args:
        path: of the results, relative to the repository: a service wants a place for each result.
    """
    lines = gate_lines(gated)
    demands: dict[str, list[str]] = {}
    for line in lines:
        demands.setdefault(line.rule, []).append(line.requirement)
    rules = [{"id": rule, "shortDescription": {"text": "; ".join(texts)}} for rule, texts in demands.items()]
    driver = {"name": "guestlist", "version": version("guestlist"), "rules": rules}
    results = [_result(line, _uri(Path(path))) for line in lines if line.open or not line.passed]
    run = {"tool": {"driver": driver}, "results": results}
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _uri(path: Path) -> str:
    return path.as_uri() if path.is_absolute() else quote(os.fsencode(path.as_posix()))


def _result(line: GateLine, uri: str) -> dict[str, Any]:
    location = {"artifactLocation": {"uri": uri}, "region": {"startLine": 1}}
    result: dict[str, Any] = {
        "ruleId": line.rule,
        "level": "note" if line.passed else "error",
        "message": {"text": f"{line.requirement}: {line.result}"},
        "locations": [{"physicalLocation": location}],
    }
    if line.ignored:
        result["suppressions"] = [{"kind": "external", "justification": "ignored by code"}]
    return result
