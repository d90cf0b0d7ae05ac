"""What a user gets: a light import, and a wheel that works alone."""

import ast
import os
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest
import yaml

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
@pytest.mark.parametrize("what", ["import guestlist", "import guestlist.cli", HELP])
def test_an_import_and_help_load_nothing_heavy(what):
    said = python(f"{what}; import sys; print([m for m in {HEAVY} if m in sys.modules])")
    assert said.splitlines()[-1] == "[]"
    assert ("Usage: " in said) == (what is HELP)


def test_every_public_name_can_be_had():
    for name in guestlist.__all__:
        assert getattr(guestlist, name) is not None
    stub = ast.parse((Path(guestlist.__file__).parent / "__init__.pyi").read_text("utf-8"))
    named = [one.asname for line in stub.body if isinstance(line, ast.ImportFrom) for one in line.names]
    assert sorted(guestlist.__all__) == sorted(named)
    with pytest.raises(AttributeError, match="No guestlist attribute audti"):
        guestlist.audti  # noqa: B018


def test_every_extra_is_in_the_readme_and_installed_by_make():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    readme, makefile = ((ROOT / name).read_text("utf-8") for name in ("README.md", "Makefile"))
    assert all(f"[{extra}]" in readme for extra in extras)
    (installed,) = re.findall(r'--editable "\.\[(.*)\]"', makefile)
    assert set(installed.split(",")) == set(extras)


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
    checked = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *files],
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


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
    given = {"folder": "audit", "max-auc": "0.6", "max-tpr": "0.9@0.01 0.9@0.05", "ignore": "GL101"}
    inputs = {name: given.get(name, row.get("default", "")) for name, row in action["inputs"].items()}
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


@pytest.mark.slow
def test_the_function_audit_is_not_hidden_by_a_module():
    code = "import guestlist._audit.flow, guestlist._audit.predictions, guestlist as gl; print(callable(gl.audit))"
    assert python(code) == "True"


@pytest.mark.slow
def test_every_command_and_name_without_extras_works_or_names_the_extra(tmp_path):
    (tmp_path / "hidden").mkdir()
    (tmp_path / "work").mkdir()
    without_extras.hide(tmp_path / "hidden")
    path = os.pathsep.join([str(tmp_path / "hidden"), *filter(None, sys.path)])
    script = [sys.executable, without_extras.__file__, tmp_path / "work"]
    result = subprocess.run(script, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


@pytest.mark.slow
@pytest.mark.wheel
@pytest.mark.timeout(0)  # how long an installation takes is the machine's and the network's affair
def test_the_wheel_alone_in_an_empty_environment_runs_the_demo(tmp_path):
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", tmp_path, ROOT]  # the wheel from the sdist
    subprocess.run(build, check=True, capture_output=True)
    (sdist,) = tmp_path.glob("guestlist-*.tar.gz")
    (wheel,) = tmp_path.glob("guestlist-*.whl")
    twine = [sys.executable, "-m", "twine", "check", "--strict", sdist, wheel]
    described = subprocess.run(twine, capture_output=True, text=True)
    assert described.returncode == 0, described.stdout + described.stderr
    venv.create(tmp_path / "empty", with_pip=True)
    bin = tmp_path / "empty" / ("Scripts" if os.name == "nt" else "bin")
    pip = [bin / "python", "-m", "pip", "install", "--quiet", "--no-compile"]  # what is imported is compiled then
    install = [*pip, "--constraint", ROOT / "constraints.txt", wheel]
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "GUESTLIST"))}
    installed = subprocess.run(install, env=clean, capture_output=True, text=True)
    if installed.returncode and "No matching distribution" in installed.stderr:
        pytest.skip("no package registry can be reached to install the dependencies")
    assert installed.returncode == 0, installed.stderr
    run = {"cwd": tmp_path, "env": clean, "capture_output": True, "text": True, "check": True}
    where = subprocess.run([bin / "python", "-c", "import guestlist; print(guestlist.__file__)"], **run)
    assert str(tmp_path / "empty") in where.stdout
    result = subprocess.run([bin / "guestlist", "demo", "--quick", "--out", tmp_path / "demo"], **run)
    assert "be identified?" in result.stdout
    assert (tmp_path / "demo" / "report.html").stat().st_size > 10_000
    (tmp_path / "work").mkdir()
    script = [bin / "python", without_extras.__file__, tmp_path / "work"]
    checked = subprocess.run(script, cwd=tmp_path, env=clean, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
