"""Tests in other environments: the lowest versions of all dependencies, and other installed Pythons.

    python -m benchmarks.environments lowest     the lowest versions in pyproject.toml, and a part of the tests
    python -m benchmarks.environments extras     the lowest versions of extras except torch, and their tests
    python -m benchmarks.environments pythons    the same tests under every other installed Python, with the pinned versions

Each has an environment in ``.venv-…``, which is reused; ``environments.json`` records the runs.
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
from collections.abc import Sequence
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
# Some tests that use every dependency, and take a few minutes.
SMOKE = (
    "tests/audit/test_flow.py",
    "tests/audit/test_cover.py",
    "tests/test_data.py",
    "tests/audit/test_predictions.py",
    "tests/test_texts.py",
    "tests/test_parquet_limits.py",
    "tests/test_unreadable_records.py",
    "tests/test_wrong_inputs.py",
    "tests/kernels",
    "tests/attacks/test_contract.py",
    "tests/attacks/test_thresholds.py",
    "tests/attacks/test_trees.py",
    "tests/cli/test_cli.py",
    "tests/cli/test_control_characters.py",
    "tests/cli/test_knn.py",
    "tests/collect/engines/test_engine.py",
    "tests/audit/test_compare.py",
    "tests/metrics",
    "tests/report/test_exports.py",
    "tests/audit/test_gate_limits.py",
    "tests/audit/test_policy.py",
    "tests/knn/test_arguments.py",
    "tests/knn/test_values.py",
    "tests/report/test_page.py",
    "tests/report/test_terminal.py",
    "tests/store",
    "tests/models",
    "tests/views",
)


# torch is always the pinned version, the only one that constraints.txt allows.
EXTRAS = ("keras", "lightning", "transformers", "ray", "attribution", "dp", "onnx")
TESTS_OF_EXTRAS = (
    "tests/models/test_keras.py",
    "tests/models/test_torch_trainers.py",
    "tests/collect/engines/test_on_ray.py",
    "tests/risks/test_attribution.py",
    "tests/defences/test_dp.py",
    "tests/models/test_onnx.py",
    "-m",
    "not long",
)


def project() -> dict:
    with open(ROOT / "pyproject.toml", "rb") as file:
        return tomllib.load(file)["project"]


def requirements() -> list[str]:
    return project()["dependencies"]


def requirements_of_extras() -> list[str]:
    extras = project()["optional-dependencies"]
    return [requirement for extra in EXTRAS for requirement in extras[extra]]


def lowest(requirement: str) -> str:
    """Return a requirement at its lowest version.

    >>> lowest("pyarrow>=14.0.1")
    'pyarrow==14.0.1'
    """
    return re.sub(r"\s*>=\s*", "==", requirement)


def run(*command: str | Path) -> int:
    print("+", *command, flush=True)
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run([str(part) for part in command], cwd=ROOT, env=clean).returncode


def try_environment(
    python: str | Path,
    name: str,
    wanted: list[str],
    *,
    extras: Sequence[str] = (),
    tests: Sequence[str] = (*SMOKE, "-m", "not slow"),
) -> int:
    """Create the environment, install the packages and guestlist, run the tests and record the result."""
    folder, report = ROOT / f".venv-{name}", ROOT / f".venv-{name}" / "tests.xml"
    interpreter = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    steps = (
        (python, "-m", "venv", folder),
        (interpreter, "-m", "pip", "install", "--quiet", *wanted),
        # The pinned versions are not used, because they need newer packages.
        *((interpreter, "-m", "pip", "install", "--quiet", requirement) for requirement in extras),
        (interpreter, "-m", "pip", "install", "--quiet", "--no-deps", "--editable", ROOT),
        # Warnings of older and newer libraries are not our errors.
        (
            interpreter,
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            "-W",
            "default",
            f"--junitxml={report}",
            *tests,
        ),
    )
    report.unlink(missing_ok=True)
    status = next((status for status in (run(*step) for step in steps) if status), 0)
    if report.exists():
        record_run(name, interpreter, report, [name_of(requirement) for requirement in (*requirements(), *extras)])
    return status


def record_run(name: str, python: Path, report: Path, packages: Sequence[str]) -> None:
    """Record the tests that ran in an environment, with those of the others."""
    suite = ElementTree.parse(report).getroot().find("testsuite")
    assert suite is not None, "pytest writes one"
    counts = {key: int(suite.get(key, 0)) for key in ("tests", "failures", "errors", "skipped")}
    queried = subprocess.run([python, "-c", VERSIONS, *packages], capture_output=True, text=True, check=True)
    results = {**json.loads(queried.stdout), **counts, "seconds": round(float(suite.get("time", 0)))}
    stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    RESULTS.write_text(json.dumps({**stored, name: results}, indent=1, sort_keys=True) + "\n")


def name_of(requirement: str) -> str:
    """Return the name without the version.

    >>> name_of("pyarrow>=14.0.1")
    'pyarrow'
    """
    return re.split(r"[<>=!~ ]", requirement)[0]


def pythons() -> dict[str, str]:
    """Return other Pythons by version: on the path, or from pyenv."""
    results, pyenv = {}, Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for version in PYTHONS:
        stored = sorted(pyenv.glob(f"versions/{version}.*/bin/python"))
        available = [shutil.which(f"python{version}"), *map(str, reversed(stored))]
        # A launcher on the path may not have this Python installed.
        works = [
            path for path in available if path and not subprocess.run([path, "-V"], capture_output=True).returncode
        ]
        results |= {version: works[0]} if works else {}
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", choices=["lowest", "extras", "pythons"])
    which = parser.parse_args().which
    if which == "lowest":
        sys.exit(try_environment(sys.executable, "lowest", [*map(lowest, requirements()), *TESTERS]))
    pinned = ["--constraint", "constraints.txt", *requirements(), *TESTERS]
    if which == "extras":
        extras = [lowest(requirement) for requirement in requirements_of_extras()]
        os.environ["KERAS_BACKEND"] = "torch"
        wanted = [*pinned, "torch", "skl2onnx"]
        sys.exit(try_environment(sys.executable, "extras", wanted, extras=extras, tests=TESTS_OF_EXTRAS))
    available = pythons()
    print("; ".join(f"Python {v}: {available.get(v, 'not installed, not tested')}" for v in PYTHONS), flush=True)
    sys.exit(max((try_environment(path, version, pinned) for version, path in available.items()), default=0))


if __name__ == "__main__":
    main()
