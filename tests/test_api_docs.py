"""The reference is complete: every public name documents its parameters, result and errors, and has an example that runs.

Docstrings follow the Google style. The rules:

- `Args:` (or `Attributes:`) of a class or function names every parameter of its signature, and nothing else.
- A function that returns something has `Returns:` (a generator `Yields:`).
- A function or class whose own code raises an error has `Raises:`; so has every function at the root.
- Every class and function at the root has an example.
- So has every other name in docs/api.md; the docstring of its module or package may have the example that uses it.
"""

import ast
import builtins
import contextlib
import doctest
import importlib
import inspect
import io
import pkgutil
import re
import textwrap
import warnings
from enum import Enum
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import guestlist as gl
from guestlist import errors

PACKAGES = (
    "attacks",
    "datasets",
    "defences",
    "evidence",
    "games",
    "knn",
    "metrics",
    "models",
    "privacy",
    "risks",
    "testing",
)
PAGE = Path(__file__).parents[1] / "docs" / "api.md"
SECTION = re.compile(r"^(Args|Attributes|Returns|Yields|Raises|Examples):\n((?:(?: {4}.*)?\n)+)", re.MULTILINE)
ENTRY = re.compile(r"^(\*{0,2}[\w.]+(?:, \*{0,2}[\w.]+)*):", re.MULTILINE)
# Functions at the root that raise no error of their own for any input of the documented types.
NO_ERRORS = {"show_progress"}


def exported(module: ModuleType) -> dict[str, object]:
    """Return the classes and functions of guestlist that a module exports."""
    names = getattr(module, "__all__", ())
    values = {name: inspect.unwrap(getattr(module, name)) for name in names}
    return {
        name: value
        for name, value in values.items()
        if (inspect.isclass(value) or inspect.isfunction(value)) and value.__module__.startswith("guestlist")
    }


ROOT_NAMES = {f"gl.{name}": value for name, value in exported(gl).items()}
PACKAGE_NAMES = {
    f"gl.{package}.{name}": value
    for package in PACKAGES
    for name, value in exported(importlib.import_module(f"guestlist.{package}")).items()
}
NAMES = {**ROOT_NAMES, **PACKAGE_NAMES}


def sections(value: object) -> dict[str, str]:
    """Return the sections of a docstring by their headings, without indentation."""
    text = (inspect.getdoc(value) or "") + "\n"
    return {heading: textwrap.dedent(body) for heading, body in SECTION.findall(text)}


def entries(section: str) -> list[str]:
    """Return the names that a section documents."""
    return [name.strip("* ") for names in ENTRY.findall(section) for name in names.split(",")]


def parameters(value: object) -> set[str]:
    """Return the parameters of a function, or of the constructor of a class; none for errors, enums and protocols."""
    if inspect.isclass(value) and (issubclass(value, Exception | Enum) or getattr(value, "_is_protocol", False)):
        return set()
    return set(inspect.signature(value).parameters)


def raises(value: object) -> bool:
    """Return whether the code of a function, or of the constructor of a class, has a raise statement."""
    code = value
    if inspect.isclass(value):
        if getattr(value, "_is_protocol", False):
            return False
        code = vars(value).get("__post_init__", vars(value).get("__init__"))
    if not inspect.isfunction(code) or code.__code__.co_filename == "<string>":  # made by dataclass
        return False
    return any(isinstance(node, ast.Raise) for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(code)))))


def returns(value: object) -> bool:
    """Return whether a function returns something, by its annotation."""
    return inspect.isfunction(value) and inspect.signature(value).return_annotation not in (None, "None")


