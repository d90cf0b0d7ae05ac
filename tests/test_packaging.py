"""Test the import time and the wheel: a light import, and a wheel that works on its own."""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
import venv
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path
from types import ModuleType

import check_jsonschema
import pytest
import yaml
from benchmarks.environments import lowest, requirements_of_extras
from click.testing import CliRunner
from packaging.requirements import Requirement

import guestlist
import without_extras
from example_results import leaking
from guestlist import EXPORTS
from guestlist._findings.results import write_results

ROOT = Path(__file__).parents[1]
HEAVY = (
    "torch",
    "numba",
    "ray",
    "matplotlib",
    "pandas",
    "sklearn",
    "scipy",
    "pyarrow",
    "numpy",
    "jinja2",
    "rich",
)


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


HELP = "import guestlist.cli; guestlist.cli.main(['--help'], standalone_mode=False)"


@pytest.mark.slow
@pytest.mark.parametrize("statement", ["import guestlist", "import guestlist.cli", HELP])
def test_an_import_and_help_load_nothing_heavy(statement):
    printed = python(f"{statement}; import sys; print([m for m in {HEAVY} if m in sys.modules])")
    assert printed.splitlines()[-1] == "[]"
    assert ("Usage: " in printed) == (statement is HELP)


def test_every_public_name_can_be_had():
    for name in guestlist.__all__:
        assert getattr(guestlist, name) is not None
    stub = ast.parse((Path(guestlist.__file__).parent / "__init__.pyi").read_text("utf-8"))
    named = [name.asname for line in stub.body if isinstance(line, ast.ImportFrom) for name in line.names]
    assert sorted(guestlist.__all__) == sorted(named)
    with pytest.raises(AttributeError, match="No guestlist attribute audti"):
        guestlist.audti  # noqa: B018


def test_every_extra_is_in_the_readme_and_installed_by_make():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    readme, makefile = ((ROOT / name).read_text("utf-8") for name in ("README.md", "Makefile"))
    assert all(f"[{extra}]" in readme for extra in extras)
    (installed,) = re.findall(r'--editable "\.\[(.*)\]"', makefile)
    assert set(installed.split(",")) == set(extras)


def test_the_lowest_versions_of_extras_were_tried():
    tried = json.loads((ROOT / "benchmarks" / "environments.json").read_text("utf-8"))["extras"]
    pins = dict(lowest(requirement).split("==") for requirement in requirements_of_extras())
    padded = {name: version if version.count(".") > 1 else f"{version}.0" for name, version in pins.items()}
    assert {name: tried["versions"][name] for name in padded} == padded
    assert (tried["failures"], tried["errors"], tried["skipped"]) == (0, 0, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("schema", "pattern"),
    [
        ("github-workflows", ".github/workflows/*.yml"),
        ("github-actions", "action.yml"),
        ("citation-file-format", "CITATION.cff"),
    ],
)
def test_files_for_other_services_follow_their_schemas(schema, pattern):
    files = sorted(map(str, ROOT.glob(pattern)))
    assert files
    checked = CliRunner().invoke(check_jsonschema.main, ["--builtin-schema", f"vendor.{schema}", *files])
    assert checked.exit_code == 0, checked.output


def test_version_and_pythons_are_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert f"\nversion: {project['version']}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    (matrix,) = re.findall(r"python: \[(.*)\]", (ROOT / ".github/workflows/tests.yml").read_text("utf-8"))
    classified = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    assert re.findall(r"3\.\d+", matrix) == classified
    assert project["requires-python"] == f">={classified[0]}"


