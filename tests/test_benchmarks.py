"""Benchmarks are run on demand; that they still fit the code is seen here."""

import json
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from benchmarks.attacks.learned import learned
from benchmarks.attacks.models import RECIPES, TARGETS, Models
from benchmarks.attacks.sixteen import compare, tprs
from benchmarks.minutes.__main__ import headline, references_within, shares
from benchmarks.minutes.subsample import corrected

from guestlist._findings.headline import PREFERRED
from guestlist.datasets import local
from guestlist.testing import gaussian_simulation, target_of

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
def test_a_name_runs_only_that_row_and_an_unknown_name_is_refused(module, monkeypatch, capsys):
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


STRENGTH = json.loads((ROOT / "benchmarks" / "attacks" / "strength.json").read_text("utf-8"))


@pytest.mark.parametrize("references", ["4", "8"])
def test_the_attack_fixed_for_few_references_is_near_the_best_on_every_type_of_model(references):
    shares = STRENGTH["share of the best attack's TPR, mean over datasets"]
    assert min(share[references][PREFERRED[0]] for share in shares.values()) >= 0.9


def test_attacks_have_no_advantage_on_null_data_in_the_comparison():
    assert {name: row for name, row in STRENGTH["null AUC"].items() if abs(row["auc"] - 0.5) > 0.005} == {}


def test_the_learned_combination_has_no_advantage_on_null_data():
    document = json.loads((ROOT / "benchmarks" / "attacks" / "learned.json").read_text("utf-8"))["null AUC"]
    assert abs(document["auc"] - 0.5) <= 0.005


@pytest.mark.slow
def test_the_learned_combination_fits_nothing_to_the_target():
    """A target's output for one record changes the score of that record only."""
    view, _ = target_of(gaussian_simulation(1.0, records=200, models=7))
    values = {name: matrix.copy() for name, matrix in view.values.items()}
    for matrix in values.values():
        matrix[0, 0] = matrix[0, 1]
    before, after = learned(view), learned(replace(view, values=values))
    np.testing.assert_array_equal(before[1:], after[1:])


def test_minutes_fit_the_references_of_the_results():
    document = json.loads((ROOT / "benchmarks" / "minutes" / "results.json").read_text("utf-8"))
    for dataset in document["datasets"].values():
        for row in dataset["budgets"]:
            assert row["references"] == references_within(row["minutes"])
            assert row["attack"] == headline(row["references"])


def test_more_minutes_identify_more_members():
    rng = np.random.default_rng(0)
    member = rng.random((10, 300)) < 0.5
    labels = rng.integers(2, size=300)
    margin = rng.normal(size=300) + 2.0 * member + rng.normal(size=member.shape)
    right = 1 / (1 + np.exp(-margin))
    probabilities = np.where(np.arange(2) == labels[:, None], right[..., None], 1 - right[..., None])
    tprs = shares(Models(probabilities, member, labels), [1], targets=2, at_most=8)
    assert 0 < tprs[1] < tprs[8]


def test_the_correction_for_smaller_references_removes_a_shift_and_a_scale():
    rng = np.random.default_rng(0)
    member = rng.random((9, 20_000)) < 0.5
    margins = rng.normal(size=member.shape) + 2.0 * member
    smaller = np.vstack([margins[:1], 3 * margins[1:] - 1])
    assert np.allclose(corrected(smaller, member[1:]), margins, atol=0.15)


@pytest.mark.skipif(local("adult.parquet") is None, reason="the file of Adult is not there")
def test_few_and_many_references_are_compared_on_the_same_targets():
    outcomes = tprs(RECIPES["logistic"], few=2, many=4)
    row = compare(RECIPES["logistic"], few=2, many=4)
    assert [len(rates) for rates in outcomes.values()] == [TARGETS, TARGETS]
    assert row["difference"] == pytest.approx(np.mean(outcomes["few"] - outcomes["many"]), abs=1e-4)


def test_sixteen_references_are_as_good_as_sixty_four_for_plain_lira():
    """No type of boosted trees has a lower TPR by more than two standard errors."""
    measured = json.loads((ROOT / "benchmarks" / "attacks" / "sixteen.json").read_text("utf-8"))
    assert [
        name for name, row in measured["models"].items() if row["difference"] < -2 * row["its standard error"]
    ] == []