def missing(name: str) -> list[str]:
    """Return what the docstring of a public name lacks."""
    value = NAMES[name]
    parts = sections(value)
    documented = entries(parts.get("Args", "")) + entries(parts.get("Attributes", ""))
    gaps = []
    if undocumented := parameters(value) - set(documented):
        gaps.append(f"parameters {', '.join(sorted(undocumented))}")
    if repeated := {entry for entry in documented if documented.count(entry) > 1}:
        gaps.append(f"one entry only for {', '.join(sorted(repeated))}")
    if not inspect.isclass(value) and (unknown := set(documented) - parameters(value)):
        gaps.append(f"no entry for {', '.join(sorted(unknown))}, which is no parameter")
    if returns(value) and not {"Returns", "Yields"} & set(parts):
        gaps.append("Returns")
    at_root = name in ROOT_NAMES and inspect.isfunction(value) and name.removeprefix("gl.") not in NO_ERRORS
    if (raises(value) or at_root) and "Raises" not in parts:
        gaps.append("Raises")
    for error in entries(parts.get("Raises", "")):
        if not hasattr(builtins, error) and not hasattr(errors, error):
            gaps.append(f"an error that exists instead of {error}")
    return gaps


@pytest.mark.parametrize("package", ["", *PACKAGES])
def test_every_parameter_result_and_error_is_documented(package):
    chosen = [name for name in NAMES if name.rpartition(".")[0].removeprefix("gl").lstrip(".") == package]
    assert chosen
    gaps = {name: missing(name) for name in chosen}
    lines = [f"{name}: needs {'; '.join(gap)}" for name, gap in gaps.items() if gap]
    assert not lines, "\n" + "\n".join(lines)


def example_text(docstring: str | None) -> str:
    """Return the code of the examples in a docstring."""
    examples = doctest.DocTestParser().get_examples(docstring or "")
    return "\n".join(example.source for example in examples)


def test_every_name_at_the_root_has_an_example():
    without = [name for name, value in ROOT_NAMES.items() if ">>>" not in sections(value).get("Examples", "")]
    assert not without, "\n" + "\n".join(without)


def test_every_name_of_the_reference_has_an_example():
    without = []
    for name in reference_names():
        value = NAMES[f"gl.{name}"]
        package = importlib.import_module(f"guestlist.{name.rpartition('.')[0]}".rstrip("."))
        shared = example_text(inspect.getmodule(value).__doc__) + example_text(package.__doc__)
        example = example_text(inspect.getdoc(value))
        if not example and not re.search(rf"\b{name.rpartition('.')[2]}\b", shared):
            without.append(f"gl.{name}")
    assert not without, "\n" + "\n".join(without)


def reference_names() -> list[str]:
    """Return the classes and functions in docs/api.md, such as ``audit`` and ``defences.Fit``."""
    page = PAGE.read_text("utf-8")
    names = re.findall(r"^\.\. auto(?:class|function):: (?:guestlist\.)?([\w.]+)$", page, re.MULTILINE)
    assert len(names) > len(ROOT_NAMES)
    return [name for name in names if "." not in name or name.split(".")[0] in PACKAGES]


def modules_with_examples() -> list:
    """Return the modules of guestlist, private ones too, that have examples; those that train models are slow."""
    undocumented = []
    for module in pkgutil.walk_packages(gl.__path__, "guestlist."):
        origin = module.module_finder.find_spec(module.name).origin
        text = Path(origin).read_text("utf-8")
        if ">>> " in text:
            slow = [pytest.mark.slow] if "small_model()" in text or "small_audit(" in text else []
            undocumented.append(pytest.param(module.name, marks=slow))
    return undocumented


@cache
def doctests(module: str) -> list[doctest.DocTest]:
    """Return the examples of a module."""
    code = importlib.import_module(module)
    # As in NumPy's reference, examples assume the usual imports.
    return doctest.DocTestFinder(exclude_empty=True).find(code, extraglobs={"gl": gl, "np": np})


@pytest.mark.parametrize("module", modules_with_examples())
def test_examples_run(module, tmp_path, monkeypatch):
    for extra in ("torch", "keras", "opacus", "captum", "skl2onnx"):  # some examples show features of extras
        pytest.importorskip(extra)
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    report = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore", gl.AuditWarning)
        warnings.filterwarnings("ignore", "__array__ implementation", DeprecationWarning)  # in Keras
        for test in doctests(module):
            runner.run(test, out=report.write)
    results = runner.summarize(verbose=False)
    assert results.attempted
    assert not results.failed, report.getvalue()
