"""Defences of two models of the Adult census: ``python -m benchmarks.defending``; stop it and run it again as you like.

Writes what ``docs/my_model_leaks.md`` shows. The code is that of the page, with its sizes.
"""

from __future__ import annotations

import argparse
import json
import re
import time
import warnings
from pathlib import Path
from typing import Any

import guestlist as gl
from guestlist.store.jsonable import to_json

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "my_model_leaks.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
STORIES = {
    "boosted": "boosted",
    "network": "network",
}  # name in the results to the name that the page gives what it found


def told(found: gl.Defended) -> list[dict[str, Any]]:
    """What the page's table shows of each defence."""
    rows = []
    for row in found.rows:
        if row.failed or row.auc is None or row.tpr is None or row.accuracy is None:
            rows.append({"name": row.name, "failed": row.failed})
            continue
        figures = {name: getattr(row, name).second.value for name in ("accuracy", "auc", "tpr")}
        changes = {f"{name} change": getattr(row, name).difference for name in ("accuracy", "auc", "tpr")}
        rows.append({"name": row.name, **figures, **changes, "leaks less": row.leaks_less, "epsilon": row.epsilon})
    return to_json(rows)


def plain(found: gl.Defended) -> dict[str, float]:
    row = found.rows[0]
    return {name: getattr(row, name).first.value for name in ("accuracy", "auc", "tpr")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("audits"), help="where the page's audits are")
    folder = parser.parse_args().folder.resolve()
    names: dict[str, Any] = {"__name__": "__main__"}
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for code in BLOCK.findall(PAGE.read_text("utf-8")):
            exec(compile(code.replace('"audits/', f'"{folder}/'), str(PAGE), "exec"), names)
    results = {
        "command": "python -m benchmarks.defending",
        "seconds of the last run": round(time.perf_counter() - start),
        "stories": {
            name: {"plain": plain(names[of]), "rows": told(names[of]), "helps": list(names[of].helps)}
            for name, of in STORIES.items()
        },
    }
    (HERE / "results.json").write_text(json.dumps(results, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
