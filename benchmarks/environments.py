"""Other environments than one's own: the lowest versions of everything, and other Pythons where they are installed.

    python -m benchmarks.environments lowest     what pyproject.toml says is enough, to the number, and a part of the tests
    python -m benchmarks.environments pythons    the same tests under every other Python that is there, with the pinned versions

Each gets an environment of its own in ``.venv-…``, which is kept; what was run is noted in ``environments.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).with_suffix(".json")
PYTHONS = ("3.12", "3.13")
VERSIONS = """
import json, platform, sys
from importlib.metadata import version
print(json.dumps({"python": platform.python_version(), "versions": {name: version(name) for name in sys.argv[1:]}}))
"""
TESTERS = ("pytest", "pytest-timeout", "hypothesis", "mpmath", "polars")
# A part of the tests that comes by every dependency, and takes a few minutes.
SMOKE = (
    "tests/audit/test_auditing.py",
    "tests/audit/test_cover.py",
    "tests/test_data.py",
    "tests/audit/test_predictions.py",
    "tests/test_texts.py",
    "tests/test_parquet_limits.py",
    "tests/test_unreadable.py",
    "tests/test_wrong_inputs.py",
    "tests/kernels",
    "tests/attacks/test_contract.py",
    "tests/attacks/test_thresholds.py",
    "tests/attacks/test_trees.py",
    "tests/cli/test_cli.py",
    "tests/cli/test_hostile.py",
    "tests/cli/test_knn.py",
    "tests/collect/engines/test_engine.py",
    "tests/audit/test_compare.py",
    "tests/metrics",
    "tests/report/test_exports.py",
    "tests/audit/test_gate_limits.py",
    "tests/audit/test_policy.py",
    "tests/knn/test_checks.py",
    "tests/knn/test_values.py",
    "tests/report/test_page.py",
    "tests/report/test_terminal.py",
    "tests/store",
    "tests/models",
    "tests/views",
)


def requirements() -> list[str]:
    with open(ROOT / "pyproject.toml", "rb") as file:
        return tomllib.load(file)["project"]["dependencies"]


def lowest(requirement: str) -> str:
    """A requirement at its lowest version.

    >>> lowest("pyarrow>=14.0.1")
    'pyarrow==14.0.1'
    """
    return re.sub(r"\s*>=\s*", "==", requirement)


def run(*command: str | Path) -> int:
    print("+", *command, flush=True)
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run([str(part) for part in command], cwd=ROOT, env=clean).returncode


def tested(python: str | Path, name: str, wanted: list[str]) -> int:
    """Make the environment, install what is wanted and guestlist itself, run the tests and keep what came of them."""
    place, report = ROOT / f".venv-{name}", ROOT / f".venv-{name}" / "tests.xml"
    own = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    steps = (
        (python, "-m", "venv", place),
        (own, "-m", "pip", "install", "--quiet", *wanted),
        (own, "-m", "pip", "install", "--quiet", "--no-deps", "--editable", ROOT),
        # Warnings of older and newer libraries are theirs.
        (
            own,
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            "-W",
            "default",
            "-m",
            "not slow",
            f"--junitxml={report}",
            *SMOKE,
        ),
    )
    report.unlink(missing_ok=True)
    status = next((status for status in (run(*step) for step in steps) if status), 0)
    if report.exists():
        keep(name, own, report)
    return status


def keep(name: str, python: Path, report: Path) -> None:
    """What ran in an environment, beside what ran in the others."""
    suite = ElementTree.parse(report).getroot().find("testsuite")
    assert suite is not None, "pytest writes one"
    counts = {what: int(suite.get(what, 0)) for what in ("tests", "failures", "errors", "skipped")}
    asked = subprocess.run(
        [python, "-c", VERSIONS, *map(bare, requirements())], capture_output=True, text=True, check=True
    )
    found = {**json.loads(asked.stdout), **counts, "seconds": round(float(suite.get("time", 0)))}
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    RESULTS.write_text(json.dumps({**kept, name: found}, indent=1, sort_keys=True) + "\n")


def bare(requirement: str) -> str:
    """The name alone.

    >>> bare("pyarrow>=14.0.1")
    'pyarrow'
    """
    return re.split(r"[<>=!~ ]", requirement)[0]


def pythons() -> dict[str, str]:
    """Other Pythons by their version: on the path, or where pyenv keeps them."""
    found, pyenv = {}, Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for version in PYTHONS:
        kept = sorted(pyenv.glob(f"versions/{version}.*/bin/python"))
        there = [shutil.which(f"python{version}"), *map(str, reversed(kept))]
        # A launcher that is on the path may still have no such Python behind it.
        works = [path for path in there if path and not subprocess.run([path, "-V"], capture_output=True).returncode]
        found |= {version: works[0]} if works else {}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", choices=["lowest", "pythons"])
    which = parser.parse_args().which
    if which == "lowest":
        sys.exit(tested(sys.executable, "lowest", [*map(lowest, requirements()), *TESTERS]))
    there = pythons()
    print("; ".join(f"Python {v}: {there.get(v, 'not installed, not tested')}" for v in PYTHONS), flush=True)
    pinned = ["--constraint", "constraints.txt", *requirements(), *TESTERS]
    sys.exit(max((tested(path, version, pinned) for version, path in there.items()), default=0))


if __name__ == "__main__":
    main()
