"""The members with the largest risks: who is listed, in which order, and what a spreadsheet gets."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.linear_model import LogisticRegression

import guestlist as gl
from guestlist import Estimate, InputError
from guestlist._findings import groups, records
from guestlist._findings.records import deciding_column
from guestlist._findings.results import DISAGREE, REPORT, disagreements, members_by_exposure, report_table
from guestlist._report.sections.risks import group_contradictions, ranking_disagreements
from guestlist._util import for_spreadsheets
from guestlist.cli import main
from guestlist.risks import RECOMMENDED, members_by_risk, risks_of
from guestlist.testing import case_of, gaussian_simulation, leaking_case


def test_only_members_are_listed_the_most_exposed_first():
    case = leaking_case()
    table = members_by_risk(case, ["risk_score", "mu"])
    member = case.truth.member & case.truth.evaluated
    assert len(table) == member.sum()
    assert set(table["id"]) == set(case.records["id"][member])
    values = table["risk_risk_score"].to_numpy()
    assert (np.diff(values[~np.isnan(values)]) <= 0).all()
    ids = case.records["id"].tolist()
    expected = risks_of(case, ["mu"])["mu"][[ids.index(identifier) for identifier in table["id"]]]
    np.testing.assert_array_equal(table["risk_mu"], expected)
    tied = table.groupby("risk_risk_score")["id"].apply(list)
    assert all(names == sorted(names) for names in tied)


def test_members_in_the_order_of_the_report_are_those_of_its_list():
    case = leaking_case()
    table, attack = report_table(case, None)
    members = members_by_exposure(table, attack)
    listed = case.of(records.find)
    assert len(members) == (case.truth.member & case.truth.evaluated).sum()
    assert listed
    assert members["id"].tolist()[: len(listed)] == [record.id for record in listed]
    scored = members["id"].isin(table["id"][table[f"score_{attack}"].notna()]).to_numpy()
    assert scored[: scored.sum()].all()
    flagged = members["flagged"].to_numpy()[scored]
    assert 0 < flagged.sum() < len(flagged)
    assert flagged[: flagged.sum()].all()
    risks = [name for name in members if name.startswith("risk_")]
    assert risks[0] == f"risk_{RECOMMENDED}" == "risk_mu"


def test_risks_that_rank_members_differently_are_named():
    order = np.arange(50.0)
    ranked = pd.DataFrame(
        {"risk_mu": -order, "risk_memorisation": -order + np.tile([5.0, -5.0], 25), "risk_score": order}
    )
    assert disagreements(ranked, order=True) == [(REPORT, "score", pytest.approx(-1))]
    pairs = disagreements(ranked, order=False)
    assert [pair[:2] for pair in pairs] == [("mu", "score"), ("memorisation", "score")]
    assert all(value < DISAGREE for *_, value in pairs)
    (report,) = ranking_disagreements(disagreements(ranked, order=True))
    assert "score (-1.000)" in report
    assert len(ranking_disagreements(pairs)) == 2
    constant = ranked.assign(risk_score=1.0, risk_none=np.nan)
    assert disagreements(constant, order=True) == []


def test_groups_for_which_risks_contradict_each_other_are_named():
    group_risks = groups.find_group_risks(leaking_case())
    part = group_risks.judged[0]
    larger, smaller = (
        replace(part.risks[at], beyond_rest=Estimate(by, by - 0.01, by + 0.01), p_value=0.001)
        for at, by in ((0, 0.1), (-1, -0.1))
    )
    opposed = replace(part, risks=(larger, *part.risks[1:-1], smaller))
    (text,) = group_contradictions(replace(group_risks, judged=(opposed, *group_risks.judged[1:])))
    assert all(name in text for name in (larger.risk, smaller.risk, *part.values.values()))
    agreeing = replace(opposed, risks=(larger, *part.risks[1:-1], replace(smaller, p_value=0.2)))
    assert group_contradictions(replace(group_risks, judged=(agreeing, *group_risks.judged[1:]))) == []


def test_the_cost_of_a_risk_is_reported():
    few = case_of(gaussian_simulation(1.0, records=40, models=3), ("loss",))
    with pytest.raises(InputError, match=r"this audit lacks 8 reference models\. Audit again"):
        members_by_risk(few, ["mu"])
    losses = {"loss": few.view.values["loss"]}
    only_losses = replace(few, view=gl.attacks.Signals(losses, few.view.reference_member, few.view.labels))
    with pytest.raises(InputError, match=r"lacks the signals mentr\. Audit again with labels and a model"):
        members_by_risk(only_losses, ["risk_score"])
    with pytest.raises(InputError, match=r"lacks the target's probabilities with labels\. Audit again"):
        members_by_risk(only_losses, ["shapr"])
    with pytest.raises(InputError, match="There is no risk 'moo'"):
        members_by_risk(few, ["moo"])


def test_a_spreadsheet_computes_nothing():
    table = pd.DataFrame({"=id": ["=1+1", "+a", "-b", "@c", "plain"], "risk": [-1.0, 2.0, 3.0, 4.0, 5.0]})
    cells = for_spreadsheets(table)
    assert cells.columns.tolist() == ["'=id", "risk"]
    assert cells["'=id"].tolist() == ["'=1+1", "'+a", "'-b", "'@c", "plain"]
    assert cells["risk"].tolist() == table["risk"].tolist()


@pytest.mark.slow
def test_the_command(tmp_path):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(120, 4)), rng.integers(2, size=120)
    table = pd.DataFrame(x, columns=list("abcd")).assign(y=y, who=[f"=p{n}" for n in range(120)])
    table = table.assign(
        sex=np.where(x[:, 0] > 0, "m", "f"), region=["c" if n in (3, 70) else "ab"[n % 2] for n in range(120)]
    )
    model = LogisticRegression().fit(table.loc[:59, list("abcd")], y[:60])
    options = {"label": "y", "id": "who", "group": ["sex", "region"], "references": 8, "jobs": 1}
    gl.audit(model, table[:60], table[60:], folder=tmp_path / "a", **options)

    def run(*arguments):
        return CliRunner().invoke(main, ["risks", str(tmp_path / "a"), *arguments], catch_exceptions=False)

    result = run("--risk", "mu,shapr", "--top", "3", "--export", str(tmp_path / "out.csv"))
    assert result.exit_code == 0, result.output
    assert "shapr" in result.output
    written = pd.read_csv(tmp_path / "out.csv")
    assert len(written) == 60
    assert written["id"].str.startswith("'=p").all()
    top = json.loads(run("--json", "--risk", "mu", "--top", "2").output)
    assert [row["id"] for row in top] == [identifier.removeprefix("'") for identifier in written["id"][:2]]
    # Without --risk the order is that of the report, whose list comes first.
    every = json.loads(run("--json", "--top", "60").stdout)
    results = gl.read_results(tmp_path / "a")
    assert [row["id"] for row in every][: len(results.exposed)] == [record.id for record in results.exposed]
    scored = set(results.records["id"][results.records[f"score_{results.headline.name}"].notna()])
    column = deciding_column(results.records)
    p_values = [row[column] for row in every if row["id"] in scored]
    assert p_values == sorted(p_values)
    assert len(every) == 60
    assert run("--export", "out.xlsx").exit_code == 2
    assert run("--risk", "moo").exit_code == 2
    groups = run("--group", "sex,region", "--risk", "mu")
    assert groups.exit_code == 0, groups.output
    assert "sex = f and region = a" in groups.output
    assert "are not evaluated" in groups.output
    assert "region = c (1 and 1)" in " ".join(groups.output.split())
    document = json.loads(run("--group", "sex", "--risk", "mu", "--json").output)
    assert [part["values"] for part in document["judged"]] == [{"sex": "f"}, {"sex": "m"}]
    both = run("--risk", "mu,shapr", "--group", "sex", "--top", "2", "--export", str(tmp_path / "both.csv"))
    assert both.exit_code == 0, both.output
    assert "shapr" in both.output
    assert "sex = f" in both.output
    assert len(pd.read_csv(tmp_path / "both.csv")) == 60
    two = json.loads(run("--risk", "mu", "--group", "sex", "--top", "2", "--json").output)
    assert len(two["members"]) == 2
    assert len(two["groups"]["judged"]) == 2
    table[["who", "a"]].rename(columns={"who": "id"}).to_csv(tmp_path / "own.csv", index=False)
    content = json.loads(run("--predictive-value", "--custom", str(tmp_path / "own.csv"), "--json").output)
    attacks = {row["attack"] for row in content}
    assert {(row["risk"], row["attack"]) for row in content} >= {
        (r, a) for r in ("all_members", "mu", "a") for a in attacks
    }
    assert len(attacks) > 5
    assert "all_members" in run("--predictive-value", "--risk", "mu").output
    for wrong in (
        ["--custom", "x.csv"],
        ["--group", "sex", "--predictive-value"],
        ["--predictive-value", "--export", "x.csv"],
        ["--group", "age"],
        ["--group", ""],
        ["--risk", "mu,"],
        ["--export", str(tmp_path / "nowhere" / "x.csv")],
    ):
        assert run(*wrong).exit_code == 2
