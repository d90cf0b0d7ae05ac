"""Other environments than one's own: the lowest versions of everything, and other Pythons where they are installed.

    python -m benchmarks.environments lowest     what pyproject.toml says is enough, to the number, and a part of the tests
    python -m benchmarks.environments pythons    the same tests under every other Python that is there, with the pinned versions

Each gets an environment of its own in ``.venv-…``, which is kept.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHONS = ("3.12", "3.13")
TESTERS = ("pytest", "pytest-timeout", "hypothesis", "mpmath", "polars")
# A part of the tests that comes by every dependency, and takes a few minutes.
SMOKE = (
    "tests/test_auditing.py",
    "tests/test_data.py",
    "tests/test_unreadable.py",
    "tests/cli/test_cli.py",
    "tests/cli/test_knn.py",
    "tests/collecting/engines/test_engine.py",
    "tests/gate",
    "tests/neighbours/test_checks.py",
    "tests/report/test_page.py",
    "tests/store",
    "tests/targets/test_files.py",
    "tests/targets/test_sound_trees.py",
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


def tested(python: str | Path, name: str, wanted: list[str], *options: str) -> int:
    """Make the environment, install what is wanted and guestlist itself, and run the tests; their exit status."""
    place = ROOT / f".venv-{name}"
    own = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    steps = (
        (python, "-m", "venv", place),
        (own, "-m", "pip", "install", "--quiet", *wanted),
        (own, "-m", "pip", "install", "--quiet", "--no-deps", "--editable", ROOT),
        # Warnings of older and newer libraries are theirs.
        (own, "-m", "pytest", "-p", "no:cacheprovider", "-W", "default", "-m", "not slow", *options, *SMOKE),
    )
    return next((status for status in (run(*step) for step in steps) if status), 0)


def pythons() -> dict[str, str]:
    """Other Pythons by their version: on the path, or in pyenv."""
    found = {}
    for version in PYTHONS:
        kept = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
        there = shutil.which(f"python{version}") or (str(kept[-1]) if kept else None)
        # A launcher that is on the path may still have no such Python behind it.
        if kept and (there is None or subprocess.run([there, "--version"], capture_output=True).returncode):
            there = str(kept[-1])
        if there is not None:
            found[version] = there
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
