import json

import numpy as np
import pandas as pd
import pytest
import skops.io
from click.testing import CliRunner
from sklearn.ensemble import RandomForestClassifier

from guestlist.attacks import ATTACKS
from guestlist.cli import main


@pytest.fixture(scope="module")
def files(blobs, tmp_path_factory):
    """train.parquet, holdout.csv, model.skops and preds.npz, with a group column and hostile text in it."""
    folder = tmp_path_factory.mktemp("files")
    (x, y), (x2, y2) = blobs

    def table(x, y):
        names = np.where(x[:, 0] > 0, "<script>alert(1)</script>", "b")
        return pd.DataFrame(x, columns=list("vwxyz")).assign(income=y, sex=names)

    table(x, y).to_parquet(folder / "train.parquet")
    table(x2, y2).to_csv(folder / "holdout.csv", index=False)
    model = RandomForestClassifier(10, random_state=0).fit(table(x, y)[list("vwxyz")], y)
    skops.io.dump(model, folder / "model.skops")
    p = model.predict_proba(table(np.r_[x, x2], np.r_[y, y2])[list("vwxyz")])
    np.savez(folder / "preds.npz", probs=p, labels=np.r_[y, y2], member=np.arange(len(p)) < len(y))
    return folder


MODEL = ["audit", "--model", "m.skops", "--members", "a.csv", "--nonmembers", "b.csv"]


def guestlist(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments], catch_exceptions=False)


@pytest.fixture(scope="module")
def audited(files):
    out = files / "audit"
    result = guestlist(
        "audit", "--model", files / "model.skops", "--members", files / "train.parquet", "--nonmembers", files / "holdout.csv",
        "--label", "income", "--group", "sex", "--out", out, "--references", 8, "--jobs", 1,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    return out, result


def test_audit_prints_an_answer_and_writes_a_report(audited):
    out, results = audited
    assert "be identified?" in results.stdout
    assert f"Report: {out / 'report.html'}" in results.stdout
    assert "left" in results.stderr
    assert "left" not in results.stdout.split("Report:")[0].split("\n")[0]
    page = (out / "report.html").read_text("utf-8")
    assert "<script>alert(1)" not in page
    expected = {"manifest.json", "pool.parquet", "split.npz", "signals", "outputs.npz", "baseline.json", "baseline.npz", "scores",
                "records.parquet", "attacks.parquet", "results.json", "report.html"}  # fmt: skip
    assert {p.name for p in out.iterdir() if not p.name.startswith(".")} == expected


def test_minutes_train_at_most_the_requested_number_and_collect_adds_more(files, tmp_path):
    options = ["--attack", "base", "--jobs", 1, "--json"]
    first = guestlist(
        "audit", "--model", files / "model.skops", "--members", files / "train.parquet", "--nonmembers", files / "holdout.csv",
        "--label", "income", "--no-baseline", "--minutes", 60, "--references", 2, "--out", tmp_path, *options,
    )  # fmt: skip
    references = json.loads(first.stdout)["references"]
    assert (references["count"], references["minutes"]) == (2, 60)
    assert references["seconds_per_model"] > 0
    result = guestlist("collect", tmp_path, "--minutes", 60, "--seconds-per-model", 1, "--references", 3, *options)
    assert json.loads(result.stdout)["references"]["count"] == 3


def test_an_estimate_prints_the_duration_and_writes_nothing(files, tmp_path):
    subject = (
        "--model",
        files / "model.skops",
        "--members",
        files / "train.parquet",
        "--nonmembers",
        files / "holdout.csv",
    )
    options = ("--label", "income", "--references", 8, "--jobs", 1, "--seconds-per-model", 60, "--out", tmp_path / "a")
    result = guestlist("audit", *subject, *options, "--estimate")
    assert "Estimated time: about 8 min." in result.stdout
    document = json.loads(guestlist("audit", *subject, *options, "--estimate", "--json").stdout)
    assert document["references"] == 8
    assert document["seconds"] > 480
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([*MODEL, "--minutes", 5, "--estimate"], "--estimate and --minutes cannot be combined"),
        ([*MODEL, "--minutes", 0], "not in the range"),
        ([*MODEL, "--minutes", 5, "--references", 0], "--minutes cannot be combined with --references 0"),
        ([*MODEL, "--seconds-per-model", 5], "only used with --minutes"),
        (["audit", "--predictions", "p.npz", "--minutes", 5], "--minutes cannot be used with --predictions"),
        (["collect", "f", "--minutes", 5, "--until-width", 0.1], "--minutes and --until-width cannot be combined"),
        (["collect", "f", "--references", 5, "--seconds-per-model", 1], "only used with --minutes"),
    ],
)
def test_options_of_minutes_that_do_not_fit_together(wrong, message):
    result = guestlist(*wrong)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_no_raw_feature_is_in_the_folder_or_the_report(audited, blobs):
    """Ids, labels, groups and scores are kept; the features are not."""
    out, _ = audited
    pool = pd.read_parquet(out / "pool.parquet")
    assert set(pool.columns) == {"id", "label", "class", "group_sex", "row"}
    value = repr(float(blobs[0][0][0, 0]))[:12]
    assert all(value.encode() not in p.read_bytes() for p in out.rglob("*") if p.is_file())


