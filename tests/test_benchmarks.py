"""Benchmarks are run on demand; that they still fit the code is seen here."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BENCHMARKS = sorted(path.parent.name for path in (ROOT / "benchmarks").glob("*/__main__.py"))
PAPERS = sorted(path.parent.name for path in (ROOT / "papers").glob("*/__main__.py"))


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_benchmark_can_be_run(name):
    assert callable(import_module(f"benchmarks.{name}.__main__").main)


@pytest.mark.parametrize(
    "module",
    ["benchmarks", "papers", *(f"benchmarks.{name}" for name in BENCHMARKS), *(f"papers.{name}" for name in PAPERS)],
)
def test_help_prints_the_options_and_starts_nothing(module, monkeypatch, capsys):
    main = import_module(f"{module}.__main__").main
    monkeypatch.setattr(sys, "argv", [module, "--help"])
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("a run was started"))
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("usage: ")


@pytest.mark.parametrize("module", ["benchmarks", "papers"])
def test_a_name_runs_that_one_alone_and_an_unknown_one_is_refused(module, monkeypatch, capsys):
    names = BENCHMARKS if module == "benchmarks" else PAPERS
    started: list[str] = []
    monkeypatch.setattr(subprocess, "run", lambda command, **_: started.append(command[2]))
    main = import_module(f"{module}.__main__").main
    main([names[1]])
    assert started == [f"{module}.{names[1]}"]
    with pytest.raises(SystemExit):
        main(["no_such_name"])
    assert "choose from" in capsys.readouterr().err
    main([])
    assert started[1:] == [f"{module}.{name}" for name in names]


def test_every_benchmark_is_in_the_docs():
    page = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")
    assert [name for name in BENCHMARKS if f"benchmarks.{name}" not in page] == []
