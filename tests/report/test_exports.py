"""Results for other tools: they say what the page says, name no member, and let nothing become markup."""

import io
import json
import re
import sys
from dataclasses import replace
from types import SimpleNamespace

import jsonschema
import numpy as np
import pandas as pd
import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from tests.report.results_schema import results_schema

from example_results import HOSTILE, hostile, leaking, predictions_only, quiet
from guestlist import EXPORTS, Cover, InputError, Results
from guestlist._report.assessment import ICO, REQUIREMENTS, assessment_rows
from guestlist._report.exports import MLFLOW_FILES, escape_latex
from guestlist._report.sections.answer import verdict_text
from guestlist._report.templates import plain, plain_with_code
from guestlist.cli import main
from guestlist.defences.recipe import Training

PROSE = ("markdown", "model_card", "assessment")
TEXTS = [name for name in EXPORTS if name != "mlflow"]


@pytest.mark.parametrize("make", [leaking, quiet, predictions_only])
@pytest.mark.parametrize("name", PROSE)
def test_prose_reports_the_verdict_of_the_page(name, make):
    assert plain(verdict_text(make())) in EXPORTS[name].text(make())


@pytest.mark.parametrize("name", TEXTS)
def test_no_export_names_a_member(name):
    exposed = tuple(replace(row, id=f"person-{number}") for number, row in enumerate(leaking().exposed))
    assert exposed
    assert "person-" not in EXPORTS[name].text(leaking(exposed=exposed))


@pytest.mark.slow
@pytest.mark.parametrize("name", PROSE)
def test_nothing_that_a_user_wrote_becomes_markup(name):
    text = EXPORTS[name].text(hostile())
    assert HOSTILE not in text
    assert not re.search(r"(?<!\\)<\w", text)
    bars = [len(re.findall(r"(?<!\\)\|", line)) for line in text.splitlines() if line.startswith("| ")]
    assert len(set(bars)) == 1  # a cell holds no bar that would begin another


def test_latex_prints_every_name_as_it_is():
    assert escape_latex(r"50%_a\b{$x^2~}<&#") == (
        r"50\%\_a\textbackslash{}b\{\$x\textasciicircum{}2\textasciitilde{}\}\textless{}\&\#"
    )
    rows = [line for line in hostile().to_latex().splitlines() if line.endswith(r" \\")]
    assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {4}


def test_latex_has_a_row_per_attack_with_interval_ends_rounded_outwards():
    lines = leaking().to_latex().splitlines()
    rows = lines[lines.index(r"\midrule") + 1 : lines.index(r"\bottomrule")]
    assert len(rows) == len(leaking().outcomes)
    assert rows[0].startswith(r"\textbf{lira} & ")
    value, low, high = map(float, re.findall(r"0\.\d{3}", rows[0])[:3])
    auc = leaking().attack("lira").auc
    assert value == round(auc.value, 3)
    assert low <= auc.low < auc.high <= high


def test_roc_has_every_point_of_every_curve():
    table = pd.read_csv(io.StringIO(EXPORTS["roc"].text(leaking())))
    assert list(table["attack"].unique()) == [outcome.name for outcome in leaking().outcomes]
    curve = leaking().attack("lira").curve
    lira = table[table["attack"] == "lira"]
    points = lira.dropna(subset="tpr")
    band = lira.dropna(subset="tpr_low")
    np.testing.assert_allclose(points[["fpr", "tpr"]].to_numpy().T, [curve.fpr, curve.tpr])
    np.testing.assert_allclose(
        band[["fpr", "tpr_low", "tpr_high"]].to_numpy().T, [curve.band_fpr, curve.band_low, curve.band_high]
    )


@pytest.mark.parametrize("make", [leaking, quiet, predictions_only, hostile])
def test_json_follows_its_schema_and_is_read_back(make):
    content = json.loads(EXPORTS["json"].text(make()))
    assert content["$schema"] == results_schema()["$id"]
    jsonschema.Draft202012Validator(results_schema()).validate(content)
    pd.testing.assert_frame_equal(Results.from_document(content).attacks, make().attacks)


@pytest.mark.slow
@pytest.mark.parametrize("make", [leaking, quiet, predictions_only, hostile])
def test_cyclonedx_follows_the_published_schema(make):
    text = EXPORTS["cyclonedx"].text(make())
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    card = json.loads(text)["metadata"]["component"]["modelCard"]
    auc = make().attack(make().headline.name).auc
    metric = card["quantitativeAnalysis"]["performanceMetrics"][0]
    assert float(metric["value"]) == auc.value
    assert float(metric["confidenceInterval"]["upperBound"]) == auc.high