def test_json_goes_to_stdout_and_nothing_else(files):
    result = guestlist("audit", "--predictions", files / "preds.npz", "--out", files / "p", "--json")
    assert json.loads(result.stdout)["headline"]["name"] == "loss"


@pytest.mark.slow
def test_collect_adds_references_from_the_recorded_inputs(audited, files, tmp_path):
    import shutil

    out, _ = audited
    shutil.copytree(out, files / "more")
    before = (out / "signals" / "model-0003.npz").read_bytes()
    result = guestlist("collect", files / "more", "--references", 11, "--jobs", 1, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["references"]["count"] == 11
    assert (files / "more" / "signals" / "model-0003.npz").read_bytes() == before
    grown = guestlist("collect", files / "more", "--until-width", 0.3, "--at-most", 20, "--jobs", 1, "--json")
    assert json.loads(grown.stdout)["references"]["count"] == 16


@pytest.mark.slow
def test_evidence_is_collected_on_request_and_attacks_without_it_explain_how(files):
    out = files / "evidence"
    audit = (
        "audit", "--model", files / "model.skops", "--members", files / "train.parquet", "--nonmembers",
        files / "holdout.csv", "--label", "income", "--out", out, "--references", 4, "--jobs", 1,
    )  # fmt: skip
    lacking = guestlist(*audit, "--attack", "distillation")
    assert lacking.exit_code == 2
    assert "guestlist collect FOLDER --evidence distilled" in lacking.stderr
    assert guestlist(*audit, "--attack", "loss", "--evidence", "perturbed:copies=2").exit_code == 0
    result = guestlist("collect", out, "--evidence", "distilled:models=5", "--jobs", 1, "--json")
    assert result.exit_code == 0, result.output
    # What was named before, and what the new evidence is for.
    assert [finding["name"] for finding in json.loads(result.stdout)["outcomes"]] == ["loss", "distillation"]
    other = guestlist("collect", out, "--attack", "union(loss,lira)", "--references", 5, "--jobs", 1, "--json")
    assert [finding["name"] for finding in json.loads(other.stdout)["outcomes"]] == ["union_loss_lira"]
    wrong = guestlist("collect", out, "--evidence", "distilled:copies=5")
    assert wrong.exit_code == 2
    assert "'copies'" in wrong.stderr
    nothing = guestlist("collect", out)
    assert nothing.exit_code == 2
    assert "--references" in nothing.stderr


@pytest.mark.slow
def test_collect_needs_to_know_where_the_inputs_are(files, snapshot):
    guestlist("audit", "--predictions", files / "preds.npz", "--out", files / "q")
    result = guestlist("collect", files / "q", "--references", 4)
    assert result.exit_code == 2
    snapshot(result.stderr)
    assert guestlist("collect", files / "q").exit_code == 2


@pytest.mark.slow
def test_report_writes_the_same_page_again(audited, tmp_path):
    out, _ = audited
    result = guestlist("report", out, "--out", tmp_path / "again.html")
    assert result.exit_code == 0
    assert (tmp_path / "again.html").read_bytes() == (out / "report.html").read_bytes()


@pytest.mark.slow
def test_report_shows_features_only_on_request(audited, tmp_path):
    out, _ = audited
    result = guestlist("report", out, "--features", "--out", tmp_path / "features.html")
    assert result.exit_code == 0, result.output
    columns = [f'<th scope="col"><bdi>{name}</bdi></th>' for name in "vwxyz"]
    text = (tmp_path / "features.html").read_text("utf-8")
    assert all(column in text for column in columns)
    withheld = (out / "report.html").read_text("utf-8")
    assert not any(column in withheld for column in columns)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_misspelt_column_is_reported_before_the_model_is_read(suffix, tmp_path):
    table, path = pd.DataFrame({"age": [1, 2], "income": [0, 1]}), tmp_path / f"people.{suffix}"
    table.to_csv(path, index=False) if suffix == "csv" else table.to_parquet(path)
    sides = ("--members", path, "--nonmembers", path)
    result = guestlist(
        "audit", "--model", tmp_path / "nowhere.skops", *sides, "--label", "incme", "--out", tmp_path / "a"
    )
    assert result.exit_code == 2
    assert all(fact in result.stderr for fact in ("members", "'incme'", "age", "income"))
    assert not (tmp_path / "a").exists()


def test_gate_exits_with_one_beyond_the_limit_and_zero_below(audited):
    out, _ = audited
    beyond = guestlist("gate", out, "--max-tpr", "0.05@0.05", "--max-auc", "0.6", "--show-ids")
    assert beyond.exit_code == 1
    assert beyond.stdout.count("FAIL") == 2
    assert "members:" in beyond.stdout  # the ids of those who push the metric up
    assert guestlist("gate", out, "--max-auc", "1").exit_code == 0
    assert json.loads(guestlist("gate", out, "--max-auc", "0.6", "--json").stdout)["passed"] is False
    files = ["--junit", out / "gate.xml", "--sarif", out / "gate.sarif"]
    for form in ([], ["--json"], files):  # what may be a log that others read
        assert "members:" not in guestlist("gate", out, "--max-auc", "0.6", *form).stdout
    assert "<failure" in (out / "gate.xml").read_text("utf-8")
    assert json.loads((out / "gate.sarif").read_text("utf-8"))["version"] == "2.1.0"


@pytest.mark.parametrize("name", ["attacks", "signals", "evidence", "findings", "datasets"])
def test_show_lists_the_tables(name):
    result = guestlist("show", name)
    assert result.exit_code == 0
    assert "attrgetter" not in result.stdout
    rows = json.loads(guestlist("show", name, "--json").stdout)
    assert all(next(iter(row.values())) in result.stdout for row in rows)
    if name == "attacks":
        assert [row["attack"] for row in rows] == list(ATTACKS)


@pytest.mark.parametrize(
    ("arguments", "fact"),
    [
        (["audit"], "--model"),
        (["audit", "--model", "m.skops"], "--nonmembers"),
        (["gate", "."], "--max-auc"),
        (["gate", ".", "--max-tpr", "5"], "TPR@FPR"),
        (["audit", "--model", "none.skops", "--members", "a.csv", "--nonmembers", "b.csv"], "none.skops"),
        (["audit", "--predictions", "none.npz"], "none.npz"),
        (["audit", "--predictions", "p.npz", "--shadow", "p.npz"], "another model"),
        (["audit", "--predictions", "p.npz", "--population", "a.csv"], "--population"),
        (["audit", "--model", "m.skops", "--members", "a", "--nonmembers", "b", "--shadow", "c"], "--shadow"),
        (["audit", "--predictions", "p.npz", "--members", "a.csv"], "--members"),
        (["audit", "--predictions", "p.npz", "--references", "-1"], "--references"),
        (["audit", "--predictions", "p.npz", "--references", "32"], "--shadow"),
        (["audit", "--predictions", "p.npz", "--prior", "2"], "--prior"),
        (["audit", "--predictions", "p.npz", "--seed", "-1"], "--seed"),
        (["audit", "--predictions", "p.npz", "--jobs", "0"], "--jobs"),
        (["audit", "--predictions", "p.npz", "--engine", "ray"], "--engine"),
        ([*MODEL, "--engine", "cloud"], "'local', 'here', 'ray'"),
        ([*MODEL, "--address", "auto"], "--engine ray"),
        ([*MODEL, "--engine", "local", "--address", "auto"], "--engine ray"),
        ([*MODEL, "--engine", "here", "--jobs", "2"], "--engine here"),
        ([*MODEL, "--engine", "ray", "--jobs", "2"], "--engine ray"),
        (["audit", "--predictions", "p.npz", "--group", "sex"], "group"),
        ([*MODEL, "--label", "y", "--id", "y"], "'y'"),
        (["report", "nowhere"], "no folder nowhere"),
        (["gate", "nowhere", "--max-auc", "0.6"], "no folder nowhere"),
        (["compare", "nowhere"], "another one"),
    ],
    ids=lambda part: part if isinstance(part, str) else " ".join(part),
)
def test_a_users_mistake_is_one_line_and_status_two(arguments, fact, snapshot):
    result = guestlist(*arguments)
    assert result.exit_code == 2
    snapshot(result.stderr, fact)
    assert "Traceback" not in result.output


@pytest.mark.slow
def test_an_ignored_check_is_recorded_and_remembered(files):
    out = files / "ignoring"
    guestlist(
        "audit", "--model", files / "model.skops", "--members", files / "train.parquet", "--nonmembers",
        files / "holdout.csv", "--label", "income", "--out", out, "--references", 1, "--jobs", 1, "--ignore", "GL104",
    )  # fmt: skip
    assert "GL104" in (out / "report.html").read_text("utf-8")
    result = guestlist("collect", out, "--references", 2, "--jobs", 1, "--json")
    states = {check["code"]: check["state"] for check in json.loads(result.stdout)["checks"]}
    assert states["GL104"] == "ignored"
    assert [code for code, state in states.items() if state == "ignored"] == ["GL104"]
    wrong = guestlist("audit", "--predictions", files / "preds.npz", "--ignore", "GL999")
    assert wrong.exit_code == 2
    assert "'GL999'" in wrong.stderr


def test_damaged_results_are_named(audited, tmp_path):
    for content in ("{", "{}", '{"format": 2}', '{"format": 3, "subject": {}}', "[1]"):
        (tmp_path / "results.json").write_text(content)
        result = guestlist("report", tmp_path)
        assert result.exit_code == 2, content
        assert "results.json" in result.stderr


@pytest.mark.slow
@pytest.mark.long  # test_packaging.py runs it from the wheel
def test_demo_runs_on_embedded_data(tmp_path):
    result = guestlist("demo", "--quick", "--out", tmp_path / "demo", "--jobs", 1, "--quiet")
    assert result.exit_code == 0
    assert (tmp_path / "demo" / "report.html").exists()
    assert result.stderr == ""