@pytest.mark.slow
def test_the_action_runs_the_gate_annotates_and_writes_a_summary(tmp_path):
    write_results(tmp_path / "audit", leaking(), {})
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    (step,) = (step for step in action["runs"]["steps"] if step.get("id") == "gate")
    options = {"folder": "audit", "max-auc": "0.6", "max-tpr": "0.9@0.01 0.9@0.05", "ignore": "GL101"}
    inputs = {name: options.get(name, row.get("default", "")) for name, row in action["inputs"].items()}
    values = {name: inputs[re.findall(r"inputs\.([a-z-]+)", text)[0]] for name, text in step["env"].items()}
    script = tmp_path / "guestlist"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m guestlist.cli "$@"\n', "utf-8")
    script.chmod(0o700)
    env = {**os.environ, **values, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    env |= {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"), "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run(["bash", "-e", "-c", step["run"]], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert run.returncode == 1, run.stderr
    assert "::error title=guestlist%3A AUC at most 0.6::" in run.stdout
    assert (tmp_path / "summary.md").read_text("utf-8") == EXPORTS["markdown"].text(leaking())
    assert (tmp_path / "guestlist.sarif").exists()


def test_no_public_name_is_hidden_by_a_module():
    """Importing ``guestlist/NAME.py`` would replace the attribute ``guestlist.NAME``."""
    folder = Path(guestlist.__file__).parent
    modules = {path.stem for path in folder.glob("*.py")} | {path.parent.name for path in folder.glob("*/__init__.py")}
    hidden = [name for name in modules & set(guestlist.__all__) if not isinstance(getattr(guestlist, name), ModuleType)]
    assert hidden == []


@pytest.mark.slow
@pytest.mark.long  # the next test runs the same commands in an environment that has no extras
def test_every_command_and_name_without_extras_works_or_names_the_extra(tmp_path):
    (tmp_path / "hidden").mkdir()
    (tmp_path / "work").mkdir()
    without_extras.hide(tmp_path / "hidden")
    path = os.pathsep.join([str(tmp_path / "hidden"), *filter(None, sys.path)])
    script = [sys.executable, without_extras.__file__, tmp_path / "work"]
    result = subprocess.run(script, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """Return the folder of the source distribution, and of the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT]
    subprocess.run(build, check=True, capture_output=True)
    return folder


def core_dependencies() -> dict[str, Distribution]:
    """Return the installed distributions that guestlist requires without extras, and those that they require."""
    found: dict[str, Distribution] = {}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    remaining = list(project["dependencies"])
    while remaining:
        requirement = Requirement(remaining.pop())
        applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if applies and requirement.name not in found:
            found[requirement.name] = distribution(requirement.name)
            remaining += found[requirement.name].requires or []
    return found


@dataclass(frozen=True)
class Environment:
    """An empty environment with guestlist and its pinned dependencies, without the variables of this process."""

    folder: Path

    @property
    def bin(self) -> Path:
        return self.folder / ("Scripts" if os.name == "nt" else "bin")

    def pip(self, *command: str | Path) -> subprocess.CompletedProcess:
        return self.run(sys.executable, "-m", "pip", "--python", self.bin / "python", *command)

    def install(self, *requirements: str | Path) -> None:
        venv.create(self.folder)
        # Only modules that are imported need to be compiled.
        options = ["--quiet", "--no-compile", "--constraint", ROOT / "constraints.txt"]
        installed = self.pip("install", *options, *requirements)
        if installed.returncode and "No matching distribution" in installed.stderr:
            pytest.skip("no package registry can be reached to install the dependencies")
        assert installed.returncode == 0, installed.stderr

    def install_with_linked_dependencies(self, wheel: Path) -> None:
        """Install the wheel, and link its dependencies from the environment of the tests instead of downloading them."""
        venv.create(self.folder)
        asked = self.run(self.bin / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
        packages = Path(asked.stdout.strip())
        for dependency in core_dependencies().values():
            for name in {file.parts[0] for file in dependency.files} - {"..", "__pycache__"}:
                (packages / name).symlink_to(dependency.locate_file(name))
        installed = self.pip("install", "--quiet", "--no-deps", wheel)
        assert installed.returncode == 0, installed.stderr
        checked = self.pip("check")
        assert checked.returncode == 0, checked.stdout

    def run(self, *command: str | Path, **variables: str) -> subprocess.CompletedProcess:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "GUESTLIST"))}
        return subprocess.run(
            command, cwd=self.folder.parent, env={**clean, **variables}, capture_output=True, text=True
        )


@pytest.mark.slow
@pytest.mark.wheel
@pytest.mark.timeout(0)  # the duration of an installation depends on the machine and the network
@pytest.mark.parametrize("dependencies", ["linked", pytest.param("downloaded", marks=pytest.mark.long)])
def test_the_wheel_in_an_empty_environment_runs_the_demo(dist, dependencies, tmp_path):
    (sdist,) = dist.glob("guestlist-*.tar.gz")
    (wheel,) = dist.glob("guestlist-*.whl")
    twine = [sys.executable, "-m", "twine", "check", "--strict", sdist, wheel]
    described = subprocess.run(twine, capture_output=True, text=True)
    assert described.returncode == 0, described.stdout + described.stderr
    empty = Environment(tmp_path / "empty")
    if dependencies == "linked":
        empty.install_with_linked_dependencies(wheel)
    else:
        empty.install(wheel)
    python = empty.bin / "python"
    assert str(empty.folder) in empty.run(python, "-c", "import guestlist; print(guestlist.__file__)").stdout
    result = empty.run(empty.bin / "guestlist", "demo", "--quick", "--quiet", "--out", tmp_path / "demo")
    assert "be identified?" in result.stdout, result.stderr
    assert result.stderr == ""
    assert (tmp_path / "demo" / "report.html").stat().st_size > 10_000
    (tmp_path / "work").mkdir()
    checked = empty.run(python, without_extras.__file__, tmp_path / "work")
    assert checked.returncode == 0, checked.stderr


SMALL_AUDIT = """
import guestlist as gl

model, members, nonmembers = gl.testing.small_model()
results = gl.audit(model, members, nonmembers, references=4, attacks=["loss", "lira"], {engine}, progress=False)
print(results.summary())
"""


def example(name: str) -> str:
    return (ROOT / "examples" / f"{name}.py").read_text("utf-8")


@dataclass(frozen=True)
class Script:
    """Code that prints the summary of an audit in an environment with an extra.

    Attributes:
        code: The code.
        packages: Packages that the extra leaves to the user. torch is always the pinned version.
        variables: Variables of the environment.
    """

    code: str
    packages: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()


PLOT = """
import matplotlib

matplotlib.use("agg")
results.plot.roc().figure.savefig("roc.png")
"""
MLFLOW = """
assert len(gl.EXPORTS["mlflow"].text(results).strip()) == 32, "the id of the run"
"""
ATTRIBUTION = """
import numpy as np
import torch

recipe = gl.defences.Fit(epochs=2)
x = [np.float32(part[0]) for part in (members, nonmembers)]
module = recipe(gl.defences.mlp(20, 2, hidden=(4,)), gl.Data(x[0], members[1]), np.random.default_rng(0))
records = (x[0], members[1], x[1], nonmembers[1])
assert gl.risks.influence_functions(module, *records).shape == (200,)
assert gl.risks.tracin([module], *records).shape == (200,)
"""
HERE = SMALL_AUDIT.format(engine="engine=gl.Here()")
EXTRAS = {
    "torch": Script(example("torch_network")),
    "keras": Script(example("keras_model"), packages=("torch",)),  # the backend
    "lightning": Script(example("lightning_module")),
    "transformers": Script(example("transformers_model")),
    "onnx": Script(example("onnx_file"), packages=("skl2onnx",)),
    "dp": Script(example("private_training")),
    "ray": Script(SMALL_AUDIT.format(engine="engine=gl.Ray()")),
    "attribution": Script(HERE + ATTRIBUTION),
    "plot": Script(HERE + PLOT),
    "mlflow": Script(HERE + MLFLOW, variables=(("MLFLOW_ALLOW_FILE_STORE", "true"), ("MLFLOW_TRACKING_URI", "runs"))),
}
# JAX is no extra: guestlist never imports it.
WITH_JAX = {
    "": Script(example("jax_function"), packages=("jax",)),
    "keras": Script(example("keras_model"), packages=("jax",), variables=(("KERAS_BACKEND", "jax"),)),
}


def test_every_extra_for_users_has_a_script():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert set(EXTRAS) == set(extras) - {"docs", "test"}


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.wheel
@pytest.mark.timeout(0)
@pytest.mark.parametrize(
    ("extra", "script"),
    [*EXTRAS.items(), *WITH_JAX.items()],
    ids=[*EXTRAS, "jax", "keras with jax"],
)
def test_the_wheel_with_one_extra_runs_its_example(dist, tmp_path, extra, script):
    (wheel,) = dist.glob("guestlist-*.whl")
    fresh = Environment(tmp_path / "fresh")
    fresh.install(f"{wheel}[{extra}]" if extra else wheel, *script.packages)
    (tmp_path / "script.py").write_text(script.code, "utf-8")
    result = fresh.run(fresh.bin / "python", tmp_path / "script.py", **dict(script.variables))
    assert result.returncode == 0, result.stderr
    assert "be identified?" in result.stdout