def test_the_assessment_takes_its_values_from_the_results():
    rows = assessment_rows(leaking())
    assert {row.state for row in rows} == {"measured", "not tested"}
    assert all(bool(row.value) == bool(row.where) == (row.state != "not tested") for row in rows)
    assert all(name in (*Results.finding_names(), "gate") for row in rows for name in row.where.split(", ") if name)
    assert {row.state for row in assessment_rows(Results())} == {"not tested"}
    declared = assessment_rows(
        leaking(training=Training("DpSgd", epsilon=2.0, delta=1e-5), cover=Cover(purpose="triage"))
    )
    assert {row.value for row in declared if row.state == "declared"} == {"ε = 2, δ = 1e-05", "purpose: triage"}


def test_every_requirement_has_a_clause_number_where_its_document_has_numbers():
    without = {row.standard for row in REQUIREMENTS if not re.search(r"\d", row.clause)}
    assert without == {ICO}


def test_the_assessment_has_every_row_and_a_block_to_sign():
    text = EXPORTS["assessment"].text(leaking())
    assert all(plain(row.question) in text for row in assessment_rows(leaking()))
    assert text.rstrip().splitlines()[-4:] == [
        f"- {name}: ____________________" for name in ("Name", "Role", "Decision", "Date")
    ]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of mlflow
def test_mlflow_stores_metrics_parameters_tags_and_files(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "runs").as_uri())
    mlflow = pytest.importorskip("mlflow")
    run = mlflow.get_run(EXPORTS["mlflow"].text(leaking()).strip())
    assert run.data.metrics["guestlist_auc"] == leaking().attack("lira").auc.value
    assert run.data.metrics["guestlist_tpr_at_0.01_fpr_low"] == leaking().attack("lira").rates[1].tpr.low
    assert run.data.params["guestlist_headline"] == "lira"
    assert run.data.tags["guestlist.open_checks"].startswith("GL1")
    assert run.info.status == "FINISHED"
    files = {path.name: path.read_text("utf-8") for path in tmp_path.rglob("artifacts/guestlist/*")}
    assert files == {f"{name}{EXPORTS[name].suffix}": EXPORTS[name].text(leaking()) for name in MLFLOW_FILES}


def test_mlflow_that_is_missing_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(InputError, match=r'The export mlflow needs mlflow, .* pip install "\.\[mlflow\]"'):
        EXPORTS["mlflow"].text(leaking())


def test_a_package_that_the_store_of_mlflow_needs_is_named(monkeypatch):
    class Mlflow:
        exceptions = SimpleNamespace(MlflowException=RuntimeError)

        def active_run():
            raise ModuleNotFoundError("No module named 'alembic'")

    monkeypatch.setitem(sys.modules, "mlflow", Mlflow)
    with pytest.raises(InputError, match="alembic"):
        EXPORTS["mlflow"].text(leaking())


def test_text_that_markdown_would_read_is_escaped():
    assert plain("a|b_*[x](y)<z>") == r"a\|b\_\*\[x\](y)\<z\>"
    assert plain_with_code("a_b `gl.play_many(<z>)` [x](y)") == r"a\_b `gl.play_many(<z>)` \[x\](y)"
    assert plain_with_code("a ` [x](y)") == r"a \` \[x\](y)"


@pytest.mark.slow
def test_the_headline_is_first():
    rows = [line for line in EXPORTS["markdown"].text(leaking()).splitlines() if line.startswith("| ")]
    assert rows[2].startswith("| **")
    assert len(rows) == 2 + len(leaking().outcomes)


@pytest.mark.slow
def test_issues_are_listed_with_their_codes():
    codes = [check.code for check in leaking().checks if check.state == "issue"]
    assert all(code in EXPORTS["markdown"].text(leaking()) for code in codes)


@pytest.mark.slow
def test_the_command(tmp_path, monkeypatch):
    from click.testing import CliRunner

    from guestlist._findings.results import write_results

    write_results(tmp_path, leaking(), {})
    run = CliRunner().invoke
    assert run(main, ["export", str(tmp_path)]).stdout == EXPORTS["markdown"].text(leaking())
    out = tmp_path / "card.md"
    assert run(main, ["export", str(tmp_path), "--as", "model_card", "--out", str(out)]).exit_code == 0
    assert out.read_text("utf-8").startswith("## Membership privacy")
    wrong = run(main, ["export", str(tmp_path), "--as", "pdf"])
    assert wrong.exit_code == 2
    assert "There is no export 'pdf'." in wrong.stderr
