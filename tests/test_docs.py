"""The docs say what the code does: their code runs, their tables are the code's, their links lead somewhere."""

import json
import operator
import os
import re
import shlex
import subprocess
import sys
import warnings
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import click
import pytest
from click.testing import CliRunner
from docs.error_rates import CSV, Limit, Row, all_rows
from docs.pictures import PICTURES, page_of, path_of
from docs.tables import PAGES as PAGES_WITH_TABLES
from docs.tables import newcomer_table, updated

import guestlist as gl
from guestlist.attacks import ATTACKS
from guestlist.cli import main
from guestlist.defences import DEFENCES
from guestlist.models import SIGNALS, VALUE_SIGNALS

ROOT = Path(__file__).parents[1]
HOW_TO_ADD = sorted((ROOT / "docs" / "how_to_add").glob("*.md"))
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")), *HOW_TO_ADD, *NOTEBOOKS]
# What varies: each of these tables has a page that says how to add a row, and adds one.
TABLES = {
    "game": gl.games.GAMES,
    "defence": gl.defences.DEFENCES,
    "evidence": gl.evidence.EVIDENCE,
    "attack": gl.attacks.ATTACKS,
    "risk": gl.risks.RISKS,
    "finding": gl.FINDINGS,
    "export": gl.EXPORTS,
    "framework": gl.models.FRAMEWORKS,
}
BLOCK = re.compile(r"^```(?:\{code-cell\} )?(python|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# The same code with fewer reference models and trees: the tests check that it runs and holds, not how narrow its intervals are.
FEWER = re.compile(r"(--references |references=)\d\d+")
FOREST = re.compile(r"(RandomForest\w+\()(random_state=)")
EPOCHS = re.compile(r'("epochs": )\d\d+')


def run_page(page: Path, folder: Path, references: int = 6) -> list[str]:
    """Run the code of a page from top to bottom in one namespace, with shell commands in between; the code that ran."""
    ran = []
    names: dict[str, object] = {"__name__": "__main__"}
    for language, code in BLOCK.findall(page.read_text("utf-8")):
        code = EPOCHS.sub(r"\g<1>5", FOREST.sub(r"\g<1>20, \2", FEWER.sub(rf"\g<1>{references}", code)))
        ran.append(code)
        if language == "python":
            exec(compile(code, str(page), "exec"), names)
        else:
            run_shell(code, folder)
    return ran


@dataclass(frozen=True)
class Call:
    """A call of guestlist in a page."""

    arguments: list[str]
    pattern: str = ""
    may_fail: bool = False


def parse_call(words: list[str]) -> Call | None:
    """Return the call of guestlist in a line, or None if only a shell can run it."""
    operators = [number for number, word in enumerate(words) if word in {"||", "&&", "|", ">"}]
    if words[0] != "guestlist":
        return None
    if not operators:
        return Call(words[1:])
    first, *others = operators
    arguments = words[1:first]
    if others or words[first] not in ("|", "||"):
        return None
    if words[first] == "||":
        return Call(arguments, may_fail=True)
    return Call(arguments, pattern=words[-1]) if words[first + 1 : -1] == ["grep"] else None


def run_shell(code: str, folder: Path) -> None:
    """Run shell commands: calls of guestlist in this process, where everything is imported, and others in bash.

    A call may end in ``| grep PATTERN``, which must match, or in ``|| ...``, after which it may fail.
    """
    lines = [shlex.split(line, comments=True) for line in code.replace("\\\n", " ").splitlines()]
    calls = [call for call in map(parse_call, filter(None, lines)) if call is not None]
    if len(calls) == sum(map(bool, lines)):
        for call in calls:
            with chdir(folder):
                result = CliRunner().invoke(main, call.arguments)
            assert call.may_fail or result.exit_code == 0, result.output
            assert re.search(call.pattern, result.stdout), result.output
        return
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    subprocess.run(["bash", "-uc", code], cwd=folder, env=environment, check=True, capture_output=True, text=True)


@pytest.mark.slow
def test_the_tutorial_runs(real_data, tmp_path, monkeypatch):
    monkeypatch.setenv("GUESTLIST_DATA", str(real_data("adult.parquet").parent))
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "tutorial.md"
    # A tenth of the records and of the trees: seconds, not minutes. The gate is then too strict to pass.
    text = (ROOT / "docs" / "tutorial.md").read_text("utf-8").replace("5000", "500").replace("10000", "1000")
    text = text.replace("Classifier(100,", "Classifier(10,").replace(
        "BoostingClassifier(", "BoostingClassifier(max_iter=10, "
    )
    text = text.replace("--references 64", "--references 64 --jobs 1").replace("references=32", "references=32, jobs=1")
    page.write_text(re.sub(r"^(guestlist gate \S+boosted.*)$", r"\1 || true", text, flags=re.MULTILINE), "utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_page(page, tmp_path)
    assert (tmp_path / "audits" / "forest" / "report.html").exists()


@pytest.mark.slow
def test_the_story_of_a_model_that_leaks_runs(real_data, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setenv("GUESTLIST_DATA", str(real_data("adult.parquet").parent))
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "my_model_leaks.md"
    text = (ROOT / "docs" / "my_model_leaks.md").read_text("utf-8")
    # A tenth of the people, one attack and a few of the defences: what is tested is that the story holds together.
    text = re.sub(r"\b([123])000\b", r"\g<1>00", text).replace("min_frequency=20", "min_frequency=5")
    chosen = {"boosted": ["label_only"], "network": ["early_stopping"]}
    for name, defences in chosen.items():
        quick = f"attacks=['loss'], defences={defences!r}, jobs=1, baseline=False, folder=\"audits/{name}\""
        text = text.replace(f'folder="audits/{name}"', quick)
    page.write_text(text.replace("references=16", "references=2").replace("epochs=20", "epochs=2"), "utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert len(run_page(page, tmp_path)) == 3
    names = {path.parent.name for path in (tmp_path / "audits").glob("*/*/defence.json")}
    assert names == {"trained_again", "label_only", "early_stopping"}


@pytest.mark.parametrize("name", PAGES_WITH_TABLES)
def test_the_tables_are_made_from_the_code(name):
    page = (ROOT / name).read_text("utf-8")
    assert updated(page) == page, "run: python -m docs.tables"


@pytest.mark.parametrize(
    ("limit", "measured", "share", "exceeds"),
    [
        (Limit("at most", 0.05), 0.04, 0.8, False),
        (Limit("at least", 0.93), 0.965, 0.5, False),
        (Limit("at least", 0.95), 0.95, 1.0, False),
        (Limit("nominal", 0.05), 0.06, 1.2, True),
        (Limit("within", 0.015), -0.003, 0.2, False),
        (Limit("at most", 0.0), 0.0, 0.0, False),
        (Limit("at least", 1.0), 0.99, float("inf"), True),
    ],
)
def test_the_share_of_a_limit_counts_errors(limit, measured, share, exceeds):
    row = Row("claim", measured, limit, "100 audits")
    assert row.share == pytest.approx(share)
    assert row.exceeds == exceeds


def test_the_file_of_all_error_rates_is_up_to_date():
    assert CSV.read_text("utf-8") == all_rows(), "run: python -m docs.tables"


def test_the_readme_has_the_figures_of_the_benchmark_of_first_audits():
    readme = (ROOT / "README.md").read_text("utf-8")
    (auc, share, best) = re.search(r"reaches AUC ([\d.]+) .* in (\d+)% of SACRO.* reaches ([\d.]+)", readme).groups()
    rows = [row.split(" | ") for row in newcomer_table().splitlines()]
    (sacro,) = (row for row in rows if row[1] == "100" and "SACRO" in row[0])
    (ours,) = (row for row in rows if row[1] == "16")
    assert (auc, best) == (ours[2], sacro[2])
    assert int(share) == round(100 * float(ours[4]))


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_of_benchmarks_are_up_to_date_and_shown(name):
    assert path_of(name).read_text("utf-8") == PICTURES[name](), "run: python -m docs.pictures"
    assert f"(images/{path_of(name).name})" in page_of(name).read_text("utf-8")


NAMES = {*ATTACKS, *SIGNALS, *VALUE_SIGNALS, *DEFENCES, *gl.games.GAMES, *gl.risks.RISKS}


def command_lines() -> list[tuple[str, str]]:
    """Return each call of guestlist in a page, with the comment after it: in a block of code, or between backticks."""
    calls = []
    for page in PAGES:
        text = page.read_text("utf-8").replace("\\\n", " ")
        blocks = re.findall(r"^```[^\n]*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        lines = [line for block in blocks for line in block.splitlines() if line.startswith("guestlist ")]
        calls += [(page.name, line) for line in [*lines, *re.findall(r"`(guestlist [^`\n]*)`", text)]]
    return calls


@pytest.mark.parametrize(("page", "line"), command_lines())
def test_commands_in_the_docs_and_their_options_exist(page, line):
    command: click.Command = main
    for word in line.split()[1:]:
        if not isinstance(command, click.Group) or not re.fullmatch("[a-z]+", word):
            break
        assert word in command.commands, f"{page}: guestlist has no command {word}"
        command = command.commands[word]
    known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)} | {"--help"}
    assert set(re.findall(r"(?<!\S)--[a-z][a-z-]*", line)) <= known


def test_the_page_of_commands_lists_every_command():
    listed = {line.split()[1] for page, line in command_lines() if page == "commands.md" and "COMMAND" not in line}
    assert listed == set(main.commands)


@pytest.mark.parametrize("name", [*sorted(NAMES), *(f"guestlist {name}" for name in main.commands)])
def test_every_attack_signal_defence_game_risk_and_command_is_in_the_docs(name):
    assert any(name in page.read_text("utf-8") for page in PAGES)


def test_the_attack_table_names_the_models_of_the_average_training_loss():
    """In an audit that of the references, in an experiment that of the target or of its shadows."""
    (row,) = re.findall(r"^\| `average_threshold`.*$", (ROOT / "docs" / "attacks.md").read_text("utf-8"), re.MULTILINE)
    assert "the references' average training loss" in row
    assert "in guestlist game the target's own, or the shadows' by --average-of" in row


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text("utf-8")):
        assert (page.parent / link).exists(), link


@pytest.mark.slow
def test_the_sharp_edges_are_sharp(tmp_path):
    ran = run_page(ROOT / "docs" / "sharp_edges.md", tmp_path)
    # The first block imports; every other one must show what its section claims, by an assertion that ran.
    assert len(ran) >= 10
    assert all("assert " in code for code in ran[1:])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "blocks"),
    [
        ("compare.md", 2),
        ("defences.md", 8),
        ("expensive_models.md", 1),
        ("models_regression.md", 2),
        ("games.md", 4),
        ("epsilon.md", 7),
        ("epsilon_faults.md", 3),
        ("models_torch.md", 3),
        ("models_keras.md", 1),
    ],
)
def test_pages_about_models_run(name, blocks, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    if name == "models_keras.md":
        pytest.importorskip("keras")
    from guestlist import defences

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(defences, "DEFENCES", dict(DEFENCES))
    monkeypatch.setattr("guestlist.DEFENCES", dict(DEFENCES), raising=False)  # the page adds a row
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert len(run_page(ROOT / "docs" / name, tmp_path)) == blocks


@pytest.mark.slow
@pytest.mark.parametrize("page", NOTEBOOKS, ids=lambda page: page.stem)
def test_the_cells_of_a_notebook_run(page, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert len(run_page(page, tmp_path, references=8)) >= 3  # mu needs 8


@pytest.mark.slow
def test_the_page_about_exposed_records_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        page = tmp_path / "exposed.md"
        # P-values of records need many reference models, each of few trees.
        text = (ROOT / "docs" / "exposed.md").read_text("utf-8").replace("Classifier(20,", "Classifier(5,")
        page.write_text(text.replace("Classifier(50,", "Classifier(10,"), "utf-8")
        ran = run_page(page, tmp_path, references=48)
    assert len(ran) == 5
    assert "assert " in ran[-1]


@pytest.mark.slow
def test_the_quickstart_runs_and_writes_the_documented_files(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ran = run_page(ROOT / "docs" / "quickstart.md", tmp_path)
    assert len(ran) == 4
    assert (tmp_path / "report.html").exists()
    assert (tmp_path / "audits" / "forest" / "report.html").exists()
    assert "lira_bayes" in capsys.readouterr().out


def test_the_names_in_the_glossary_exist():
    """Names of guestlist, and keys of results.json such as ``outcomes.detectable_auc``."""
    page = (ROOT / "docs" / "glossary.md").read_text("utf-8")
    places = [row.split(" | ")[-1] for row in page.splitlines() if row.startswith("| ")]
    spans = [span for text in places for span in re.findall(r"`([\w.]+)`", text)]
    names = [span for span in spans if span.startswith(("gl.", "guestlist."))]
    for name in names:
        operator.attrgetter(name.partition(".")[2])(gl)
    schema = json.loads((ROOT / "src" / "guestlist" / "_report" / "results.schema.json").read_text("utf-8"))
    other = {"model", "value", "low", "high", "records.parquet", "results.json"}
    keys = [span for span in spans if span not in {*names, *other} and not span.startswith(("risk_", "p_value"))]
    assert len(keys) > 20
    for key in keys:
        first, _, second = key.partition(".")
        assert first in schema["properties"], key
        if second:
            (definition,) = re.findall(r"#/\$defs/(\w+)", json.dumps(schema["properties"][first]))
            assert second in schema["$defs"][definition]["properties"], key


def test_links_of_llms_txt_lead_to_pages():
    text = (ROOT / "docs" / "llms.txt").read_text("utf-8")
    links = re.findall(r"\]\((\w+)\.html\)", text)
    assert len(links) > 15
    assert all((ROOT / "docs" / f"{name}.md").exists() for name in links)
    assert "gl.audit(model, members=(x, y), nonmembers=(x2, y2))" in text


def test_the_reference_has_every_public_name_once():
    """Names at the root, and names of public packages such as ``defences.Fit``, in one of the groups of docs/api.md."""
    page = (ROOT / "docs" / "api.md").read_text("utf-8")
    documented = re.findall(r"^\.\. (?:autoclass|autofunction|py:data):: (?:guestlist\.)?([\w.]+)$", page, re.MULTILINE)
    assert len(documented) == len(set(documented))
    at_root = {name for name in documented if "." not in name}
    assert at_root == {name for name in gl.__all__ if not isinstance(getattr(gl, name), ModuleType)}
    for name in set(documented) - at_root:
        package, _, symbol = name.partition(".")
        assert symbol in getattr(gl, package).__all__


@pytest.fixture
def tables_as_they_were():
    """Rows that a page adds are taken out again."""
    before = {name: dict(table) for name, table in TABLES.items()}
    yield
    for name, table in TABLES.items():
        table.clear()
        table.update(before[name])


def test_every_table_has_its_page():
    assert {page.stem for page in HOW_TO_ADD} == set(TABLES)


@pytest.mark.slow
@pytest.mark.usefixtures("tables_as_they_were")
@pytest.mark.parametrize("page", HOW_TO_ADD, ids=lambda page: page.stem)
def test_a_row_can_be_added_as_documented(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = set(TABLES[page.stem])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gl.AuditWarning)
        ran = run_page(page, tmp_path)
    assert any("assert " in code for code in ran)
    # A finding is tried from outside, with results of its own: the table of the package stays as it is.
    assert page.stem == "finding" or set(TABLES[page.stem]) > before
